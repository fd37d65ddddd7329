"""The one exception that counterleaf raises."""


class CounterleafError(ValueError):
    """A question that cannot be asked: the message says what came, what was expected, what to do.

    "No such row exists" is never an error; it is an answer with status ``infeasible`` and a proof.
    """


def flat(words: object) -> str:
    """Words, or an error's message, in one line."""
    return " ".join(str(words).split())
