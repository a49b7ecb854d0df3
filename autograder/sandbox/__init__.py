"""Run student code, only here: a zygote with torch loaded, and confined workers forked from it."""
