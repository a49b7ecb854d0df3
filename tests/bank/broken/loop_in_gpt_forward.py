# /// bank
# about = "GPT.forward never ends"
# extends = "reference"
# [loses]
# "model.composition" = "timeout"
# "model.gradients" = "timeout"
# "model.loss" = "timeout"
# "model.training" = "timeout"
# "causality.full_model" = "timeout"
# "causality.full_context" = "timeout"
# "causality.batch_independence" = "timeout"
# "causality.rows_sum_to_one" = "timeout"
# "initial_loss.window" = "timeout"
# "shapes.course" = "timeout"
# "shapes.other_sizes" = "timeout"
# [bonus]
# "bonus.weight_tying" = "timeout"
# ///


class GPT(GPT):
    def forward(self, idx, targets=None):
        B, T = idx.shape
        t = 0
        x = torch.zeros(B, T, self.tok_emb.weight.shape[1])
        while t < T:
            x[:, t] = self.tok_emb(idx[:, t]) + self.pos_emb.weight[t]
        for block in self.blocks:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def shape_table(model, idx):
    table = []
    layers = {"embeddings": model.tok_emb}
    layers.update({f"block {n}": block for n, block in enumerate(model.blocks, 1)})
    layers.update({"final LayerNorm": model.ln_f, "logits": model.lm_head})
    hooks = [
        layer.register_forward_hook(lambda module, args, out, name=name: table.append((name, tuple(out.shape))))
        for name, layer in layers.items()
    ]
    model(idx)
    for hook in hooks:
        hook.remove()
    return table
