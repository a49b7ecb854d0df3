"""Many submissions: exports, batches, the gradebook, overrides, comparison, pages and sheets. Reads reports only."""
