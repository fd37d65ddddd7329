"""Kernels of the learner: arrays in, arrays out."""
