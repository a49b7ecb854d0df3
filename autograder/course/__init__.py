"""Grade a course: exports, batches, the gradebook, overrides, comparison, pages and sheets."""
