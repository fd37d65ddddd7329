"""An explanation in plain words, as text and as HTML: a sentence, a table, the proof, and the confirmation by the model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from counterleaf.answer.short_numbers import plain, round_down, shorten
from counterleaf.model.decision import Decision, Range
from counterleaf.proof.certificate import Status
from counterleaf.proof.compound import Compound
from counterleaf.question.constraints.several import Support, support_of
from counterleaf.question.constraints.tables import Among
from counterleaf.question.query import Probability, Value, classes_in_words
from counterleaf.search.watching import share_above
from counterleaf.table.features import Feature, Numeric, Ordinal, is_missing
from counterleaf.table.words import label_of, shown, word
from counterleaf.types import Array

if TYPE_CHECKING:
    from counterleaf.answer.explanation import Counterfactual, Explanation

_IN_SENTENCE, _IN_TABLE = 12, 40  # features
_INVALID_PROOF = "NOT proved: the proof stored with this answer is not valid."

_CELL = "padding: 0.2em 0.7em; border-bottom: 1px solid rgba(128, 128, 128, 0.3); text-align: right"
_LEFT = _CELL.replace("right", "left")
_UP, _DOWN = f"{_CELL}; background: rgba(40, 120, 220, 0.2)", f"{_CELL}; background: rgba(230, 130, 20, 0.2)"
_OTHER = f"{_CELL}; background: rgba(128, 128, 128, 0.2)"


@dataclass(frozen=True, slots=True)
class Terms:
    """Terms that depend on where the text is read, in Python or on the command line."""

    model: str = "Your model"  # the model that confirms the answers
    lift: str = "infer_bounds=False lifts them"  # how to allow values beyond the ranges seen in the data


_PYTHON = Terms()


@dataclass(frozen=True, slots=True)
class Page:
    """The parts of the text; ``text`` and ``html`` only lay them out."""

    sentence: str
    head: list[str]
    places: list[int]  # of the features that have a line
    lines: list[list[str]]  # name, source, alternatives; "=" for a value that does not change
    moves: list[list[float]]  # by how much each alternative moves the feature of a line; NaN for a change without a direction
    more: str  # the number of features that change but have no line, in words
    foot: list[list[str]]
    proof: str


def text(answer: Explanation, terms: Terms = _PYTHON) -> str:
    """Return the explanation as ``print`` shows it."""
    page = compose(answer, terms=terms)
    if not page.head:
        return " ".join(filter(None, [page.sentence, page.proof]))
    rows = laid_out([page.head, *page.lines, *page.foot], 0)
    if page.more:
        rows.insert(1 + len(page.lines), page.more)
    return "\n".join([page.sentence, "", *rows, "", page.proof])


def laid_out(lines: list[list[str]], left: int) -> list[str]:
    """Return a table as lines of text; the column ``left`` is text, the others are numbers."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    sides = [str.ljust if k == left else str.rjust for k in range(len(widths))]
    return ["  ".join(side(cell, w) for side, cell, w in zip(sides, line, widths, strict=True)).rstrip() for line in lines]


def html(answer: Explanation) -> str:
    """Return the explanation for a notebook: one element, no script, readable on a light and on a dark page."""
    page = compose(answer)
    out = [f"<p>{escape(page.sentence)}</p>"]
    if page.head:
        rows = [html_row("th", page.head)]
        rows += [html_row("td", line, moves=moves) for line, moves in zip(page.lines, page.moves, strict=True)]
        if page.more:
            rows.append(f'<tr><td colspan="{len(page.head)}" style="{_LEFT}">{page.more}</td></tr>')
        rows += [html_row("td", line) for line in page.foot]
        out.append(f'<table style="border-collapse: collapse">{"".join(rows)}</table>')
    if page.proof:
        out.append(f'<p style="opacity: 0.75">{escape(page.proof)}</p>')
    return f"<div>{''.join(out)}</div>"


