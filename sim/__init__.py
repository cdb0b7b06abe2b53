"""The transfer model: what a run's trace costs on a link, a GPU and a transfer system."""
