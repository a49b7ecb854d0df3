# /// bank
# about = "float64 is the default dtype"
# facts = "own"
# extends = "reference"
# ///


torch.set_default_dtype(torch.float64)
