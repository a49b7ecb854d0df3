"""Modules that import nothing else from this package, except each other."""
