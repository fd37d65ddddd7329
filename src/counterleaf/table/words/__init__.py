"""The words for people: labels, units and descriptions of features."""
