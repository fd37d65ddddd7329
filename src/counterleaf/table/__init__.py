"""The user's columns: what they can hold, and how rows become numbers and back. The only room that knows pandas and polars."""
