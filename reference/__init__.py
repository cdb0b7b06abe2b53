"""The reference: plain NumPy, obviously right, the judge of everything else."""
