"""A query about every row of a table that Spark, Dask or Ray holds."""

from counterleaf.distributed.dask_frames import dask as dask
from counterleaf.distributed.ray_datasets import ray as ray
from counterleaf.distributed.spark_frames import spark as spark

__all__ = ["dask", "ray", "spark"]
