"""A report on the folder of an audit: the answers are read from its parts, groups and old values from its inputs.

Both are read once, a part at a time. Of each row, 13 bytes are kept and 2 for each column of groups (8, until the end, for a
column of numbers without bounds). The columns that the audit kept are read from the parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from counterleaf.audit.checking.sample import read_sample
from counterleaf.audit.files import place
from counterleaf.audit.finished import read_part
from counterleaf.audit.folder import Folder, open_folder
from counterleaf.audit.inputs import PARQUET
from counterleaf.audit.manifest import Manifest, read_explainer, read_manifest
from counterleaf.audit.measures.searches import ModelQuestion
from counterleaf.audit.parts import Task
from counterleaf.audit.plan import TOGETHER, Part
from counterleaf.audit.reading.source import batches, read
from counterleaf.audit.report.cases import Cases, Collector, Values, block, missing_in, stated
from counterleaf.audit.report.figures import Figures, SearchedColumn, assemble, read_search, read_settings
from counterleaf.audit.report.groups import GroupColumn, read_by
from counterleaf.audit.report.provenance import provenance
from counterleaf.errors import CounterleafError
from counterleaf.question.words import classes_of
from counterleaf.table.arrow.output import NEW
from counterleaf.table.arrow.rows import in_pandas
from counterleaf.table.features import Feature, Numeric
from counterleaf.table.frames import Frame, concat, make_frame, take
from counterleaf.table.rows import TableRows
from counterleaf.table.schema import Schema
from counterleaf.types import Array

_ANSWERS = ("status", "cost", "source_label", "confirmed", "problem")
_APART = "; "  # between the names of removed features


@dataclass(frozen=True, slots=True, eq=False)
class _Audited:
    """A folder with its manifest, what made its parts, and those that are there."""

    folder: Folder
    manifest: Manifest
    task: Task
    parts: tuple[Part, ...]

    @classmethod
    def open(cls, path: Any, partial: bool) -> _Audited:
        folder = open_folder(path)
        manifest = read_manifest(folder)
        there = [part for part in manifest.plan.parts if folder.part(part.number).exists()]
        missing = len(manifest.plan.parts) - len(there)
        if missing and not (partial and there):
            rows = manifest.plan.rows - sum(part.span.rows for part in there)
            rest = ", or pass --partial to report on the others" if there else ""
            raise CounterleafError(
                f"{path} is not finished: {rows:,} of {manifest.plan.rows:,} rows are missing; run the audit again to finish "
                f"it{rest}"
            )
        step = read_explainer(folder, manifest).arrow(**manifest.arguments, words=manifest.settings.words)
        plan, proofs = manifest.plan, manifest.settings.proofs
        task = Task(str(folder.path), manifest.run, step, plan.inputs, plan.forms, proofs, manifest.settings.keep)
        return cls(folder, manifest, task, tuple(there))

    @property
    def rows(self) -> int:
        """The number of rows of the parts that are complete."""
        return sum(part.span.rows for part in self.parts)

    def columns(self) -> list[str]:
        """Return the names of the columns that groups may have."""
        first, *others = (form.columns for form in self.manifest.plan.forms)
        return [name for name in first if all(name in columns for columns in others)]

    def answers(self, part: Part, names: Sequence[str]) -> Frame:
        """Return some columns of the answers of a part, whose file is intact."""
        return _frame(read_part(self.folder, part, self.task).select(list(dict.fromkeys(names))))

    def inputs(self, schema: Schema, names: Sequence[str]) -> Iterator[tuple[Part, Frame]]:
        """Yield the parts in order with some columns of their inputs, which must not have changed."""
        plan, features = self.manifest.plan, {feature.name: feature for feature in schema}
        wanted: dict[str, Feature | None] = {name: features.get(name) for name in names}
        for source in plan.inputs:
            source.check()
        for unit in plan.units({part.number for part in self.parts}, TOGETHER):
            file = unit.parts[0].file
            source, form, by_row = plan.inputs[file], plan.forms[file], {part.span.row: part for part in unit.parts}
            for span, content in read(source, [part.span for part in unit.parts], list(wanted)):
                found = [batch for batch, _ in batches(source, form, span, content, wanted)]
                yield by_row[span.row], _frame(pa.Table.from_batches(found).select(list(wanted)))

    def checked(self) -> str:
        """Return in words how many proofs were checked again."""
        if self.manifest.settings.proofs:
            return "All proofs are kept with the audit. None was checked again for this report; counterleaf verify does so."
        found = read_sample(self.folder, self.manifest)
        if found is None:
            return "No proof was checked again."
        rows = f"A random sample of {len(found.rows):,} rows was explained again and checked by the independent checker: "
        if found.failures:
            return f"{rows}{len(found.failures):,} of them FAILED."
        return f"{rows}all proofs hold and agree with the audit."


def _frame(table: Any) -> Frame:
    """Return columns of pyarrow as a pandas frame in which text is categorical, so that each value is made once."""
    texts = [k for k, kind in enumerate(table.schema.types) if pa.types.is_string(kind) or pa.types.is_large_string(kind)]
    for k in texts:
        table = table.set_column(k, table.schema.names[k], table.column(k).dictionary_encode())
    return in_pandas(table, "a column of the report")


def figures_of_folder(path: Any, by: Any, partial: bool, options: Mapping[str, Any]) -> Figures:
    """Return the figures of the report on a folder."""
    audited = _Audited.open(path, partial)
    settings, names = read_settings(options), audited.columns()
    chosen = read_by(by, names, "the input")
    searched = read_search(options.get("search", False), names, chosen)
    explainer = audited.task.step.explainer
    question = ModelQuestion(explainer, audited.task.step.question, settings)
    cases = _cases(audited, question, settings.seed)
    sampled = question.samples(cases)
    text = audited.manifest.plan.inputs[0].kind != PARQUET  # cells of text files have no types
    grouped, others = [GroupColumn(one, text=text) for one in chosen], [SearchedColumn(name, text=text) for name in searched]
    rows, missing = _read_inputs(audited, explainer.schema, cases, [*grouped, *others], sampled)
    position = {int(row): k for k, row in enumerate(sampled.tolist())}

    def rows_at(places: Array) -> TableRows:
        return TableRows(take(rows, [position[row] for row in places.tolist()]), explainer.schema)

    notes = []
    if audited.rows < audited.manifest.plan.rows:
        absent = audited.manifest.plan.rows - audited.rows
        notes.append(
            f"The audit is not finished: {absent:,} of {audited.manifest.plan.rows:,} rows are missing in this report."
        )
    files = tuple((place(one.path).name, one.fingerprint) for one in audited.manifest.plan.inputs)
    source = provenance(question, _origin(audited), audited.checked(), files, audited.manifest.model)
    return assemble(question, cases, grouped, others, rows_at, source, missing, notes)


def _origin(audited: _Audited) -> str:
    manifest, n = audited.manifest, len(audited.manifest.plan.inputs)
    versions = ", ".join(f"{name} {version}" for name, version in manifest.versions.items())
    files = f"{n:,} {'file' if n == 1 else 'files'}"
    return f"{audited.rows:,} rows of {files}; audited {manifest.created} with {versions}; run {manifest.run}"


def _cases(audited: _Audited, question: ModelQuestion, seed: int) -> Cases:
    """Read the answers; the old values of the changes are filled in later."""
    schema, collector = question.explainer.schema, Collector(seed)
    encoder = TableRows(make_frame([], schema.names), schema)
    removal = ["removed"] if any(feature.missing == "allowed" for feature in schema) else []
    names = [*_ANSWERS, *removal, *map(NEW.format, schema.names)]
    for part in audited.parts:
        table = audited.answers(part, names)
        changes = {}
        for d, name in enumerate(schema.names):
            column = table[NEW.format(name)]
            lines = np.flatnonzero(column.notna().to_numpy())
            if len(lines):
                changes[d] = Values(lines, np.zeros(len(lines)), encoder.column_codes(schema.features[d], take(column, lines)))
        if removal:
            _add_removed(changes, table["removed"], schema.names)
        collector.add(block(table, changes, _comparable(question.question.target, table["source_label"])))
    return collector.cases()


def _comparable(target: Any, labels: Any) -> Any:
    """Return the target with classes as text if the labels are text."""
    if target is None or hasattr(target, "interval") or not hasattr(labels, "cat"):
        return target
    return [str(one) for one in classes_of(target)]


def _add_removed(changes: dict[int, Values], column: Any, names: Sequence[str]) -> None:
    """Add the numbers that become missing."""
    removed: dict[int, list[int]] = {}
    lines = np.flatnonzero(column.notna().to_numpy())
    for line, text in zip(lines.tolist(), take(column, lines).tolist(), strict=True):
        name = ""
        for piece in text.split(_APART):  # a name may hold the separator
            name = f"{name}{_APART}{piece}" if name else piece
            if name in names:
                removed.setdefault(names.index(name), []).append(line)
                name = ""
    for d, rows in removed.items():
        known = changes.get(d, Values(np.zeros(0, np.int64), np.zeros(0), np.zeros(0)))
        both = np.concatenate([known.rows, rows])
        new = np.concatenate([known.new, np.full(len(rows), np.nan)])
        order = np.argsort(both)
        changes[d] = Values(both[order], np.zeros(len(both)), new[order])


def _read_inputs(
    audited: _Audited, schema: Schema, cases: Cases, columns: Sequence[GroupColumn | SearchedColumn], sampled: Array
) -> tuple[Frame, Counter[str]]:
    """Collect the groups, fill in the old values of the changes, and return the sampled rows and the missing values."""
    needed, kept = list(dict.fromkeys([*(one.name for one in columns), *schema.names])), audited.manifest.settings.keep
    from_parts, wanted = [name for name in needed if name in kept], [name for name in needed if name not in kept]
    encoder, start, rows = TableRows(make_frame([], schema.names), schema), 0, []
    missing: Counter[str] = Counter()
    source: Any = audited.inputs(schema, wanted) if wanted else ((part, None) for part in audited.parts)
    for expected, (part, found) in zip(audited.parts, source, strict=True):
        assert part is expected  # the positions of the rows follow from the order of the parts
        table: Any = found
        if from_parts:
            more = audited.answers(part, from_parts)
            table = more if found is None else found.assign(**{name: more[name] for name in from_parts})
        for one in columns:
            one.add(table[one.name])
        missing.update({name: int(missing_in(table[name]).sum()) for name in schema.names})
        for d, values in cases.values.items():
            first, last = np.searchsorted(values.rows, (start, start + part.span.rows))
            if last > first:
                old = take(table[schema.names[d]], values.rows[first:last] - start)
                values.old[first:last] = stated(encoder, schema.features[d], old)
        low, high = np.searchsorted(sampled, (start, start + part.span.rows))
        if high > low:
            rows.append(take(table[schema.names], sampled[low:high] - start))
        start += part.span.rows
    kinds = {one.name: "float64" if isinstance(one, Numeric) else object for one in schema}  # the same in every part
    return concat([one.astype(kinds) for one in rows]) if rows else make_frame([], schema.names), missing
