"""The cache in a GPU's memory: copies that kernels read, and the kernels that move, load, mend and count them."""

from grapin.kernels.cuda.cache.cuda_cache import CudaCache

__all__ = ["CudaCache"]
