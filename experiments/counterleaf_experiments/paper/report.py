"""The report: one self-contained HTML page with figures, and with the paper's numbers next to ours."""

from __future__ import annotations

import base64
import math
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from counterleaf_experiments.paper import published
from counterleaf_experiments.paper.tables import Verdict, short
from counterleaf_experiments.paper.trees import AXIS, OBLIQUE


@dataclass(frozen=True, slots=True, eq=False)
class Results:
    """The tables of a finished run."""

    person: pd.DataFrame | None
    comparisons: dict[str, pd.DataFrame]
    errors: pd.DataFrame
    digits: pd.DataFrame | None
    verdicts: list[Verdict]
    drawn: tuple[int, int]  # the number of instances, and of pairs of row and target that were skipped
    stand_in: bool  # other digits replaced MNIST
    settings: dict[str, str]
    runs: list[dict[str, str]]  # several if the run was stopped and continued

    def files(self) -> dict[str, pd.DataFrame]:
        """The tables by the name of their CSV file."""
        named = {
            "table1.csv": self.person,
            "table2.csv": self.comparisons[OBLIQUE],
            "table3.csv": self.comparisons[AXIS],
            "table6.csv": self.errors,
            "digits.csv": self.digits,
            "verdicts.csv": pd.DataFrame([(v.claim, v.cases, v.failed, v.note) for v in self.verdicts], columns=_VERDICT),
        }
        return {name: table for name, table in named.items() if table is not None}


_NAMES = {"nearest": "nearest row", "tweaking": "Feature Tweaking"}
_VERDICT = ["claim", "cases", "failed", "note"]
_STYLE = """
:root { color-scheme: light dark; --line: rgba(128,128,128,.35); --soft: rgba(128,128,128,.12);
  --paper: #8a5a00; --good: #0a6b2d; --bad: #b00020; }
@media (prefers-color-scheme: dark) { :root { --paper: #e0b060; --good: #6fd08c; --bad: #ff8a80; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 88rem; margin: 2rem auto; padding: 0 1rem; }
h1 { line-height: 1.2; } h2 { margin-top: 2.5rem; border-top: 1px solid var(--line); padding-top: 1rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .45rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap;
  vertical-align: top; }
th { font-weight: 600; } th:first-child, td:first-child, .text td, .text th { text-align: left; }
.text td { white-space: normal; } tr.first td { border-top: 2px solid var(--line); }
.paper { color: var(--paper); display: block; font-size: .92em; } .good { color: var(--good); } .bad { color: var(--bad); }
.same { opacity: .45; } .small { display: block; font-size: .85em; opacity: .7; }
th.group { text-align: center; border-bottom: 2px solid var(--line); } img { max-width: 100%; background: white; }
.pair { display: flex; flex-wrap: wrap; gap: 1rem; }
.pair img { flex: 1 1 22rem; max-width: 38rem; min-width: 0; height: auto; object-fit: contain; }
code { background: var(--soft); padding: .1em .3em; border-radius: .2em; overflow-wrap: anywhere; }
"""


