"""The rows of an audit from files: Parquet, CSV and JSON lines, a part at a time."""
