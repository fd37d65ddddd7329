"""A query about every row of a table that Spark, Dask or Ray holds."""

from counterleaf.distributed.frames import dask as dask
from counterleaf.distributed.frames import ray as ray
from counterleaf.distributed.frames import spark as spark

__all__ = ["dask", "ray", "spark"]
