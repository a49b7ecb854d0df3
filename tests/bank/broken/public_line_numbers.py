# /// bank
# about = "line numbers before each line"
# [loses]
# "attention.shape" = "failed"
# "attention.formula" = "failed"
# "attention.heads" = "failed"
# "attention.rows_sum_to_one" = "failed"
# "attention.causal" = "failed"
# "mlp.formula" = "failed"
# "mlp.width" = "failed"
# "mlp.position_wise" = "failed"
# "block.composition" = "failed"
# "block.residual_path" = "failed"
# "model.composition" = "failed"
# "model.gradients" = "failed"
# "model.loss" = "failed"
# "model.training" = "failed"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "failed"
# "causality.full_model" = "failed"
# "causality.full_context" = "failed"
# "causality.batch_independence" = "failed"
# "causality.rows_sum_to_one" = "failed"
# "initial_loss.window" = "failed"
# "initial_loss.residual_scaling" = "failed"
# "shapes.course" = "failed"
# "shapes.other_sizes" = "failed"
# "generation.output_shape" = "failed"
# "generation.crop" = "failed"
# "generation.long_prompt" = "failed"
# "generation.sampling" = "failed"
# [bonus]
# "bonus.weight_tying" = "failed"
# ///

  1  import math
  2  
  3  import torch
  4  import torch.nn as nn
  5  import torch.nn.functional as F
  6  
  7  
  8  class MultiHeadAttention(nn.Module):
  9      def __init__(self, d, H, T_max):
 10          super().__init__()
 11          assert d % H == 0, f"d={d} is no multiple of H={H}"
 12          self.H = H
 13          self.dh = d // H
 14          self.wq = nn.Linear(d, d, bias=False)
 15          self.wk = nn.Linear(d, d, bias=False)
 16          self.wv = nn.Linear(d, d, bias=False)
 17          self.proj = nn.Linear(d, d)
 18          self.register_buffer("tril", torch.tril(torch.ones(T_max, T_max)))
 19  
 20      def forward(self, x):
 21          B, T, d = x.shape
 22          q = self.wq(x).view(B, T, self.H, self.dh).transpose(1, 2)
 23          k = self.wk(x).view(B, T, self.H, self.dh).transpose(1, 2)
 24          v = self.wv(x).view(B, T, self.H, self.dh).transpose(1, 2)
 25          att = q @ k.transpose(-2, -1) / math.sqrt(self.dh)
 26          att = att.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
 27          att = F.softmax(att, dim=-1)
 28          y = (att @ v).transpose(1, 2).contiguous().view(B, T, d)
 29          return self.proj(y)
 30  
 31  
 32  class MLP(nn.Module):
 33      def __init__(self, d):
 34          super().__init__()
 35          self.up = nn.Linear(d, 4 * d)
 36          self.down = nn.Linear(4 * d, d)
 37  
 38      def forward(self, x):
 39          return self.down(F.gelu(self.up(x)))
 40  
 41  
 42  class Block(nn.Module):
 43      def __init__(self, d, H, T_max):
 44          super().__init__()
 45          self.ln1 = nn.LayerNorm(d)
 46          self.attn = MultiHeadAttention(d, H, T_max)
 47          self.ln2 = nn.LayerNorm(d)
 48          self.mlp = MLP(d)
 49  
 50      def forward(self, x):
 51          x = x + self.attn(self.ln1(x))
 52          x = x + self.mlp(self.ln2(x))
 53          return x
 54  
 55  
 56  class GPT(nn.Module):
 57      def __init__(self, V, T_max, d, H, L):
 58          super().__init__()
 59          self.T_max = T_max
 60          self.tok_emb = nn.Embedding(V, d)
 61          self.pos_emb = nn.Embedding(T_max, d)
 62          self.blocks = nn.ModuleList([Block(d, H, T_max) for _ in range(L)])
 63          self.ln_f = nn.LayerNorm(d)
 64          self.lm_head = nn.Linear(d, V, bias=False)
 65          with torch.no_grad():
 66              for block in self.blocks:
 67                  block.attn.proj.weight.mul_((2 * L) ** -0.5)
 68                  block.mlp.down.weight.mul_((2 * L) ** -0.5)
 69  
 70      def forward(self, idx, targets=None):
 71          B, T = idx.shape
 72          assert T <= self.T_max, f"got T={T}, but T_max={self.T_max}"
 73          x = self.tok_emb(idx) + self.pos_emb(torch.arange(T, device=idx.device))
 74          for block in self.blocks:
 75              x = block(x)
 76          logits = self.lm_head(self.ln_f(x))
 77          if targets is None:
 78              return logits
 79          loss = F.cross_entropy(logits.view(B * T, -1), targets.reshape(B * T))
 80          return logits, loss
 81  
 82      @torch.no_grad()
 83      def generate(self, idx, max_new_tokens):
 84          for _ in range(max_new_tokens):
 85              logits = self(idx[:, -self.T_max:])
 86              probs = F.softmax(logits[:, -1, :], dim=-1)
 87              nxt = torch.multinomial(probs, 1)
 88              idx = torch.cat((idx, nxt), dim=1)
 89          return idx
 90  
 91  
 92  @torch.no_grad()
 93  def shape_table(model, idx):
 94      rows = []
 95      x = model.tok_emb(idx) + model.pos_emb(torch.arange(idx.shape[1]))
 96      rows.append(("embeddings", tuple(x.shape)))
 97      for i, block in enumerate(model.blocks):
 98          x = block(x)
 99          rows.append((f"block {i + 1}", tuple(x.shape)))
100      x = model.ln_f(x)
101      rows.append(("final LayerNorm", tuple(x.shape)))
102      rows.append(("logits", tuple(model.lm_head(x).shape)))
103      return rows
104  