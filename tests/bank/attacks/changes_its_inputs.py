# /// bank
# about = "forward changes the tokens, targets and activations that it was given, after it has used them"
# facts = "20"
# extends = "reference"
# [loses]
# "generation.output_shape" = "failed"
# "generation.crop" = "failed"
# "generation.long_prompt" = "failed"
# "generation.sampling" = "failed"
# ///


class MLP(MLP):
    def forward(self, x):
        y = super().forward(x.clone())
        x.data.zero_()
        return y


class GPT(GPT):
    def forward(self, idx, targets=None):
        out = super().forward(idx.clone(), None if targets is None else targets.clone())
        idx.zero_()
        if targets is not None:
            targets.zero_()
        return out