def html_row(tag: str, line: list[str], left: int = 0, moves: Sequence[float] = ()) -> str:
    """Return a table row; the cell ``left`` is text, and arrows and colours show which way a number or a level moves."""
    cells = []
    for k, value in enumerate(line):
        move = moves[k - 2] if moves and k > 1 else 0.0
        style = _LEFT if k == left else _CELL if not move else _OTHER if math.isnan(move) else _UP if move > 0 else _DOWN
        text = f'<span style="opacity: 0.4">{value}</span>' if value == "=" and k != left and not move else escape(value)
        arrow = "" if not move or math.isnan(move) else "▲ " if move > 0 else "▼ "
        cells.append(f'<{tag} style="{style}">{arrow}{text}</{tag}>')
    return f"<tr>{''.join(cells)}</tr>"


@np.errstate(over="ignore", invalid="ignore")  # costs beyond the largest float: the numbers are then written in full
def compose(answer: Explanation, most: int = _IN_TABLE, terms: Terms = _PYTHON, units: bool = True) -> Page:
    """Return the parts of the text; at most ``most`` features have a line, and ``units`` follow the numbers."""
    if not len(answer):
        return Page(_nothing_found(answer, terms), [], [], [], [], "", [], "")
    names, changed = list(map(label_of, answer.schema)), _changed(answer)
    in_sentence, listed, before, after = _values(answer, changed, most, units)
    if not listed and len(answer) == 1:  # nothing to compare
        return Page(_sentence(answer, [], 0), [], [], [], [], "", [], _proof(answer, terms))
    parts = [f"{names[d]} were {after[0][d]} instead of {before[d]}" for d in in_sentence]
    more = len({d for places in changed for d in places}) - len(listed)
    return Page(
        _sentence(answer, parts, len(changed[0]) - len(in_sentence)),
        ["", "source", *(f"#{k + 1}" for k in range(len(answer)))],
        listed,
        [[names[d], before[d], *(values.get(d, "=") for values in after)] for d in listed],
        _moves(answer, listed),
        f"... and {_features(more, 'more')}" if more else "",
        [["cost", "", *apart([c.cost for c in answer])], *_outcomes(answer)],
        _proof(answer, terms),
    )


def _outcomes(answer: Explanation) -> list[list[str]]:
    """Return what the model says of the source and of each alternative: its class or value, and the target's probability."""
    says = ["model says", said(answer.source_label), *(said(c.label) if c.confirmed else "?" for c in answer)]
    if not isinstance(answer.target, Probability):
        return [says]
    numbers = [answer.source_number or 0.0, *(c.number or 0.0 for c in answer)]
    return [says, [f"probability of {answer.target.label}", *(as_number(one) for one in numbers)]]


def outcome(answer: Explanation, one: Counterfactual | None = None) -> str:
    """Return what the model says of an alternative, or of the source: its class or value, or the target's probability."""
    if isinstance(answer.target, Probability):
        number = answer.source_number if one is None else one.number
        return as_number(number or 0.0)
    return said(answer.source_label if one is None else one.label)


def said(label: Any) -> str:
    """Return a class, or a predicted value with six digits."""
    return as_number(label) if isinstance(label, float) else str(label)


def as_number(value: float) -> str:
    """Return a probability or a value with up to six digits."""
    return plain(f"{value:.6g}")


def _changed(answer: Explanation) -> list[list[int]]:
    """Return the places of the features that each alternative changes."""
    problem = answer.certificate.problem
    return [answer.schema.changed(one.row, problem.source) for one in answer.certificate.answers]


