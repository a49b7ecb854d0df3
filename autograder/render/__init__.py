"""Reports for people. Everything here reads a Report and nothing else."""
