"""Ways to move lists to the device: one file each, all saying what every phase of a trace costs."""
