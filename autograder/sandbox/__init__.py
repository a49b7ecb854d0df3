"""Run student code, only here: a zygote with torch loaded, and confined workers forked from it."""

NOTEBOOK = "notebook.ipynb"  # a submission's notebook, whatever its original name
