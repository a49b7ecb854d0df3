# /// bank
# about = "the softmax is written with exp and sum, which overflows for inputs eight times as large"
# extends = "reference"
# ///


class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x):
        T, outputs = x.shape[1], []
        for head in self.heads:
            q, k, v = head.query(x), head.key(x), head.value(x)
            scores = q @ k.mT / math.sqrt(q.shape[-1])
            rows = torch.exp(scores) * torch.tril(torch.ones(T, T))
            outputs.append(rows / rows.sum(-1, keepdim=True) @ v)
        return self.proj(torch.cat(outputs, dim=-1))
