"""One search: prepared trees, the cheapest rows with their proof, and smallest conflicts."""
