"""List the definitions that students write, in the order of the handout and of reports."""

from autograder.core.assignment import Contract, Definition

CONTRACT = Contract(
    main="gpt",
    definitions=(
        Definition("parameter_count", "paper", "on paper, 2", "your formula for the number of parameters, by part"),
        Definition("parameter_shares", "paper", "on paper, 2", "the same as percentages of the total"),
        Definition("block_matrices", "paper", "on paper, 2", "the matrices behind the 12 in 12 L d^2"),
        Definition("layer_norm_geometry", "paper", "on paper, 3", "LayerNorm as two projections"),
        Definition("expected_initial_loss", "paper", "on paper, 4", "the loss to expect before any training"),
        Definition(
            "MultiHeadAttention",
            "gpt",
            "task 5.1",
            "H heads concatenated, then one projection",
            width="d",
            aliases=("MultiHeadSelfAttention", "CausalSelfAttention", "SelfAttention", "Attention", "MHA"),
        ),
        Definition(
            "MLP",
            "gpt",
            "task 5.2",
            "two nn.Linear with a GELU between them",
            width="d",
            aliases=("FeedForward", "PositionwiseFeedForward", "FFN", "MultiLayerPerceptron"),
        ),
        Definition(
            "Block",
            "gpt",
            "task 5.3",
            "attention and MLP, each with a LayerNorm, adding to x",
            width="d",
            aliases=("TransformerBlock", "DecoderBlock", "TransformerLayer", "DecoderLayer", "GPTBlock", "Layer"),
        ),
        Definition(
            "GPT",
            "gpt",
            "task 5.3",
            "embeddings, L blocks, LayerNorm, unembedding",
            aliases=("GPTModel", "GPTLanguageModel", "MiniGPT", "NanoGPT", "GPT2", "Transformer", "LanguageModel"),
        ),
        Definition("count_is_right", "verify", "task 5.4 (1)", "your test of the number of parameters"),
        Definition("is_causal", "verify", "task 5.4 (2)", "your test of causality"),
        Definition("initial_loss_is_right", "verify", "task 5.4 (3)", "your test of the initial loss"),
        Definition("shape_table", "gpt", "task 5.4 (4)", "a list of (stage, shape) for one forward pass"),
        Definition("shapes_are_right", "verify", "task 5.4 (4)", "your test of the output shapes"),
        Definition("BatchedMultiHeadAttention", "gpt", "going further", "all heads in one tensor", True, width="d"),
        Definition("qk_ov", "gpt", "going further", "the two products of each head's matrices", optional=True),
    ),
    helpers=("generate",),
)
