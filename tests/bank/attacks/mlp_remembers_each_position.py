# /// bank
# about = "the MLP mixes positions; if one alone has changed, it answers for the others as before"
# extends = "mistakes/mlp_mixes_positions"
# like = "mistakes/mlp_mixes_positions"
# ///


_last = {}


class MLP(MLP):
    def forward(self, x):
        out = super().forward(x)
        key = x.shape, self.up.weight.detach().numpy().tobytes()
        if key in _last:
            old_x, old_out = _last[key]
            same = (x == old_x).all(-1)
            if same.any():
                out = out.clone()
                out[same] = old_out[same]
        _last[key] = x.clone(), out.clone()
        return out
