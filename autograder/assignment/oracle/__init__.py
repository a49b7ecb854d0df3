"""The truth: the grader's own functional GPT and its parameter arithmetic. No student code comes near it."""
