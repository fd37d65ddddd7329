"""The user's table: its features, and rows as numbers and back. No other room imports pandas or polars."""