def _moves(answer: Explanation, listed: list[int]) -> list[list[float]]:
    """Return by how much each alternative moves these features; levels move by places."""
    schema, found = answer.schema, answer.certificate.findings
    source = schema.gather(answer.certificate.problem.source)
    moves = schema.gather(found.points) - source
    moves[:, np.isnan(source)] = np.where(np.isnan(schema.gather(found.points))[:, np.isnan(source)], 0.0, math.nan)
    for d, feature in enumerate(schema):
        directed = isinstance(feature, Numeric) or (isinstance(feature, Ordinal) and source[d] < len(feature.values))
        if not directed:
            moves[moves[:, d] != 0, d] = math.nan
    return [moves[:, d].tolist() for d in listed]


def shares(answer: Explanation, points: Array) -> Array:
    """Return the cost of the change of each feature, for one vector or for several."""
    return np.asarray(np.add.reduceat(answer.certificate.problem.shares(points), answer.schema.starts[:-1], axis=-1))


def _costliest(answer: Explanation, changed: list[list[int]], most: int) -> list[int]:
    """Return the places of the features that change; if more than ``most``, the costliest, those of the first row first."""
    places = sorted({d for row in changed for d in row})
    if len(places) <= most:
        return places
    chosen: list[int] = []
    for found, row in zip(answer.certificate.answers, changed, strict=False):
        share = np.abs(shares(answer, found.row))
        chosen += sorted(set(row) - set(chosen), key=lambda d: (-share[d], d))
        if len(chosen) >= most:
            break
    return chosen[:most]


def written(answer: Explanation, k: int) -> dict[int, tuple[str, str]]:
    """Return the values (from, to) of alternative k as ``print`` writes them, by place, for the features that it prints."""
    _, _, before, after = _values(answer, _changed(answer), _IN_TABLE)
    return {d: (before[d], value) for d, value in after[k].items()}


def _values(
    answer: Explanation, changed: list[list[int]], most: int, units: bool = True
) -> tuple[list[int], list[int], dict[int, str], list[dict[int, str]]]:
    """Return the places in the sentence, those in the table, the values of the source, and those of each alternative."""
    in_sentence = _costliest(answer, changed[:1], _IN_SENTENCE)
    listed = _costliest(answer, changed, most)  # includes those in the sentence
    printed = [[d for d in listed if d in places] for places in map(set, changed)]
    after = [_new_values(answer, k, places) for k, places in enumerate(printed)]
    source, features = answer.schema.values(answer.source), answer.schema.features
    before = {d: source_value(features[d], source[d], [values[d] for values in after if d in values]) for d in listed}
    if not units:
        return in_sentence, listed, before, after
    before, *after = ({d: shown(features[d], text) for d, text in values.items()} for values in (before, *after))
    return in_sentence, listed, before, after


def _new_values(answer: Explanation, k: int, places: list[int]) -> dict[int, str]:
    """Return the values of alternative k at these places.

    Only numbers without a grid are rounded; the rows of ``among`` are written as they are.
    """
    schema, certificate, found = answer.schema, answer.certificate.owner(k), answer.certificate.answers[k]
    problem, rounded = answer.certificate.rounding_problem(k)
    features = {d: schema.features[d] for d in places}
    numbers = {d: int(schema.starts[d]) for d, feature in features.items() if isinstance(feature, Numeric)}
    free = [numbers[d] for d, feature in features.items() if isinstance(feature, Numeric) and feature.any_number]
    row = shorten(problem, rounded, free) if certificate.pool is None else found.row
    row = row if certificate.admits(row) else found.row
    changes = answer[k].changes
    new = {d: changes[schema.names[d]][1] for d in places}
    return {d: plain(row[numbers[d]]) if d in numbers and not is_missing(new[d]) else word(new[d]) for d in places}


def source_value(feature: Feature, value: Any, new_values: list[str]) -> str:
    """Return a value of the source.

    Whole numbers and those of a grid are written in full, other numbers with six digits, or with as many as make them differ
    from the new values.
    """
    if not isinstance(feature, Numeric) or is_missing(value):
        return word(value)
    value = float(value)
    with np.errstate(over="ignore"):
        narrow = np.float32(value)
    full = plain(str(narrow)) if float(narrow) == value else plain(value)  # a float32 has fewer digits: 0.1, not 0.10000000149
    digits = 6 if feature.any_number else 15
    short = full if value.is_integer() or len(full) <= 8 else plain(f"{value:.{digits}g}")
    return short if short not in new_values else full if full not in new_values else plain(value)


