"""One query as a function from batches of pyarrow to batches of pyarrow."""
