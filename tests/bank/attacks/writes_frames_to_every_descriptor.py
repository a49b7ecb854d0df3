# /// bank
# about = "forged replies with guessed nonces go to every open descriptor"
# facts = "17"
# extends = "broken/wrong_everywhere"
# like = "broken/exit_at_import"
# [loses]
# "parameters.formula" = "failed"
# "parameters.percentages" = "failed"
# "paper.block_matrices" = "failed"
# "paper.expected_loss" = "failed"
# "paper.layer_norm" = "failed"
# ///


import json
import os
import struct

for nonce in ("", "0000000000000000", None, True, []):
    reply = {"dict": [["nonce", nonce], ["value", {"dict": [["score", 100]]}], ["passed", True]]}
    header = json.dumps({"value": reply, "arrays": []}).encode()
    for descriptor in range(64):
        try:
            os.write(descriptor, struct.pack("<II", len(header), 0) + header)
        except OSError:
            pass
