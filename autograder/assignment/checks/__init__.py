"""The checks, one file per criterion. A check is a pytest function; its points and title are in rubric.toml."""
