"""Monotone programs on a GPU: one word per vertex, corrected, pulled and pushed in rounds by thousands of threads."""
