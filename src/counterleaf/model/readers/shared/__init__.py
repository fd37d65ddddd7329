"""What readers share: a reader, the assembly of ensembles, and rows that are sent through the installed model."""
