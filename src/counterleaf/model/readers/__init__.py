"""Readers of the models of several libraries, one file each, in one table."""
