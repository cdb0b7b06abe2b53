"""Monotone programs on a GPU: one word a vertex, corrected, pulled and pushed in rounds by thousands of threads."""
