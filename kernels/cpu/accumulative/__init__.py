"""Accumulative programs on the CPU: residuals kept between batches, pushed in rounds in the order of memory."""
