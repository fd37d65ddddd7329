"""Read files that were changed at random: ``python -m support.mutate_files --count 1000000 --seed 1`` in tests/.

Reading and using a file ends in a result or in one line of a ``CounterleafError``: no other error, no crash, no long wait, and
no more memory than a small file needs. A file is identified by its kind, the seed and its number: ``--start`` continues an
earlier run, and ``--start N --count 1`` repeats one file. The work runs in separate processes, so that a crash is a finding
like any other.
"""

import argparse
import collections
import faulthandler
import multiprocessing
import os
import resource
import signal
import sys
import time
import traceback
import warnings

from support.hostile_cases import KINDS, honest, hostile

import counterleaf as cl
from counterleaf.model.ensembles.ensemble import Ensemble

STRETCH = 2_000  # files of one process
SECONDS = 5.0  # of the processor, for a file of a few kilobytes
HANG = 60  # seconds after which a process is given up
MEGABYTES = 150  # more memory than before
ADDRESSES = 2**31  # bytes that a process may take
LONGEST = 2_000  # characters of an error's line


class Finding(Exception):  # noqa: N818  # it is not the library's error
    """An outcome that no file should have."""


def outcome(kind, text):
    """The outcome for a file: "refused", "read", or "holds" for an answer whose proof holds."""
    try:
        readers = {"tree": _tree, "explainer": _explainer, "ensemble": _ensemble, "ensemble_explainer": _explainer}
        read = readers.get(kind, _answer)
        return read(text)
    except cl.CounterleafError as error:
        line = str(error)
        if "\n" in line or "\r" in line or len(line) > LONGEST or not line:
            raise Finding(f"an error of {len(line)} characters in {line.count(chr(10)) + 1} lines: {line[:200]!r}") from None
        if "MemoryError" in line or "allocate" in line:
            raise Finding(f"requested too much memory: {line[:200]}") from None
        line.encode()
        return "refused"


def _tree(text):
    tree = cl.Tree.from_json(text)
    str(tree.classes.tolist()).encode()
    if tree.n_features > 10_000:
        return "read"
    tree.predict([[0.5] * tree.n_features])
    _explain_typical(cl.Explainer(tree))
    return "read"


def _ensemble(text):
    ensemble = Ensemble.from_json(text)
    if ensemble.n_features > 10_000:
        return "read"
    ensemble.predict([[0.5] * ensemble.n_features])
    if ensemble.to_json() != Ensemble.from_json(ensemble.to_json()).to_json():
        raise Finding("an ensemble that changes when it is read and written")
    return "read"


def _explainer(text):
    explainer = cl.Explainer.from_json(text)
    if explainer.to_json() != cl.Explainer.from_json(explainer.to_json()).to_json():
        raise Finding("an explainer that changes when it is read and written")
    repr(explainer).encode()
    str(explainer.schema).encode()
    _explain_typical(explainer)
    return "read"


def _explain_typical(explainer):
    row = [_typical(feature) for feature in explainer.schema]
    row = dict(zip(explainer.schema.names, row, strict=True))
    if explainer.schema.columns:
        row = {name: row.get(name, 0.0) for name in explainer.schema.columns}
    answer = explainer.explain(row, max_nodes=200, time_limit=1.0)
    str(answer).encode()
    answer.certificate.check()


def _typical(feature):
    if not isinstance(feature, cl.Numeric):
        return feature.values[0]
    value = min(max(1.0, feature.lower), feature.upper)
    return float(int(value)) if feature.integer else value


def _answer(text):
    answer = cl.Explanation.from_json(text)
    holds = answer.certificate.check()
    for text in (str(answer), repr(answer), answer._repr_html_(), answer.to_json()):
        text.encode()
    for one in answer:
        repr(one).encode()
    return "holds" if holds else "read"


def strike(kind, name):
    """Read one file; raises a ``Finding`` if its outcome is one that no file should have."""
    text = hostile(kind, name)
    start, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = outcome(kind, text)
    spent, grown = time.process_time() - start, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    if spent > SECONDS:
        raise Finding(f"{spent:.1f} seconds for {len(text):,} characters")
    if grown > MEGABYTES:
        raise Finding(f"{grown:.0f} MB for {len(text):,} characters")
    return found


def _work(kind, seed, numbers, at, pipe):
    """Read a stretch of files; ``at`` is the number of the current one, in case the process ends."""
    faulthandler.enable()
    warnings.simplefilter("error")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (_addresses() + ADDRESSES,) * 2)
    counts, findings = collections.Counter(), []
    for number in numbers:
        at.value = number
        faulthandler.dump_traceback_later(HANG, exit=True)
        try:
            counts[f"{kind} {strike(kind, f'{seed} {number}')}"] += 1
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            where = "" if isinstance(error, Finding) else f" at {os.path.basename(last.filename)}:{last.lineno}"
            findings.append((number, f"{type(error).__name__}{where}: {' '.join(str(error).split())[:300]}"))
            counts[f"{kind} FAILED"] += 1
    faulthandler.cancel_dump_traceback_later()
    pipe.send((counts, findings))


def _addresses():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def run(kind, seed, start, count):
    """Read all files of a kind in turn; returns the number of each outcome, and the findings."""
    honest()
    context = multiprocessing.get_context("fork")
    counts, findings, at = collections.Counter(), [], context.Value("q", start)
    first, end = start, start + count
    while first < end:
        stop = min(first + STRETCH, end)
        ours, theirs = context.Pipe(False)
        worker = context.Process(target=_work, args=(kind, seed, range(first, stop), at, theirs))
        worker.start()
        theirs.close()
        try:
            more, found = ours.recv()
            counts.update(more)
        except EOFError:  # the process is gone, and what it had counted with it
            worker.join()
            found = [(at.value, f"the process ended with code {worker.exitcode}")]
            stop = at.value + 1
            counts[f"{kind} CRASHED"] += 1
        worker.join()
        for number, finding in found:
            print(f"{kind} file {number} of seed {seed}: {finding}")
        findings += found
        first = stop
    return counts, findings


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000, help="files of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--kinds", default=",".join(KINDS), help=f"some of {','.join(KINDS)}")
    parser.add_argument("--show", action="store_true", help="print the texts instead of reading them")
    options = parser.parse_args()
    kinds = options.kinds.split(",")
    if options.show:
        for kind in kinds:
            for number in range(options.start, options.start + options.count):
                print(hostile(kind, f"{options.seed} {number}"))
        return 0
    begun, counts, findings = time.perf_counter(), collections.Counter(), []
    for kind in kinds:
        more, found = run(kind, options.seed, options.start, options.count)
        counts.update(more)
        findings += found
    print(f"{options.count:,} files of seed {options.seed} from {options.start}, {time.perf_counter() - begun:.0f} s:")
    for name, count in sorted(counts.items()):
        print(f"  {name:20} {count:,}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
