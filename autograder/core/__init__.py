"""Leaves: modules that import nothing else of this package, except each other."""
