"""A virtual GPU: executes the PTX that a GPU would get, warp by warp, and counts what its memory accesses move."""
