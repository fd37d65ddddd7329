"""Count the files that one `explain` passes through, and the calls from one package to another.

    python bench/walk.py            print the counts for a tree of 12 leaves and a forest of 20 trees
    python bench/walk.py --files    print the files and the calls between packages too

Only a second call is counted, so that nothing is computed that later questions reuse. The files that every package may use
(errors, types and the like) count as files, and belong to no package.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import counterleaf as cl

HOME = Path(cl.__file__).parent
COMMON = ("errors.py", "exact.py", "packed_arrays.py", "sparse.py", "strict_json.py", "types.py")


def walk(explainer: Any, row: Any, target: Any) -> tuple[list[str], Counter[tuple[str, str]]]:
    """Return the files of counterleaf that an `explain` runs through in order, and its calls between packages."""
    files: dict[str, None] = {}
    calls: Counter[tuple[str, str]] = Counter()

    def note(frame: Any, event: str, _: Any) -> None:
        here = place(frame)
        if event != "call" or here is None:
            return
        files[here] = None
        caller = place(frame.f_back)
        if caller is not None and here not in COMMON and package(caller) != package(here):
            calls[f"{caller} {frame.f_back.f_code.co_name}", f"{here} {frame.f_code.co_name}"] += 1

    explainer.explain(row, target=target)
    sys.setprofile(note)
    explainer.explain(row, target=target)
    sys.setprofile(None)
    return list(files), calls


def place(frame: Any) -> str | None:
    """Return the file of a frame below the package; None for others."""
    path = Path(frame.f_code.co_filename)
    return path.relative_to(HOME).as_posix() if path.is_relative_to(HOME) else None


def package(file: str) -> str:
    """Return the package of a file."""
    return file.split("/")[0] if "/" in file else "."


def main() -> None:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", action="store_true")
    chosen = parser.parse_args()
    data = cl.datasets.load_breast_cancer()
    models = {
        "a tree of 12 leaves": DecisionTreeClassifier(max_leaf_nodes=12, random_state=0),
        "a forest of 20 trees": RandomForestClassifier(20, max_depth=5, random_state=0),
    }
    for name, model in models.items():
        model.fit(data.data, data.target)
        explainer = cl.Explainer(model, data=data.data)
        row = data.data.iloc[0]
        wanted = next(one for one in model.classes_ if one != model.predict(data.data[:1])[0])
        files, calls = walk(explainer, row, wanted)
        print(f"{name}: {len(files)} files, {calls.total()} calls between packages")
        if chosen.files:
            print(*(f"    {file}" for file in files), sep="\n")
            print(*(f"    {count} {a} -> {b}" for (a, b), count in calls.items()), sep="\n")


if __name__ == "__main__":
    main()
