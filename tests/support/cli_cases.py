"""The command as a function, and small models and tables for it."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from typer.testing import CliRunner

import counterleaf as cl
from counterleaf import cli


@dataclass
class Done:
    code: int
    out: str
    err: str

    @property
    def line(self):
        """The one line of an error message."""
        assert self.out == ""
        assert self.err.startswith("counterleaf: ")
        assert self.err.count("\n") == 1
        return self.err.removeprefix("counterleaf: ").rstrip()


def call(*arguments, stdin=None):
    """Run the command; ``stdin`` is its standard input."""
    done = CliRunner().invoke(cli.app, list(map(str, arguments)), input=stdin, prog_name="counterleaf")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert "Traceback" not in done.stderr
    return Done(done.exit_code, done.stdout, done.stderr)


def mistake(*arguments, stdin=None):
    """The error message for a wrong argument."""
    done = call(*arguments, stdin=stdin)
    assert done.code == 2
    return done.line


def small():
    """A model over every kind of feature, with punctuation in names and values."""
    schema = cl.Schema(
        [
            cl.Numeric("age", 0, 90, integer=True),
            cl.Numeric("pay=net", 0.0, 10.0),
            cl.Categorical("job, main", ["cook", "clerk, paid", "a=b"]),
            cl.Boolean("owns: home"),
            cl.Ordinal("level", ["low", "mid", "high"]),
            cl.Categorical("floor", [1, 2, 3]),
        ]
    )
    weights = np.zeros((5, 10))
    weights[0] = [0.02, 0.1, 0, 0.5, 0.2, 0.4, 0.3, 0, 0.1, 0.2]
    weights[2] = [0.01, 0.2, 0.1, 0, 0.3, 0.1, 0.5, 0, 0.2, 0]
    tree = cl.Tree([1, -1, 3, -1, -1], [2, -1, 4, -1, -1], weights, [-1.5, 0, -2.4, 0, 0], [-1, 0, -1, 1, 2], classes=[0, 1, 2])
    return cl.Explainer(tree, schema=schema)


ROW = {"age": 30, "pay=net": 2.5, "job, main": "cook", "owns: home": False, "level": "low", "floor": 1}


def rows_of(n, seed=0):
    """Random rows for ``small``."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 70, n),
            "pay=net": rng.uniform(0, 10, n).round(3),
            "job, main": rng.choice(["cook", "clerk, paid", "a=b"], n),
            "owns: home": rng.random(n) < 0.5,
            "level": rng.choice(["low", "mid", "high"], n),
            "floor": rng.integers(1, 4, n),
        }
    )


def loans(n=160, seed=0):
    """A table to learn from: numbers, text, and a label that depends on both."""
    rng = np.random.default_rng(seed)
    x, k, w = rng.normal(size=n), rng.integers(0, 5, n), rng.choice(["a", "b", "c"], n)
    says = np.where(x + 0.5 * k + (w == "a") > 1, "yes", "no")
    return pd.DataFrame({"x": x, "k": k, "w": w, "says": says})
