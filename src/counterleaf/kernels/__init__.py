"""Compiled inner loops: arrays in, arrays out, no options and no Python objects.

Read in this order: ``separable`` (one feature's cost), ``newton`` and ``simplex`` (the bound of
one region), ``queue``, ``region`` (rows and box of one state) and ``best_first`` (the search over
the tree). ``route`` sends rows down a tree exactly as the model does.
"""
