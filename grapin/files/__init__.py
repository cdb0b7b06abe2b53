"""Graphs in: every file format as one `EdgeList`."""
