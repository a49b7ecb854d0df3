# /// bank
# about = "forward applies three blocks, however many there are: it shows at the sizes of the course alone"
# also = ["last_block_unused"]
# extends = "reference"
# [loses]
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "failed"
# ///


class GPT(GPT):
    def forward(self, idx, targets=None):
        every, self.blocks = self.blocks, self.blocks[:3]
        try:
            return super().forward(idx, targets)
        finally:
            self.blocks = every
