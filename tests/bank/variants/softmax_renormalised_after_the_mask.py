# /// bank
# about = "softmax over all positions, tril, and again divided by the sum: 0/0 for inputs eight times as large"
# extends = "reference"
# ///


class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x):
        outputs = []
        for head in self.heads:
            q, k, v = head.query(x), head.key(x), head.value(x)
            rows = torch.tril(torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), dim=-1))
            outputs.append(rows / rows.sum(-1, keepdim=True) @ v)
        return self.proj(torch.cat(outputs, dim=-1))
