"""From answers to a report: the rows by what became of them, their groups, and the searches for what is in the way."""
