"""Many tasks at once, in processes of this computer or on a Dask cluster; results in the order asked."""

from grapin.spread.spreading import find_first, spread

__all__ = ["find_first", "spread"]
