"""The effects that mistakes of a class have on the full model: a check explains them and deducts nothing again."""

from __future__ import annotations

from collections.abc import Collection

from autograder.assignment import mistakes

LEAKS_FUTURE = {
    *("mask_missing", "mask_after_softmax", "mask_zero", "mask_weak", "mask_positive", "mask_anti_causal"),
    *("mask_inverted", "mask_off_by_one", "softmax_over_queries", "softmax_over_heads", "softmax_over_batch"),
    *(
        "softmax_twice",
        "weights_transposed",
        "merge_without_transpose",
        "split_without_transpose",
        "attention_over_batch",
    ),
    *("norm_over_time", "norm_over_both"),
}
ROWS_MIX = {"softmax_over_batch", "attention_over_batch", "norm_over_batch"}
ROWS_DO_NOT_SUM_TO_ONE = {
    *("mask_after_softmax", "softmax_over_queries", "softmax_over_heads", "softmax_over_batch", "softmax_missing"),
    *("scale_after_softmax", "weights_transposed", "dropout_in_eval"),
    *(
        "merge_without_transpose",
        "split_without_transpose",
        "attention_over_batch",
        "norm_over_time",
        "norm_over_batch",
    ),
}
LOSES_PAST = {
    *("mask_anti_causal", "mask_inverted", "mask_excludes_self", "mask_diagonal_only", "attention_over_batch"),
    *("merge_without_transpose", "split_without_transpose"),
    *("block_no_attention", "block_mlp_twice", "blocks_unused", "tokens_unused", "blocks_all_get_embeddings"),
}
LEAVES_PARAMETERS_UNUSED = {"block_no_attention", "block_no_mlp", "block_attention_twice", "block_mlp_twice"}
CHANGES_RESIDUAL = {
    *("block_post_norm", "block_residual_from_norm", "block_first_residual_from_norm"),
    *("block_second_residual_from_norm", "block_no_residual", "block_no_first_residual", "block_no_second_residual"),
    *("block_residual_doubled", "block_mlp_added_to_input", "block_norm_after_sublayer"),
}
CHANGES_INITIAL_LOSS = {
    *("final_norm_missing", "final_norm_unused", "final_norm_first", "head_is_embedding", "norm_not_scaled"),
}


def already_deducted(deducted: Collection[str], effect: Collection[str]) -> list[mistakes.Mistake]:
    """Return the already deducted mistakes that have this effect."""
    return [mistakes.named(name) for name in sorted(set(deducted) & set(effect))]
