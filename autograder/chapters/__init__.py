"""One folder a chapter: for each part its checks and, beside them, the plausible mistakes."""
