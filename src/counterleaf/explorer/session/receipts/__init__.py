"""Steps of an exploration as files to keep."""
