"""The truth: the grader's own functional GPT and its parameter arithmetic. Student code never runs in its process."""
