"""Run student code in confined workers, forked from a zygote with torch loaded."""
