"""The devices `cuda` and `cudasim`: the same kernels on a GPU, and in a simulator on any machine."""
