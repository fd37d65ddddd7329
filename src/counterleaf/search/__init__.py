"""One search: prepared trees, the cheapest rows with their proof, smallest conflicts."""