def page(results: Results, pictures: Path) -> str:
    """Write the whole page."""
    tested = [verdict for verdict in results.verdicts if verdict.cases]
    mark, word = ("good", "Every") if all(verdict.holds for verdict in tested) else ("bad", "Not every")
    parts = [
        "<h1>Counterfactual explanations for oblique decision trees, reproduced</h1>",
        f"<p>The experiments of {escape(published.CITATION)}, repeated by <code>{escape(results.runs[-1]['command'])}</code>. "
        'Numbers in <span class="paper" style="display: inline">this colour</span> are the paper\'s; every other number on '
        "this page was computed by this run. The trees were learned again and differ from the paper's, and so do distances: "
        "compare our distances with the true optimum and with the baselines on the same tree.</p>",
        "<h2>Results of the run</h2>",
        f'<p class="{mark}"><strong>{word} claim that was tested holds.</strong></p>',
        _verdicts(results.verdicts),
        _drawn_text(*results.drawn),
    ]
    if results.stand_in:
        parts.append(_STAND_IN_TEXT)
    if results.person is not None:
        parts += ["<h2>Table 1: one person, more and more constraints</h2>", _PERSON_TEXT, _person(results.person)]
    parts += [
        "<h2>Table 2: oblique trees (TAO)</h2>",
        _COMPARISON_TEXT,
        _OBLIQUE_TEXT,
        _comparison(results.comparisons[OBLIQUE], ("nearest",)),
    ]
    parts += ["<h2>Table 3: axis-aligned trees (CART)</h2>", _AXIS_TEXT]
    parts += [_comparison(results.comparisons[AXIS], ("tweaking", "nearest"))]
    parts += ["<h2>Table 6: errors of the trees</h2>", _ERRORS_TEXT, _errors(results.errors)]
    if results.digits is not None:
        parts += ["<h2>Counterfactual digits</h2>", _DIGITS_TEXT, _picture(pictures / "digits.png", "counterfactual digits")]
        parts.append(_digits(results.digits))
    parts += ["<h2>Figures 1 and 2: a tree and its plane</h2>", _PLANES_TEXT]
    for name, kind in (("figure1", "axis-aligned"), ("figure2", "oblique")):
        both = "".join(_picture(pictures / f"{name}-{side}.png", f"{kind} {side}") for side in ("tree", "plane"))
        parts.append(f'<div class="pair">{both}</div>')
    facts = [*results.settings.items(), *(fact for run in results.runs for fact in run.items())]
    parts += ["<h2>How it was run</h2>", _table(["", ""], [[name, value] for name, value in facts], "text")]
    title = "counterleaf: the paper reproduced"
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
    body = "\n".join(parts)
    return f'<!doctype html>\n<html lang="en"><head>{head}<style>{_STYLE}</style></head>\n<body>\n{body}\n</body></html>\n'


_STAND_IN_TEXT = (
    "<p>MNIST was not run (<code>--mnist FOLDER</code> or <code>--download</code> adds it). The 8 by 8 digits of "
    "scikit-learn replace it; the paper has no numbers for them.</p>"
)
_PERSON_TEXT = (
    "<p>The first row of Adult's test file, and the nearest row (l2) with an income above 50K: first without constraints, "
    "then with race, sex and native country locked, then with education, marital status and relationship locked as well. "
    'Here ages, gains and hours are whole numbers. "=" means unchanged.</p>'
)
_COMPARISON_TEXT = (
    "<p>Rows of each predicted class are drawn from the test part (and from the training part if there are too few), and "
    "for each row another class as target. Milliseconds are means of whole calls in one thread, including the confirmation "
    "by the model; a short call is repeated, and the least of three times counts (the referee runs once). As in the paper, "
    "l2 is the squared distance. Distances are given as mean ± deviation over the instances with an answer, and as median, "
    "because in raw units one rich person can dominate the mean. Adult and German Credit are measured in their raw units, "
    "where a change of category costs 2; the features of the other sets go from 0 to 1; all numbers are continuous. "
    "<em>Nearest row</em> searches the training and test rows that the tree assigns to the target; it has no answer if no "
    "such row satisfies the constraints. <em>Over ours</em> is the median ratio of its distance to ours on the same "
    "instances.</p>"
)
_OBLIQUE_TEXT = (
    "<p>The <em>referee</em> is the method of the paper on the same tree: a linear or quadratic (mixed-integer) program for "
    "every leaf of the target; <em>off by</em> is the largest relative difference between its optimum and our cost.</p>"
)
_AXIS_TEXT = (
    "<p>Columns as above. <em>Feature Tweaking</em> does not support constraints, and rounds categories to the largest of "
    "their 0/1 columns; the rounded row is not valid if the model does not confirm it. The <em>referee</em> is brute force: "
    "it clips the source to the box of every leaf of the target.</p>"
)
_ERRORS_TEXT = (
    "<p>Errors in %, on the split of the tables above; for sets without an official split, also the mean ± deviation of "
    "the test error over several random splits (the paper has one). TAO is limited to the paper's depth; CART is grown "
    "in full and pruned by held-out rows; the forest has scikit-learn's defaults. Depth is the depth of the learned tree; "
    "the settings are saved with the trees.</p>"
)
_DIGITS_TEXT = (
    "<p>For each pair of classes, a source image and the nearest image of the target under five distances, each next to "
    "its difference from the source (red: ink added, blue: ink erased; each scaled separately). Q has 1 on its diagonal and "
    "-1/4 between neighbouring pixels.</p>"
)
_PLANES_TEXT = (
    "<p>Trees over synthetic points in the plane: the tree with the paths of source and answer, and its leaves with the "
    "nearest point of every leaf of the target class.</p>"
)


