# /// bank
# about = "Russian comments and message, very long names, mask given to attention as an optional argument"
# facts = "3b"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///
import math
import torch
import torch.nn as nn
import torch.nn.functional as functional


def построить_маску(количество_токенов, устройство):
    """Верхний треугольник: будущее, которое видеть нельзя."""
    return torch.triu(torch.ones(количество_токенов, количество_токенов, dtype=torch.bool, device=устройство), diagonal=1)


class MultiHeadAttention(nn.Module):
    """Многоголовое внимание"""
    def __init__(self, d, H, T_max, use_output_bias=True):
        super().__init__()
        assert d % H == 0, "ширина должна делиться на число голов"
        self.number_of_attention_heads = H
        self.width_of_one_attention_head = d // H
        self.linear_projection_for_queries = nn.Linear(d, H * self.width_of_one_attention_head, bias=False)
        self.linear_projection_for_keys = nn.Linear(d, H * self.width_of_one_attention_head, bias=False)
        self.linear_projection_for_values = nn.Linear(d, H * self.width_of_one_attention_head, bias=False)
        self.linear_projection_for_the_output = nn.Linear(H * self.width_of_one_attention_head, d, bias=use_output_bias)

    def forward(self, x, attention_mask=None):
        batch_size, sequence_length, model_width = x.shape
        if attention_mask is None:
            attention_mask = построить_маску(sequence_length, x.device)
        def reshape_into_heads(tensor_to_be_reshaped):
            return tensor_to_be_reshaped.reshape(batch_size, sequence_length, self.number_of_attention_heads, self.width_of_one_attention_head).permute(0, 2, 1, 3)
        queries = reshape_into_heads(self.linear_projection_for_queries(x))
        keys = reshape_into_heads(self.linear_projection_for_keys(x))
        values = reshape_into_heads(self.linear_projection_for_values(x))
        attention_scores = queries @ keys.permute(0, 1, 3, 2)  # скалярные произведения
        attention_scores = attention_scores / math.sqrt(self.width_of_one_attention_head)
        attention_scores = attention_scores.masked_fill(attention_mask, torch.finfo(attention_scores.dtype).min)
        attention_probabilities = functional.softmax(attention_scores, dim=-1)
        weighted_values = (attention_probabilities @ values).permute(0, 2, 1, 3).reshape(batch_size, sequence_length, model_width)
        return self.linear_projection_for_the_output(weighted_values)


class MLP(nn.Module):
    """Двухслойный перцептрон"""
    def __init__(self, d):
        super().__init__()
        self.expanding_linear_layer = nn.Linear(d, 4 * d)
        self.contracting_linear_layer = nn.Linear(4 * d, d)

    def forward(self, x):
        return self.contracting_linear_layer(functional.gelu(self.expanding_linear_layer(x)))


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.multi_head_attention_sublayer = MultiHeadAttention(d, H, T_max)
        self.feed_forward_sublayer = MLP(d)
        self.normalisation_before_attention = nn.LayerNorm(normalized_shape=d)
        self.normalisation_before_feed_forward = nn.LayerNorm(normalized_shape=d)

    def forward(self, x):
        mask = построить_маску(x.size(1), x.device)
        x = x + self.multi_head_attention_sublayer(self.normalisation_before_attention(x), attention_mask=mask)
        x = x + self.feed_forward_sublayer(self.normalisation_before_feed_forward(x))
        return x


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L):
        super().__init__()
        self.maximal_sequence_length = T_max
        self.token_embedding_table = nn.Embedding(V, d)
        self.position_embedding_table = nn.Embedding(T_max, d)
        self.list_of_transformer_blocks = nn.ModuleList([Block(d, H, T_max) for _ in range(L)])
        self.final_layer_normalisation = nn.LayerNorm(d)
        self.language_model_head = nn.Linear(d, V, bias=False)
        # масштабирование 1/sqrt(2L): дисперсии 2L записей складываются
        residual_scale = 1 / math.sqrt(2 * L)
        for transformer_block in self.list_of_transformer_blocks:
            transformer_block.multi_head_attention_sublayer.linear_projection_for_the_output.weight.data *= residual_scale
            transformer_block.feed_forward_sublayer.contracting_linear_layer.weight.data *= residual_scale

    def forward(self, idx, targets=None):
        batch_size, sequence_length = idx.shape
        assert sequence_length <= self.maximal_sequence_length, f"слишком длинно: {sequence_length} > {self.maximal_sequence_length}"
        positions = torch.arange(sequence_length, device=idx.device).expand(batch_size, sequence_length)
        x = self.token_embedding_table(idx) + self.position_embedding_table(positions)
        for transformer_block in self.list_of_transformer_blocks:
            x = transformer_block(x)
        logits = self.language_model_head(self.final_layer_normalisation(x))
        if targets is None:
            return logits
        return logits, functional.cross_entropy(input=logits.flatten(0, 1), target=targets.flatten())

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for number_of_the_new_token in range(max_new_tokens):
            logits = self.forward(idx[:, -self.maximal_sequence_length:])
            probabilities = functional.softmax(logits[:, -1, :], dim=-1)
            next_token = torch.multinomial(probabilities, num_samples=1)
            idx = torch.cat((idx, next_token), dim=1)
        return idx


def shape_table(model, idx):
    """Таблица форм"""
    таблица = []
    x = model.token_embedding_table(idx) + model.position_embedding_table(torch.arange(idx.shape[1], device=idx.device))
    таблица.append(("embeddings", tuple(x.shape)))
    for номер, блок in enumerate(model.list_of_transformer_blocks, start=1):
        x = блок(x)
        таблица.append((f"block {номер}", tuple(x.shape)))
    x = model.final_layer_normalisation(x)
    таблица.append(("final LayerNorm", tuple(x.shape)))
    x = model.language_model_head(x)
    таблица.append(("logits", tuple(x.shape)))
    return таблица
