# /// bank
# about = "sinusoidal buffer for the position table"
# extends = "variants/public_base"
# names = ["positions_sinusoidal"]
# [loses]
# "model.composition" = "partial"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "partial"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///

class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L):
        super().__init__()
        self.T_max = T_max
        self.tok_emb = nn.Embedding(V, d)
        place = torch.arange(T_max).unsqueeze(1)
        rate = torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
        pe = torch.zeros(T_max, d)
        pe[:, 0::2] = torch.sin(place * rate)
        pe[:, 1::2] = torch.cos(place * rate)
        self.register_buffer("pe", pe)
        self.blocks = nn.ModuleList([Block(d, H, T_max) for _ in range(L)])
        self.ln_f = nn.LayerNorm(d)
        self.lm_head = nn.Linear(d, V, bias=False)
        with torch.no_grad():
            for block in self.blocks:
                block.attn.proj.weight.mul_((2 * L) ** -0.5)
                block.mlp.down.weight.mul_((2 * L) ** -0.5)

    def forward(self, idx, targets=None):
        B, T = idx.shape
        assert T <= self.T_max, f"got T={T}, but T_max={self.T_max}"
        x = self.tok_emb(idx) + self.pe[:T]
        for block in self.blocks:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        if targets is None:
            return logits
        loss = F.cross_entropy(logits.view(B * T, -1), targets.reshape(B * T))
        return logits, loss

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            logits = self(idx[:, -self.T_max:])
            probs = F.softmax(logits[:, -1, :], dim=-1)
            nxt = torch.multinomial(probs, 1)
            idx = torch.cat((idx, nxt), dim=1)
        return idx


@torch.no_grad()
def shape_table(model, idx):
    rows = []
    x = model.tok_emb(idx) + model.pe[:idx.shape[1]]
    rows.append(("embeddings", tuple(x.shape)))
    for i, block in enumerate(model.blocks):
        x = block(x)
        rows.append((f"block {i + 1}", tuple(x.shape)))
    x = model.ln_f(x)
    rows.append(("final LayerNorm", tuple(x.shape)))
    rows.append(("logits", tuple(model.lm_head(x).shape)))
    return rows
