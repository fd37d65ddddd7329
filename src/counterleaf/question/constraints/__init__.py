"""Constraints: one file per family of kinds, each with the functions that make them, their arrays, their JSON and their words.

Every file of this folder is imported, which puts its functions into the table of ``kinds``.
"""

from importlib import import_module
from pkgutil import iter_modules

for _file in iter_modules(__path__):
    import_module(f"{__name__}.{_file.name}")
