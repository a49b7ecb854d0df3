# /// bank
# about = "the channel and the nonce are taken from the frames, and answered by the submission itself"
# facts = "17"
# extends = "stub"
# like = "broken/exit_at_import"
# [loses]
# "parameters.formula" = "crashed"
# "parameters.percentages" = "crashed"
# "paper.block_matrices" = "crashed"
# "paper.expected_loss" = "crashed"
# "paper.layer_norm" = "crashed"
# ///


import json
import os
import struct
import sys

frame = sys._getframe()
while "channel" not in frame.f_locals or "nonce" not in frame.f_locals:
    frame = frame.f_back
channel, nonce = frame.f_locals["channel"], frame.f_locals["nonce"]


def receive(size):
    data = b""
    while len(data) < size:
        data += os.read(channel, size - len(data)) or os._exit(0)
    return data


while True:
    value = {"dict": [["score", 100], ["max_score", 100], ["status", "passed"], ["gradable", True]]}
    reply = json.dumps({"value": {"dict": [["nonce", nonce], ["value", value]]}, "arrays": []}).encode()
    os.write(channel, struct.pack("<II", len(reply), 0) + reply)
    header, body = struct.unpack("<II", receive(8))
    nonce = json.loads(receive(header))["value"]["tuple"][0]
    receive(body)
