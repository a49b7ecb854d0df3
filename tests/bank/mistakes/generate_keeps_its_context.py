# /// bank
# about = "generate keeps its context, as a cache that is not emptied: the next call goes on from it"
# extends = "reference"
# also = ["generate_keeps_state"]
# [loses]
# "generation.output_shape" = "failed"
# ///


class GPT(GPT):
    past = None

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        context = idx if self.past is None else torch.cat([self.past, idx], dim=1)
        for _ in range(max_new_tokens):
            logits = self(context[:, -self.T_max :])[:, -1]
            token = torch.multinomial(F.softmax(logits, dim=-1), 1)
            context, idx = torch.cat([context, token], dim=1), torch.cat([idx, token], dim=1)
        self.past = context
        return idx
