# /// bank
# about = "generate draws every token with the same probability, whatever the model says"
# extends = "reference"
# also = ["generate_uniform"]
# [loses]
# "generation.output_shape" = "failed"
# "generation.crop" = "failed"
# "generation.long_prompt" = "failed"
# "generation.sampling" = "failed"
# ///


class GPT(GPT):
    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        V = self.tok_emb.weight.shape[0]
        return torch.cat([idx, torch.randint(0, V, (len(idx), max_new_tokens))], 1)
