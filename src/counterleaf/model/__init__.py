"""A user's model or pipeline as one exact tree."""
