# /// bank
# about = "GPT has five thousand more parameters than can be named in one message"
# facts = "19"
# extends = "reference"
# ///


class GPT(GPT):
    def __init__(self, *sizes, **named):
        super().__init__(*sizes, **named)
        self.more = nn.ParameterList(nn.Parameter(torch.zeros(1)) for _ in range(5000))
