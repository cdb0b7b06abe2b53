"""Many tasks at once, in processes of this computer or on a Dask cluster; results in the order asked."""

from grapin.spread.spreading import spread

__all__ = ["spread"]