def _drawn_text(instances: int, skipped: int) -> str:
    """The number of instances and of skipped pairs."""
    return (
        f"<p>{instances:,} instances were drawn. As in the paper, every question has an answer: {skipped:,} other pairs of a "
        "row and a target class were skipped, because the row cannot reach the target under the strictest constraints.</p>"
    )


def _verdicts(verdicts: list[Verdict]) -> str:
    """The verdicts as a table."""
    lines = []
    for verdict in verdicts:
        word = "holds" if verdict.holds else f"fails in {verdict.failed}"
        if not verdict.cases:
            word = "not tested"
        mark = f'<span class="{"" if not verdict.cases else "good" if verdict.holds else "bad"}">{word}</span>'
        lines.append([_Raw(mark), verdict.claim, f"{verdict.cases:,}", verdict.note])
    return _table(["", "claim", "cases", ""], lines, "text")


def _person(table: pd.DataFrame) -> str:
    """Table 1."""
    lines = []
    for _, line in table.iterrows():
        cells: list[Any] = [line["feature"], _text(line["source"])]
        for k in (1, 2, 3):
            ours, paper = _text(line[f"x{k}"]), _text(line[f"paper x{k}"])
            cells.append(_Raw(f'{_emphasis(ours)}<span class="paper">{escape(paper)}</span>'))
        lines.append(cells)
    return _table(["", "source", "no constraints", "some", "more"], lines, "text")


def _text(value: Any) -> str:
    """A cell of a table as text; empty for NaN."""
    return "" if isinstance(value, float) and math.isnan(value) else str(value)


def _emphasis(word: str) -> str:
    """Changes in bold, unchanged features faint."""
    return f'<span class="same">{word}</span>' if word in ("=", "locked") else f"<strong>{escape(word)}</strong>"


def _comparison(table: pd.DataFrame, baselines: tuple[str, ...]) -> str:
    """Table 2 or 3: our answers, the baselines and the referee next to each other."""
    groups = [("", 3), ("ours", 4), *((_NAMES[name], 4) for name in baselines), ("referee", 4)]
    heads = ["", "n", "% frozen", "ms", "l2", "ms", "l1", *(["ms", "l2", "% valid", "over ours"] * len(baselines))]
    heads += ["l2 ms", "off by", "l1 ms", "off by"]
    lines, marks, last = [], [], ""
    for _, line in table.iterrows():
        answered = _small(f"{line['feasible %']:.0f} % answered")
        cells: list[Any] = ["" if line["set"] == last else line["set"], _Raw(f"{line['instances']}{answered}")]
        cells.append(_both(f"{line['frozen %']:.0f}", line["paper frozen %"]))
        for norm in ("l2", "l1"):
            cells += [_both(_ms(line[f"{norm} ms"]), line[f"paper {norm} ms"]), _both(line[norm], line[f"paper {norm}"])]
            cells[-1] = _Raw(cells[-1] + _small(f"median {short(line[f'{norm} median'])}"))
        for name in baselines:
            for column, format_cell in (("ms", _ms), ("l2", _text), ("feasible %", _percent)):
                cells.append(_both(format_cell(line[f"{name} {column}"]) or "—", line.get(f"paper {name} {column}")))
            ratio = line[f"{name} over ours"]
            cells.append("—" if math.isnan(ratio) else short(ratio))
        for norm in ("l2", "l1"):
            name = _text(line[f"referee {norm}"]) if "tweaking" not in baselines else ""  # in table 3 it is always brute force
            cells += [_Raw(_ms(line[f"referee {norm} ms"]) + _small(name)), _gap(line[f"{norm} off by"])]
        lines.append(cells)
        marks.append("first" if line["set"] != last else "")
        last = line["set"]
    return _table(heads, lines, "", marks, groups)


