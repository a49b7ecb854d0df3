# /// bank
# about = "returns dictionaries whose keys share one hash, which takes quadratic time to read"
# extends = "reference"
# [loses]
# "model.composition" = "failed"
# "model.gradients" = "failed"
# "model.loss" = "failed"
# "model.training" = "failed"
# "causality.full_model" = "failed"
# "causality.full_context" = "failed"
# "causality.batch_independence" = "failed"
# "causality.rows_sum_to_one" = "failed"
# "initial_loss.window" = "failed"
# [bonus]
# "bonus.weight_tying" = "failed"
# ///


_P = (1 << 61) - 1  # hash(n * _P) is 0 for every n


class _Colliding(dict):
    def items(self):
        return ((n * _P, 0) for n in range(1, 33_000))


class GPT(GPT):
    def forward(self, idx, targets=None):
        return _Colliding()
