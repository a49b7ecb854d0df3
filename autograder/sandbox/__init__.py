"""The only place where student code runs: a zygote with torch loaded, and confined workers forked from it."""

NOTEBOOK = "notebook.ipynb"  # a submission's file that is one, whatever it was called
MAIN = "gpt"  # the module that it takes the place of
