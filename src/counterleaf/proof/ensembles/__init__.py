"""Proofs about ensembles of trees."""
