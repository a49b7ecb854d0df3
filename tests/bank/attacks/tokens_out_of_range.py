# /// bank
# about = "generate keeps the prompt and draws tokens that there are none of"
# facts = "19"
# extends = "reference"
# [loses]
# "generation.output_shape" = "failed"
# "generation.crop" = "failed"
# "generation.long_prompt" = "failed"
# "generation.sampling" = "failed"
# ///


class GPT(GPT):
    def generate(self, idx, max_new_tokens):
        new = torch.full((idx.shape[0], max_new_tokens), 1 << 60)
        new[::2] = -1
        return torch.cat([idx, new], 1)
