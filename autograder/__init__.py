"""Grade a GPT assembled in PyTorch: the student's code runs confined, the verdicts are made elsewhere."""

__version__ = "0.1.0"
