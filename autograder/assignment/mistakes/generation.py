"""List mistakes in generation."""

from __future__ import annotations

from functools import partial

from autograder.assignment.mistakes.row import Mistake

_generate = partial(Mistake, "generation", "task 5.3")

GENERATE_ARGMAX = _generate(
    "generate_argmax",
    "generate always takes the most likely token; it should sample from the distribution.",
    "the line that picks the token",
    code=r"argmax|topk|\.max\(",
)
GENERATE_KEEPS_STATE = _generate(
    "generate_keeps_state",
    "generate depends on earlier calls: in a new process, each call gives the right tokens.",
    "state kept between calls, such as a cache of keys and values",
)
GENERATE_ONE_SAMPLE_PER_BATCH = _generate(
    "generate_one_sample_per_batch",
    "One token is sampled for the whole batch; each row needs its own sample.",
    "the line that samples",
    code="multinomial",
)
GENERATE_UNIFORM = _generate(
    "generate_uniform",
    "Tokens are sampled uniformly; the logits have no effect.",
    "the dim of the softmax, and the tensor that you sample from",
    code="softmax",
)
GENERATE_FIRST_POSITION = _generate(
    "generate_first_position",
    "Tokens are sampled from the first position's logits; use the last position's.",
    "the index of the position whose logits are used",
    code=r"\[:,\s*0",
)
GENERATE_OTHER_POSITION = _generate(
    "generate_other_position",
    "Tokens are sampled from some other position's logits; use the last position's.",
    "the index of the position whose logits are used",
    code=r"\[:,\s*-",
)
GENERATE_ROWS_MIXED = _generate(
    "generate_rows_mixed",
    "One row's tokens are sampled from another row's logits.",
    "how the sampled tokens are appended to the rows",
)
GENERATE_CROPS_WRONG_END = _generate(
    "generate_crops_wrong_end",
    "The context is cropped to the first T_max tokens, so new tokens are ignored; keep the last T_max.",
    "the crop",
    code=r"\[.*:.*T_max|\[.*:.*size",
)
GENERATE_WITHOUT_CROP = _generate(
    "generate_without_crop",
    "The context is not cropped, and there are only T_max position embeddings.",
    "the model's input in each step",
    code=r"self\(|model\(|forward\(",
)
GENERATE_CROPS_TOO_SHORT = _generate(
    "generate_crops_too_short",
    "The context is cropped to fewer than the last T_max tokens.",
    "the crop: it should keep T_max tokens",
)
GENERATE_LAST_TOKEN = _generate(
    "generate_last_token",
    "generate gives the model only the last token, without the tokens before it.",
    "the model's input in each step",
    code=r"self\(|model\(|forward\(",
)
GENERATE_CACHE_POSITIONS = _generate(
    "generate_cache_positions",
    "With a cache of keys and values, new tokens get the wrong position embedding; "
    "positions should continue after the cached tokens.",
    "the first position of the new token's embedding",
)
GENERATE_OVERWRITES_IDX = _generate(
    "generate_overwrites_idx",
    "The crop overwrites the sequence itself, so its beginning is lost.",
    "the tensor that is cropped, and the one that the new token is appended to",
)
GENERATE_STOPS_AT_T_MAX = _generate(
    "generate_stops_at_T_max",
    "generate stops at T_max tokens; it should crop the context and continue.",
    "the condition of the loop",
    code="while|break",
)
GENERATE_WITHOUT_PROMPT = _generate(
    "generate_without_prompt",
    "The returned tokens do not include the prompt.",
    "the tensor that the new tokens are appended to",
)
GENERATE_IGNORES_COUNT = _generate(
    "generate_ignores_count",
    "The number of new tokens is the same, whatever max_new_tokens is.",
    "the loop: is its range max_new_tokens, and does the return stand after it?",
)
GENERATE_COUNTS_PROMPT = _generate(
    "generate_counts_prompt",
    "max_new_tokens is treated as the total length; it is the number of tokens to append.",
    "the condition of the loop",
)
GENERATE_STOPS_AT_TOKEN = _generate(
    "generate_stops_at_token",
    "generate stops at one particular token; it should always append max_new_tokens tokens.",
    "the line that leaves the loop early",
)
GENERATE_WRONG_NUMBER = _generate(
    "generate_wrong_number", "The number of new tokens is not max_new_tokens.", "the number of loop iterations"
)
GENERATE_TRUNCATED = _generate(
    "generate_truncated",
    "Only the likeliest tokens can be sampled, as with top-k or top-p; any token should be possible.",
    "the lines that remove tokens before the sampling",
)
GENERATE_RANK_FOR_TOKEN = _generate(
    "generate_rank_for_token",
    "The sampled index is a rank among the sorted probabilities, but is used as the token.",
    "the line after the sampling: look up the token at that rank",
)
GENERATE_FIXED_SEED = _generate(
    "generate_fixed_seed",
    "generate sets the seed, so every call gives the same continuation.",
    "the call that sets a seed",
    code="seed",
)
GENERATE_FROM_LOGITS = _generate(
    "generate_from_logits",
    "torch.multinomial is given logits, which may be negative; it needs probabilities.",
    "the line before the sampling",
    code="multinomial",
)
GENERATE_TEMPERATURE = _generate(
    "generate_temperature",
    "Tokens are sampled from scaled logits: the distribution is sharper or flatter than the model's.",
    "the line before the sampling",
    code="softmax",
)
