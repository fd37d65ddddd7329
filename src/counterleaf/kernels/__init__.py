"""Compiled inner loops: arrays in, arrays out, no options and no Python objects.

Read in this order: ``compiler`` and ``memory`` (how kernels are made, what they share), ``separable`` (one feature's cost),
``newton``, ``simplex`` and ``proximal`` (the bound of one region), ``region`` (rows and box of one state), ``states``,
``queue``, ``early`` and ``realise`` (what the search does with a state) and ``best_first`` (the search over the tree).
On tables: ``table``, ``relaxed``, ``grouped``, ``forks``, ``table_search``. Many rows: ``boxes``, ``many``, ``many_tables``.
``route`` sends rows down a tree exactly as the model does.
"""
