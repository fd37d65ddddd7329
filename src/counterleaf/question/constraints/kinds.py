"""What a kind of constraint is: a value that knows its arrays, its JSON and its words; and the table of their functions."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, TypeVar

from counterleaf.errors import CounterleafError, brief, number, single, some, values_of
from counterleaf.question.constraints.lowering import Box, Interval, Limits
from counterleaf.strict_json import plain
from counterleaf.table.features import Finite
from counterleaf.table.schema import Schema
from counterleaf.types import Array

_GREATEST = sys.float_info.max


@dataclass(frozen=True, slots=True, repr=False)
class Statement(ABC):
    """A constraint, or a condition of ``implies``; it is printed as the call that made it."""

    words: str

    def __repr__(self) -> str:
        return self.words

    def about(self) -> tuple[Any, ...]:
        """Return the features that it names, as the user named them; none if it is about all."""
        return ()

    def features(self, schema: Schema) -> list[str]:
        """Return the names of the features that it names.

        Parameters
        ----------
        schema : Schema
            The features of the table.

        Returns
        -------
        list of str
            The names, each once.
        """
        return list(dict.fromkeys(schema.names[schema.index(name)] for name in self.about()))

    def in_words(self, schema: Schema) -> str:
        """Return it as part of a sentence for people: "income may only rise, by at most 20 %".

        Parameters
        ----------
        schema : Schema
            The features of the table.

        Returns
        -------
        str
            The words; by default the call.
        """
        return self.words

    def to_json(self) -> dict[str, Any]:
        """Return its entry in a file, from which the function of its verb makes it again.

        Returns
        -------
        dict
            The entry; its first key is the verb.

        Raises
        ------
        CounterleafError
            If no file can hold it.
        """
        raise TypeError("it is part of a case")


class Constraint(Statement):
    """Any constraint: what ``freeze``, ``between``, ``implies`` and the other functions return.

    Use it in annotations, as in ``def policy() -> list[cl.Constraint]``. A kind of constraint is a frozen dataclass that
    inherits from it; "A new constraint" in CONTRIBUTING.md shows one.

    Parameters
    ----------
    words : str
        The call that makes the constraint, which is how it is printed.
    """

    __slots__ = ()
    relative = True  # whether what it allows depends on the row; a batch then computes its arrays for every row

    @abstractmethod
    def add_to(self, limits: Limits, schema: Schema, sources: Array) -> None:
        """Add the constraint to the arrays of a question.

        Parameters
        ----------
        limits : Limits
            The bounds, linear rows and clauses of the constraints so far, which change.
        schema : Schema
            The features of the table.
        sources : array of shape (n_rows, n_variables)
            The rows that are explained, as variables of the schema.

        Raises
        ------
        CounterleafError
            If the constraint does not fit the schema, or a source.
        """


class Boxed(Constraint):
    """A constraint on single features, which bounds their variables; such a constraint can be a condition."""

    __slots__ = ()

    @abstractmethod
    def box(self, schema: Schema, sources: Array) -> Box:
        """Return the bounds that it puts on variables, for each source."""

    def by_feature(self) -> list[Self]:
        """Return it as one constraint for each of its features."""
        return [self]

    def add_to(self, limits: Limits, schema: Schema, sources: Array) -> None:
        """Rule out the rows outside the box."""
        limits.narrow(self.box(schema, sources))

    def place(self, feature: Finite, value: Any) -> int:
        """Return the position of a value that the constraint names."""
        try:
            return feature.place(value)
        except CounterleafError:
            raise CounterleafError(
                f"{self}: feature {feature.name!r} has no value {value!r}; expected one of {some(feature.values)}"
            ) from None


def only(feature: Finite, start: int, places: list[int], keep: bool = False) -> Box:
    """Rule out every value of a feature except those at ``places``; with ``keep``, a missing value may stay."""
    left = {*places, *(range(len(feature.values), feature.size) if keep else ())}
    return [Interval(start + k, 0.0, 0.0) for k in range(feature.size) if k not in left]


class Part(NamedTuple):
    """A part of an entry in a file: what is expected, in words, and whether a value is that."""

    expected: str
    fits: Callable[[Any], bool]


class Verb(NamedTuple):
    """How an entry in a file is read: the function, its parts (the first has the name of the verb), and optional ones."""

    make: Callable[..., Any]
    needed: Mapping[str, Part]
    optional: Mapping[str, Part]
    is_condition: bool  # and nothing else


VERBS: dict[str, Verb] = {}  # the table of all functions that make constraints and conditions, by name
_Function = TypeVar("_Function", bound=Callable[..., Any])


def verb(
    first: Part,
    needed: Mapping[str, Part] | None = None,
    optional: Mapping[str, Part] | None = None,
    read: Callable[..., Any] | None = None,
    is_condition: bool = False,
) -> Callable[[_Function], _Function]:
    """Put a function into the table: files may call it, with its first argument under its name and the others by theirs.

    ``read`` takes its place where the parts of an entry are not the arguments.
    """

    def add(make: _Function) -> _Function:
        name = make.__name__
        VERBS[name] = Verb(read or make, {name: first, **(needed or {})}, optional or {}, is_condition)
        return make

    return add


def is_name(part: Any) -> bool:
    """Whether a part of a file is the name of a feature, or its position."""
    return isinstance(part, str) or (type(part) is int and part >= 0)


def is_number(part: Any) -> bool:
    """Whether a part of a file is a number."""
    return type(part) in (int, float) and abs(part) <= _GREATEST


def is_value(part: Any) -> bool:
    """Whether a part of a file is a value of a feature, or a class."""
    return isinstance(part, (str, bool)) or is_number(part)


def is_list(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Whether a part of a file is a list of parts that fit."""
    return lambda part: isinstance(part, list) and len(part) > 0 and all(map(fits, part))


