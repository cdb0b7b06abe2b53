"""Graphs that live in pages in a device's memory and are changed there, after faimGraph."""
