"""One validator a platform: ``problems(text)`` lists what the platform would not take, or would take otherwise.

Written from the platforms' own documents, and stricter than they are where those leave something open.
"""