def _errors(table: pd.DataFrame) -> str:
    """Table 6."""
    titles = {"cart": "CART", "tao": "TAO", "forest": "forest"}
    heads, lines = [""], []
    for name in titles:
        heads += ["train", "test", "all splits"] + (["depth", "leaves"] if name != "forest" else [])
    for _, line in table.iterrows():
        cells: list[Any] = [line["set"]]
        for name in titles:
            for part in ("train", "test"):
                cells.append(_both(f"{line[f'{name} {part}']:.1f}", line[f"paper {name} {part}"]))
            cells.append(_text(line.get(f"{name} test, all splits", "")) or "—")
            if name != "forest":
                cells += [_both(f"{line[f'{name} depth']:.0f}", line[f"paper {name} depth"]), f"{line[f'{name} leaves']:.0f}"]
        lines.append(cells)
    groups = [("", 1), *((title, 3 if name == "forest" else 5) for name, title in titles.items())]
    return _table(heads, lines, groups=groups)


def _digits(table: pd.DataFrame) -> str:
    """The distances of the figure of digits."""
    names = list(dict.fromkeys(table["distance"]))
    lines = []
    for (digit, target), of_pair in table.groupby(["source", "target"], sort=False):
        cells: list[Any] = [f"{digit} → {target}"]
        for name in names:
            answer = of_pair[of_pair["distance"] == name].iloc[0]
            none = "none, proved" if answer["proved"] else "none found"
            cost = none if math.isnan(answer["cost"]) else f"{answer['cost']:.3g}"
            cells += [_both(cost, answer["paper"]), _ms(answer["ms"])]
        lines.append(cells)
    return _table(["", *(["distance", "ms"] * len(names))], lines, groups=[("", 1), *((name, 2) for name in names)])


class _Raw(str):
    """A cell that already is HTML."""

    __slots__ = ()


def _both(ours: str, paper: Any) -> _Raw:
    """Our number above the paper's."""
    word = _text(paper) if not isinstance(paper, float) or math.isnan(paper) else f"{paper:g}"
    return _Raw(escape(ours) + (f'<span class="paper">{escape(word)}</span>' if word not in ("", "None") else ""))


def _small(word: str) -> str:
    """A remark in small letters."""
    return f'<span class="small">{escape(word)}</span>' if word else ""


def _ms(value: float) -> str:
    """Milliseconds in two digits."""
    return "—" if math.isnan(value) else f"{value:.2g}" if value < 10 else f"{value:.0f}"


def _percent(value: float) -> str:
    """A percentage without digits after the point."""
    return "—" if math.isnan(value) else f"{value:.0f}"


def _gap(value: float) -> str:
    """A relative difference in one digit."""
    return "—" if math.isnan(value) else "0" if value < 5e-16 else f"{value:.0e}"


def _table(
    heads: list[str],
    lines: list[list[Any]],
    kind: str = "",
    marks: list[str] | None = None,
    groups: list[tuple[str, int]] | None = None,
) -> str:
    """A table; ``groups`` are headings with the number of columns below each."""
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    if groups:
        over = "".join(f'<th colspan="{columns}" class="group">{escape(name)}</th>' for name, columns in groups)
        head = f"{over}</tr><tr>{head}"
    rows = []
    for line, mark in zip(lines, marks or [""] * len(lines), strict=True):
        cells = "".join(f"<td>{cell if isinstance(cell, _Raw) else escape(str(cell))}</td>" for cell in line)
        rows.append(f'<tr class="{mark}">{cells}</tr>')
    return f'<div class="wide"><table class="{kind}"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _picture(path: Path, description: str) -> str:
    """An image, embedded in the page."""
    return f'<img alt="{escape(description)}" src="data:image/png;base64,{base64.b64encode(path.read_bytes()).decode()}">'