def apart(costs: Sequence[float]) -> list[str]:
    """Return costs with four digits, or with up to six if that makes more of them differ."""
    ways = [[plain(f"{cost:.{digits}g}") for cost in costs] for digits in (4, 5, 6)]
    return max(ways, key=lambda texts: len(set(texts)))


def _sentence(answer: Explanation, parts: list[str], more: int) -> str:
    best = answer[0]
    read = f"the {'tree' if answer.decision.model.is_one_tree else 'ensemble'} read from it"
    model = "the model" if best.confirmed else read
    if not best.changes:
        start = "Nothing has to change" if best.confirmed else "The model does not confirm it"
        return f"{start}: {model} already {_says(answer, best, 's')}{_margin(answer)}."
    changes = _series([*parts, f"{_features(more, 'other')} changed as well"] if more else parts)
    start = "If" if _is_least(answer) else "The best change found before the search stopped: if"
    return f"{start} {changes}, {model} would {_instead(answer)}{_margin(answer)}."


def _says(answer: Explanation, one: Counterfactual | None, ending: str = "") -> str:
    """Return what the model says of an alternative, or of the source, as a verb and its object."""
    target, label = answer.target, answer.source_label if one is None else one.label
    if isinstance(target, Probability):
        return f"give{ending} {target.label} a probability of {outcome(answer, one)}"
    return f"{'predict' if isinstance(target, Value) else 'say'}{ending} {said(label)}"


def _instead(answer: Explanation) -> str:
    best, target = answer[0], answer.target
    if isinstance(target, tuple) and best.label == answer.source_label and best.confirmed:
        return f"still say {best.label}"
    if isinstance(target, tuple):
        other = f" instead of {answer.source_label}" if best.label != answer.source_label else ""
        return f"{_says(answer, best)}{other}"
    now, before = said(best.number if isinstance(target, Probability) else best.label), said(answer.source_number)
    return f"still {_says(answer, best)}" if now == before else f"{_says(answer, best)} instead of {before}"


def _nothing_found(answer: Explanation, terms: Terms) -> str:
    wanted = aimed(answer) + _margin(answer)
    if answer.status is Status.LIMIT:
        least = f" Any such change costs at least {least_of(answer)}." if 0 < answer.lower_bound < math.inf else ""
        return f"The search stopped before it found a change that makes the model {wanted}.{least}"
    if answer.certificate.pool is not None:
        conflict = "; ".join(str(one) for one in answer.conflict if not isinstance(one, Among))
        obeys = f" and obeys your constraints (ruled out by {conflict})" if conflict else ""
        return f"None of the given rows makes the model {wanted}{obeys}."
    proof = " This is proved." if answer.proved else f" {_INVALID_PROOF}"
    if answer.target and not answer.conflict and not np.isfinite(answer.certificate.problem.question.nodes["below"][0]):
        if isinstance(answer.target, tuple):
            return f"No leaf of the tree says {answer.target_text()}, so no change can make the model say it.{proof}"
        return f"No change can make the model {wanted}: {_extreme(answer)}.{proof}"
    if not answer.conflict:
        bounds = " within the feature bounds" if _is_bounded(answer) else ""
        origin = _origin_of_bounds(terms) if bounds and answer.schema.inferred else ""
        return f"No row{bounds} makes the model {wanted}, even without constraints{_reach(answer)}.{origin}{proof}"
    listed = "; ".join(map(str, answer.conflict))
    bounds = "the feature bounds and " if _is_bounded(answer) else ""
    if len(answer.conflict) == 1:
        why = f"This constraint rules it out: {listed}."
    else:
        why = f"These constraints cannot all hold: {listed}. Relax at least one of them."
    for one in answer.conflict:
        why += f" ({one} leaves out the leaves that fewer rows of the data reach.)" if isinstance(one, Support) else ""
    if bounds and answer.schema.inferred:
        why += _origin_of_bounds(terms)
    if is_reached(answer):
        says = _says(answer, None, "s")
        return f"The model already {says}, but no change within {bounds}your constraints keeps it so. {why}{proof}"
    return f"No change within {bounds}your constraints makes the model {wanted}. {why}{proof}"


