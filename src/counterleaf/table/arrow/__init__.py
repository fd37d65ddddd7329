"""Tables of pyarrow: batches of rows as codes, and answers as columns of fixed types."""
