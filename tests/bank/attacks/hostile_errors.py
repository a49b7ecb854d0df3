# /// bank
# about = "what is raised has a type, a text and a place that no report should repeat as they are"
# facts = "21"
# extends = "reference"
# like = "attacks/memory_bomb_in_forward"
# ///


HOSTILE = "\x1b[2J\x1b[1;1H\x1b[32mPASSED\x07\b\r<script>alert('x')</script>\n=HYPERLINK(\"http://x\")\t\u202e\u2066\ud800\x9b31m\x00 "
Error = type("=cmd|' /C calc'!A0\x1b[31m\u202e<img src=x onerror=alert(1)>", (Exception,), {})


class MLP(MLP):
    def forward(self, x):
        raise Error(HOSTILE * 1000)


print(HOSTILE * 10)
raise Error(HOSTILE)