def is_reached(answer: Explanation) -> bool:
    """Return whether the model says already of the source what the target asks for; margins and constraints aside."""
    target, number = answer.target, answer.source_number
    if isinstance(target, (Probability, Value)):
        low, high = target.at_least, target.at_most
        return number is not None and (low is None or number >= low) and (high is None or number <= high)
    return target is not None and answer.source_label in target


def aimed(answer: Explanation) -> str:
    """Return the target as a verb and its object: "say yes", "predict a value at least 5"."""
    target = answer.target
    if isinstance(target, tuple):
        return f"say {answer.target_text() or 'anything else'}"
    what = target.interval if target.interval.startswith("from") else f"of {target.interval}"
    return f"predict a value {what}" if isinstance(target, Value) else f"give {target.label} a probability {what}"


def _extreme(answer: Explanation) -> str:
    """Return the highest or lowest probability or value of the leaves, which are constant and miss the target."""
    what = "value" if isinstance(answer.target, Value) else "probability"
    assert isinstance(answer.decision, Decision)  # the question about an ensemble has a leaf that every row reaches
    if answer.decision.model.outputs is not None and answer.decision.model.outputs.slope is not None:
        return f"it never has such a {what}"
    low, high = answer.decision.extremes
    if answer.target.at_least is not None and high < answer.target.at_least:
        return f"the highest {what} of any leaf is {as_number(high)}"
    if answer.target.at_most is not None and low > answer.target.at_most:
        return f"the lowest {what} of any leaf is {as_number(low)}"
    return f"no leaf has a {what} in between; they range from {as_number(low)} to {as_number(high)}"


def _reach(answer: Explanation) -> str:
    """Return what linear leaves can reach within the bounds of the features, if that alone rules out the target."""
    model, goal = answer.decision.model, answer.decision.goal
    if model.outputs is None or not isinstance(goal, Range) or goal.output >= 0 or goal.rescale is not None:
        return ""
    ends = [model.outputs.reach(model.leaves, *answer.schema.bounds(), sign, answer.schema.starts) for sign in (-1.0, 1.0)]
    low, high = -ends[0], ends[1]
    if answer.target.at_least is not None and high < answer.target.at_least:
        return f": no leaf predicts more than {as_number(high)} there"
    if answer.target.at_most is not None and low > answer.target.at_most:
        return f": no leaf predicts less than {as_number(low)} there"
    return ""


def _origin_of_bounds(terms: Terms) -> str:
    return f" (Unless others were given, the bounds are the ranges seen in the data; {terms.lift}.)"


def _is_bounded(answer: Explanation) -> bool:
    """Return whether some number has a bound."""
    numbers = [feature for feature in answer.schema if isinstance(feature, Numeric)]
    return any(math.isfinite(end) for feature in numbers for end in (feature.lower, feature.upper))


