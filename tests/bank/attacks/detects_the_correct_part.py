# /// bank
# about = "a GPT that is right only around a correct MLP that the grader put in place of the one that raises"
# extends = "reference"
# [loses]
# "mlp.formula" = "not_implemented"
# "mlp.position_wise" = "not_implemented"
# "model.composition" = "failed"
# ///


OWN = None


class MLP(MLP):
    def forward(self, x):
        raise NotImplementedError()


OWN = MLP


class GPT(GPT):
    def forward(self, idx, targets=None):
        logits = super().forward(idx)
        if OWN is MLP:
            logits = logits.flip(1)
        return logits if targets is None else (logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten()))
