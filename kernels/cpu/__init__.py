"""The CPU device: compiled loops over the store's own arrays, with real atomics between threads."""
