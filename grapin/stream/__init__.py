"""Streams: where batches come from."""
