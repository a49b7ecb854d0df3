"""Sanitise text that a submission controls before anything displays it."""

MAX_TEXT = 4000  # characters to keep


def clean(text: str, cap: int = MAX_TEXT) -> str:
    """Return ``text`` without control characters, direction overrides or lone surrogates, at most ``cap`` long."""
    if len(text) <= cap and text.isprintable():
        return text  # the usual case
    text = text[: cap + 1].encode("utf-8", "backslashreplace").decode("utf-8")
    text = "".join(c if c in "\n\t" or (c.isprintable() and c not in "\u2028\u2029") else "\ufffd" for c in text)
    return text if len(text) <= cap else text[: cap - 1] + "…"


def insert_before_end(sentence: str, note: str) -> str:
    """Return ``sentence`` with ``note`` in parentheses before its final punctuation mark."""
    return f"{sentence[:-1]} ({note}){sentence[-1]}"
