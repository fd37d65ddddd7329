"""``Question``: the target, the cost, the constraints and the limits of a question, as one value."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from counterleaf.errors import CounterleafError, brief, flat, number, whole
from counterleaf.question.codec import PARTS, Object, check_keys, question_in, question_out
from counterleaf.question.constraints.kinds import Constraint, listed
from counterleaf.question.constraints.several import Support
from counterleaf.question.costs.terms import Term
from counterleaf.question.query import Probability, Value, classes_in_words
from counterleaf.strict_json import loads
from counterleaf.table.frames import by_name

VERSION = 1
_FORM = '{"version": 1, "target": ..., "constraints": [...]}'
_LONGEST = 10_000_000  # characters of a file
_MANY = 1 << 62  # larger limits are cut to this, which no search reaches


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Question:
    """A question without its row: the target, what changes cost, and what is allowed.

    ``explain``, ``explain_many``, ``arrow`` and ``audit`` make one of their arguments, or take one. Two questions are equal if
    their JSON is.

    Parameters
    ----------
    target : class, list, dict, Probability or Value, optional
        The class or classes to reach, an interval, or a price for each class; by default any class except that of the row.
    cost : Cost, optional
        What changes cost; by default the default cost of the explainer.
    constraints : Constraint or list of Constraint, default=()
        What an answer has to satisfy.
    margin : float, dict or str, default=0.0
        How far an answer stays from every split.
    count : int or None, default=1
        The number of answers; None for one of every leaf.
    distinct : {"features", "leaves"} or dict, optional
        How the answers differ.
    time_limit : float, optional
        The seconds after which the search for one row stops.
    max_nodes : int, optional
        The number of nodes after which it stops.
    support : int, optional
        The number of rows of the data that a leaf needs to count.

    Raises
    ------
    CounterleafError
        If a part is of the wrong kind. Whether it fits a model is checked by the call that takes the question.

    See Also
    --------
    Explainer.explain : Describes each part.

    Examples
    --------
    >>> from counterleaf import L1, freeze, max_changes
    >>> question = Question(target="granted", cost=L1("range"), constraints=[freeze("age"), max_changes(2)])
    >>> print(question)
    target: granted
    cost: L1('range')
    freeze('age')
    max_changes(2)
    >>> Question.from_json(question.to_json()) == question
    True
    """

    target: Any = None
    cost: Any = None
    constraints: Any = ()
    margin: Any = 0.0
    count: int | None = 1
    distinct: Any = None
    time_limit: float | None = None
    max_nodes: int | None = None
    support: int | None = None

    def __post_init__(self) -> None:
        count, time_limit, nodes, support = self.count, self.time_limit, self.max_nodes, self.support
        if count is not None and not whole(count, 1):
            raise CounterleafError(f"count is {brief(count)}; expected a whole number from 1, or None for every leaf")
        if time_limit is not None:
            time_limit = number(time_limit, "time_limit")
            if time_limit <= 0:
                raise CounterleafError(f"time_limit is {time_limit}; expected seconds above 0, or None")
        if nodes is not None and not whole(nodes, 1):
            raise CounterleafError(f"max_nodes is {brief(nodes)}; expected a whole number from 1, or None")
        if support is not None and not whole(support, 1):
            raise CounterleafError(f"support is {brief(support)}; expected a number of rows from 1, or None")
        if self.cost is not None and not isinstance(self.cost, Term):
            raise CounterleafError(
                f"cost is {brief(self.cost)}; expected L1, L2, Quadratic, LinearCost, Changes or a sum of them"
            )
        if not (isinstance(self.constraints, tuple) and self.constraints == ()):
            object.__setattr__(self, "constraints", tuple(listed(self.constraints)))
        if not (count == 1 and self.distinct is None):
            _apart(self.distinct, count)
        for name, value in (("count", count), ("max_nodes", nodes), ("support", support)):
            if value is not None and (type(value) is not int or value > _MANY):
                object.__setattr__(self, name, min(int(value), _MANY))
        if time_limit is not None:
            object.__setattr__(self, "time_limit", time_limit)

    @property
    def apart(self) -> int:
        """How many of the features that an answer changes stay in every later one; 0 for answers of different leaves."""
        return 0 if self.count == 1 and self.distinct is None else _apart(self.distinct, self.count)

    @property
    def rules(self) -> tuple[Constraint, ...]:
        """The constraints, and the support of leaves as one of them."""
        if self.support is None:
            return tuple(self.constraints)
        return (*self.constraints, Support(f"support={self.support}", self.support))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Question):
            return NotImplemented
        try:
            return self is other or question_out(self) == question_out(other)
        except CounterleafError:  # a table that only Python holds
            rest = (name for name in PARTS if name != "constraints")
            return self.constraints == other.constraints and all(getattr(self, name) is getattr(other, name) for name in rest)

    def __hash__(self) -> int:
        return hash((self.count, self.time_limit, self.max_nodes, self.support, len(self.constraints)))

    def __getitem__(self, place: int) -> str:
        return self.words()[place]

    def __repr__(self) -> str:
        return f"<Question: {'; '.join(self.words())}>"

    def __str__(self) -> str:
        return "\n".join(self.words())

    def words(self, cost: Any = None, target: Any = None) -> tuple[str, ...]:
        """Return the question in words, one line for the target (with the prices of classes), the cost, and every other part.

        Parameters
        ----------
        cost : Cost, optional
            The cost of the explainer, which holds if the question has none.
        target : object, optional
            The classes of the row's explanation, if the question names none.

        Returns
        -------
        tuple of str
            The lines.
        """
        known = self.cost if self.cost is not None else cost
        lines = [f"target: {target_words(target if self.target is None else self.target)}"]
        lines += [f"cost: {known}"] if known is not None else []
        lines += [str(one) for one in self.rules]
        margin = by_name(self.margin)
        if isinstance(margin, Mapping):
            lines.append("margin: " + ", ".join(f"{distance:.4g} of {name}" for name, distance in margin.items()))
        elif isinstance(margin, str) or margin:
            lines.append(f"margin: {margin if isinstance(margin, str) else f'{margin:g}'}")
        if self.count != 1:
            lines.append(f"answers: {'one of every leaf' if self.count is None else self.count}")
        if self.distinct is not None:
            lines.append(f"distinct: {self.distinct}")
        lines += [f"time limit: {self.time_limit:g} seconds"] if self.time_limit is not None else []
        return tuple(lines + ([f"node limit: {self.max_nodes:,}"] if self.max_nodes is not None else []))

    def to_json(self) -> str:
        """Write the question as JSON; numbers are read back bit for bit.

        Returns
        -------
        str
            The JSON text.

        Raises
        ------
        CounterleafError
            If a part is neither text nor a finite number, or is a table that only Python holds.
        """
        return json.dumps({"version": VERSION, **self._content()}, ensure_ascii=False, allow_nan=False)

    def _content(self) -> dict[str, Any]:
        try:
            content = question_out(self)
            json.dumps(content, allow_nan=False)
        except CounterleafError:
            raise
        except (TypeError, ValueError) as error:
            raise CounterleafError(
                f"the question cannot be written ({flat(error)}); expected names, text and finite numbers"
            ) from None
        return content

    @classmethod
    def from_json(cls, text: str | bytes) -> Question:
        """Read a question that ``to_json`` wrote, or a file of constraints.

        Parameters
        ----------
        text : str or bytes
            The JSON text.

        Returns
        -------
        Question
            The same question.

        Raises
        ------
        CounterleafError
            If the text is anything else; the message names the part, and the nearest name that is known.
        """
        return read_question(text, "the question")


def read_question(text: Any, name: str) -> Question:
    """Read the text of a question; ``name`` stands for it in messages."""
    if not isinstance(text, (str, bytes)):
        raise CounterleafError(f"{name} is {brief(text)}; expected JSON text, {_FORM}")
    if len(text) > _LONGEST:
        raise CounterleafError(f"{name} has {len(text):,} characters; expected at most {_LONGEST:,}")
    try:
        content = loads(text.decode() if isinstance(text, bytes) else text, Object)
        json.dumps(content, ensure_ascii=False).encode()  # refuses half a character
    except UnicodeDecodeError:
        raise CounterleafError(f"{name} is not text in UTF-8; expected {_FORM}") from None
    except (ValueError, RecursionError) as error:
        raise CounterleafError(f"{name} is not valid JSON ({flat(error)[:200]}); expected {_FORM}") from None
    if not isinstance(content, dict):
        raise CounterleafError(f"{name} holds {brief(content)}; expected {_FORM}")
    check_keys(content, ("version",), PARTS, name)
    if type(content["version"]) is not int or content["version"] != VERSION:
        raise CounterleafError(f"{name}: version is {brief(content['version'])}; this counterleaf reads version {VERSION}")
    return Question(**question_in({key: part for key, part in content.items() if key != "version"}, name))


def ask(call: str, question: Any, **parts: Any) -> Question:
    """Make the question of a call: the one that was passed, or one of its other arguments."""
    if question is None:
        return Question(**parts)
    if not isinstance(question, Question):
        raise CounterleafError(
            f"{call} got the question {brief(question)}; expected cl.Question(...), or target= and so on by name"
        )
    usual = Question()
    given = sorted(name for name, part in parts.items() if part is not getattr(usual, name) and part != getattr(usual, name))
    if given:
        raise CounterleafError(f"{call} got a question and {given[0]}=; put {given[0]} into the question")
    return question


def target_words(target: Any) -> str:
    """Return a target in words."""
    if target is None:
        return "any class except that of the row"
    if isinstance(target, Mapping):
        return classes_in_words(target.items(), ", ")
    single = isinstance(target, (str, bytes, Probability, Value)) or getattr(target, "shape", None) == ()
    return str(target) if single or not isinstance(target, Iterable) else ", ".join(map(str, target))


def _apart(distinct: Any, count: int | None) -> int:
    """Check ``distinct``: how many of the features that an answer changes stay in every later one; 0 for other leaves."""
    if distinct is None:
        return int(count is not None and count > 1)
    if isinstance(distinct, Mapping) and list(distinct) == ["features"] and whole(distinct["features"], 1):
        return min(int(distinct["features"]), _MANY)
    if isinstance(distinct, str) and distinct in ("features", "leaves"):
        return int(distinct == "features")
    raise CounterleafError(
        f"""distinct is {brief(distinct)}; expected "features", "leaves" or a dict such as {{"features": 2}}"""
    )
