"""The report on many answers: who can reach the target, at what cost, and how groups differ."""
