"""The only place where student code runs: a zygote with torch loaded, and confined workers forked from it."""
