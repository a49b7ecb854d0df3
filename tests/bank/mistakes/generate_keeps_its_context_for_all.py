# /// bank
# about = "generate keeps its context in a global list: even another model goes on from it"
# extends = "reference"
# also = ["generate_keeps_state"]
# [loses]
# "generation.output_shape" = "failed"
# ///

PAST = []


class GPT(GPT):
    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        context = torch.cat([*PAST[-1:], idx], dim=1)
        for _ in range(max_new_tokens):
            logits = self(context[:, -self.T_max :])[:, -1]
            token = torch.multinomial(F.softmax(logits, dim=-1), 1)
            context, idx = torch.cat([context, token], dim=1), torch.cat([idx, token], dim=1)
        PAST.append(context)
        return idx
