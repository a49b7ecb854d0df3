"""One validator per platform: ``problems(text)`` lists everything that the platform would reject or misread.

They follow the platforms' own documentation, and are stricter wherever it is vague.
"""
