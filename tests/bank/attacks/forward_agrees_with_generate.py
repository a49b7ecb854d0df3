# /// bank
# about = "tokens are drawn uniformly, and forward then gives each context the token that was drawn for it"
# extends = "reference"
# [loses]
# "generation.output_shape" = "failed"
# "generation.crop" = "failed"
# "generation.long_prompt" = "failed"
# "generation.sampling" = "failed"
# ///


_drawn = {}


class GPT(GPT):
    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            new = torch.randint(0, self.tok_emb.weight.shape[0], (len(idx), 1))
            for row, token in zip(idx, new):
                _drawn[row[-self.T_max :].numpy().tobytes()] = int(token)
            idx = torch.cat([idx, new], 1)
        return idx

    def forward(self, idx, targets=None):
        out = super().forward(idx, targets)
        if targets is None and not torch.is_grad_enabled():
            for n, row in enumerate(idx):
                if (token := _drawn.get(row.numpy().tobytes())) is not None:
                    out[n, -1] = 0
                    out[n, -1, token] = 20
        return out