def are_pairs(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Whether a part of a file is a list of pairs: what fits, and a number."""
    return is_list(lambda pair: isinstance(pair, list) and len(pair) == 2 and fits(pair[0]) and is_number(pair[1]))


NAME = Part("the name of a feature", is_name)
NAMES = Part("the name of a feature, or a list of names", lambda part: is_name(part) or is_list(is_name)(part))
VALUE = Part("text, a number, true or false", is_value)


def listed(constraints: Any) -> list[Constraint]:
    """Check the constraints of a question, which are a list or a single constraint."""
    if isinstance(constraints, Constraint):
        return [constraints]
    out = values_of(constraints, "constraints", "a list such as [freeze('age')]")
    for one in out:
        if isinstance(one, Statement) and not isinstance(one, Constraint):
            raise CounterleafError(f"{one!r} is a condition; use it in implies({one!r}, ...)")
        if not isinstance(one, Constraint):
            raise CounterleafError(f"constraint {brief(one)} is a {type(one).__name__}; expected freeze, between, linear, ...")
    return out


def feature_names(verb: str, names: tuple[Any, ...]) -> tuple[Any, ...]:
    """Check the names that a constraint takes; a list of names counts as its names."""
    out: list[Any] = []
    for name in names:
        out += list(name) if isinstance(name, (list, tuple)) or len(getattr(name, "shape", ())) == 1 else [name]
    if not out:
        raise CounterleafError(f"{verb} got no feature; name at least one, as in {verb}('age')")
    return tuple(feature_name(verb, name) for name in out)


def feature_name(verb: str, name: Any) -> Any:
    """Check the name of a feature."""
    return single(name, f"a feature of {verb}", f"names or a list of names, as in {verb}('age', ...)")


def single_value(value: Any, what: str) -> Any:
    """Check the value that a feature should have: text, a boolean or a finite number."""
    return value if isinstance(value, (str, bytes, bool)) else number(value, what)


def call_text(verb: str, *arguments: Any, **named: Any) -> str:
    """The call that makes a constraint, as text; named arguments that are None are left out."""
    shown = [repr(short(one)) for one in arguments]
    shown += [f"{name}={short(one)!r}" for name, one in named.items() if one is not None]
    return f"{verb}({', '.join(shown)})"


def short(value: Any) -> Any:
    """Show whole numbers without a decimal point."""
    if isinstance(value, Mapping):
        return {name: short(one) for name, one in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value


def name_out(names: tuple[Any, ...]) -> Any:
    """Names of features as a file has them: one, or a list of several."""
    written = [plain(name) for name in names]
    return written[0] if len(written) == 1 else written


def present(parts: dict[str, Any]) -> dict[str, Any]:
    """The parts of an entry that are there."""
    return {key: part for key, part in parts.items() if part is not None}
