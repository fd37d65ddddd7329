"""Other engines that do the parts of an audit: Spark, Dask and Ray."""
