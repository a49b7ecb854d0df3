# /// bank
# about = "the shape table has stages that are tensors, and sizes beyond every integer type"
# facts = "19"
# extends = "reference"
# [loses]
# "shapes.course" = "failed"
# "shapes.other_sizes" = "failed"
# ///


def shape_table(model, idx):
    rows = [(torch.zeros(3), torch.tensor([2**62] * 3)), ({}, [10**30]), (None, [True, 1.5]), ([], torch.zeros(0))]
    return rows * 20