def _proof(answer: Explanation, terms: Terms) -> str:
    this = "this one" if len(answer) == 1 else "#1"
    if not answer[0].changes:
        this = "leaving the row as it is"
    pool = answer.certificate.pool
    which = ("no allowed change" if pool is None else "no other given row") + _support(answer)
    proved = f"Proved: {which} costs less than {this} ({apart([c.cost for c in answer])[0]}{_prices(answer)})"
    if answer.gap > 1e-9 * abs(answer[0].cost):
        proved += f", to within {answer.gap:.1g}"
    if not answer.proof_holds:
        return f"{_INVALID_PROOF} {_confirmed(answer, terms)}"
    if answer.status is Status.OPTIMAL:
        return f"{proved}{_others(answer)}. {_confirmed(answer, terms)}"
    if _is_least(answer):
        return f"{proved}. The search stopped early, so alternatives may be missing. {_confirmed(answer, terms)}"
    bound = f", but none costs less than {least_of(answer)}" if math.isfinite(answer.lower_bound) else ""
    bound += share_above(answer[0].cost, answer.lower_bound).replace(", at most", ": this one is at most")
    return f"Not proved: the search stopped early. There may be cheaper changes{bound}. {_confirmed(answer, terms)}"


def _prices(answer: Explanation) -> str:
    """Return that classes have prices, which are part of every cost, if they have."""
    prices = answer.class_prices
    return f", prices of classes included: {classes_in_words(prices.items(), ', ')}" if any(prices.values()) else ""


def _others(answer: Explanation) -> str:
    """Return what is proved about the alternatives, and whether there are more of them."""
    proof = answer.certificate
    kept = proof.apart if isinstance(proof, Compound) else 0
    out = ""
    if len(answer) > 1 and kept:
        some = "at least one feature" if kept == 1 else f"at least {kept} of the features"
        out = f"; each of the others is the cheapest that keeps {some} an earlier answer changes"
    elif len(answer) > 1:
        out = "; each of the others is the cheapest in a different leaf of the tree"
    if isinstance(proof, Compound) and proof.is_exhausted:
        out += ". No further alternative exists" + (f": {_exhausted(answer, kept)}" if answer[0].changes and kept else "")
    return out


def _exhausted(answer: Explanation, kept: int) -> str:
    those = "this one changes" if len(answer) == 1 else "one of these changes"
    return f"every other answer changes all the features that {those}" if kept == 1 else f"none keeps {kept} of them"


def _confirmed(answer: Explanation, terms: Terms) -> str:
    refuted = [k for k, c in enumerate(answer) if not c.confirmed]
    shown = refuted or range(len(answer))
    if isinstance(answer.target, tuple):
        verb, what = "say", " or ".join(dict.fromkeys(str(answer[k].label) for k in shown))
    else:
        verb, _, what = aimed(answer).partition(" ")
    if refuted:
        rows = "this row" if len(answer) == 1 else _series([f"#{k + 1}" for k in refuted])
        return f"NOT confirmed: {terms.model[0].lower()}{terms.model[1:]} does not {verb} {what} for {rows}."
    if len(answer) == 1:
        return f"{terms.model} confirms it: it {verb}s {what} for this row."
    every = "both" if len(answer) == 2 else f"all {len(answer)}"
    return f"{terms.model} confirms {every}: it {verb}s {what} for these rows."


def _is_least(answer: Explanation) -> bool:
    """Return whether the first answer is proved to be the cheapest, up to rounding; a search for more may have stopped."""
    return answer.proof_holds and (answer.status is Status.OPTIMAL or answer.gap <= 1e-9 * abs(answer[0].cost))


def least_of(answer: Explanation) -> str:
    """Return the least cost of any answer, rounded down so that the written number is a bound too."""
    return plain(round_down(answer.lower_bound, 4))


def _margin(answer: Explanation) -> str:
    return f" with a margin of {answer.margin_text}" if answer.margin_text else ""


def _support(answer: Explanation) -> str:
    """Return to which leaves the proof is limited, if to some."""
    least = support_of(answer.constraints)
    leaf = "a leaf" if answer.decision.model.is_one_tree else "leaves"
    return f" to {leaf} of {least} or more rows of the data" if least else ""


def _features(count: int, which: str) -> str:
    return f"{count} {which} feature{'s' if count > 1 else ''}"


def _series(parts: list[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
