"""Compare learners of trees on the same splits: test error, training error, size and seconds per fit, in one Markdown table.

Every learner gets the same columns, standardised with the training part (pixels keep one common scale). Settings are chosen
within the training part: by 5-fold cross-validation or, if there is an official test part, by one held-out fifth of the
training rows. Results are saved in results/ and reused, so that a long run can be stopped; --fresh computes all of them
again. The table also lists the test errors of the paper (its table 6, one split) and those of TAO in trials before this
estimator, whose settings were partly chosen by their test error. Machines are noisy: read seconds as orders of magnitude.
"""

import argparse
import functools
import hashlib
import importlib.metadata
import json
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from paper_sets import LONG, data_sets
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
from sklearn.tree import DecisionTreeClassifier

import counterleaf as cl
from counterleaf_experiments.benchmark.measurement import timed
from counterleaf_experiments.benchmark.tables import machine

RESULTS = Path(__file__).parent / "results" / "learners.jsonl"
COLUMNS = ("data set", "learner", "test error %", "training error %", "depth", "leaves", "non-zeros per split",
           "seconds per fit", "paper %", "earlier trials %")  # fmt: skip


class PrunedCART(ClassifierMixin, BaseEstimator):
    """The CART of the paper: a full tree, pruned by the cost complexity that cross-validation chooses."""

    def __init__(self, cv=5, candidates=30, random_state=None):
        self.cv, self.candidates, self.random_state = cv, candidates, random_state

    def fit(self, X, y):
        tree = DecisionTreeClassifier(random_state=self.random_state)
        steps = tree.cost_complexity_pruning_path(X, y).ccp_alphas
        steps = steps[steps > 0]  # rounding makes some slightly negative
        alphas = [0.0, *np.geomspace(steps.min(), steps.max(), self.candidates)] if len(steps) else [0.0]
        self.search_ = GridSearchCV(tree, {"ccp_alpha": alphas}, cv=self.cv, error_score="raise").fit(X, y)
        return self

    def predict(self, X):
        return self.search_.predict(X)


class YDFTree(ClassifierMixin, BaseEstimator):
    """YDF's single tree with sparse oblique splits, pruned on a tenth of the training rows, which is its default."""

    def __init__(self, max_depth, random_state=None):
        self.max_depth, self.random_state = max_depth, random_state

    def fit(self, X, y):
        import ydf

        ydf.verbose(0)
        learner = ydf.CartLearner(
            label="y",
            split_axis="SPARSE_OBLIQUE",
            max_depth=self.max_depth + 1,  # YDF counts the nodes on a path
            random_seed=self.random_state,
        )
        self.model_ = learner.train({"x": X.astype(np.float32), "y": y})
        return self

    def predict(self, X):
        return self.model_.predict_class({"x": X.astype(np.float32)}).astype(int)  # YDF names classes by strings


def tao(data, depth, seed, quick, **settings):
    """TAO at a fixed depth."""
    return cl.TAOClassifier(max_depth=depth, random_state=seed, **settings)


def tao_chosen(data, depth, seed, quick):
    """TAO with settings chosen by cross-validation."""
    return GridSearchCV(tao(data, depth, seed, quick), grid(data, quick), cv=folds(data, seed), n_jobs=2, error_score="raise")


def tao_axis(data, depth, seed, quick):
    """Axis-aligned TAO."""
    return tao(data, depth, seed, quick, init="cart", axis_aligned=True)


def grid(data, quick):
    """The settings of TAO that cross-validation compares."""
    return {name: values[:2] if quick else values for name, values in data.grid.items()}


def cart(data, depth, seed, quick):
    """CART, pruned."""
    return PrunedCART(folds(data, seed), 8 if quick else 30, seed)


def treeple(data, depth, seed, quick):
    """treeple's oblique tree."""
    from treeple.tree import ObliqueDecisionTreeClassifier

    return ObliqueDecisionTreeClassifier(max_depth=depth, random_state=seed)


def logistic(data, depth, seed, quick):
    """Logistic regression, its strength chosen on small sets."""
    model = LogisticRegression(max_iter=2000)
    return GridSearchCV(model, {"C": [0.01, 0.1, 1.0, 10.0]}, cv=folds(data, seed)) if data.small else model


def forest(data, depth, seed, quick):
    """A random forest with its defaults."""
    return RandomForestClassifier(random_state=seed)


def folds(data, seed):
    """Five folds for small sets, else one held-out fifth."""
    return 5 if data.small else StratifiedShuffleSplit(1, test_size=0.2, random_state=seed)


@dataclass(frozen=True)
class Learner:
    """A learner: ``make(data, depth, seed, quick)`` returns the model, ``paper`` is the name of the paper's number for it."""

    title: str
    package: str
    make: Callable
    paper: str | None = None

    @property
    def version(self):
        """The package and its version."""
        base = " on scikit-learn " + importlib.metadata.version("scikit-learn") if self.package == "treeple" else ""
        return f"{self.package} {importlib.metadata.version(self.package)}{base}"


LEARNERS = {
    "tao": Learner("TAO, depth {}", "counterleaf", tao, "tao"),
    "tao-chosen": Learner("TAO, chosen by cross-validation", "counterleaf", tao_chosen, "tao"),
    "tao-axis": Learner("TAO, axis-aligned, depth {}", "counterleaf", tao_axis),
    "cart": Learner("CART, pruned", "scikit-learn", cart, "cart"),
    "ydf": Learner("YDF, sparse oblique, depth {}", "ydf", lambda data, depth, seed, quick: YDFTree(depth, seed)),
    "treeple": Learner("treeple, oblique, depth {}", "treeple", treeple),
    "logistic": Learner("logistic regression", "scikit-learn", logistic),
    "forest": Learner("random forest", "scikit-learn", forest, "forest"),
}


def shape(model):
    """Depth, leaves and mean number of non-zero weights per split of a fitted tree; None for another model."""
    model = getattr(model, "search_", model)  # PrunedCART
    model = getattr(model, "best_estimator_", model)
    if isinstance(model, YDFTree):
        return ydf_shape(model.model_.get_tree(0).root)
    tree = getattr(model, "tree_", None)
    if tree is None:
        return None
    is_ours = isinstance(tree, cl.Tree)
    left, right = (tree.left, tree.right) if is_ours else (tree.children_left, tree.children_right)
    inner, level, depth = left >= 0, np.zeros(1, int), -1
    while len(level):
        depth, level = depth + 1, level[inner[level]]
        level = np.concatenate([left[level], right[level]])
    if is_ours:
        nonzeros = np.diff(tree.weights.indptr)
    elif hasattr(tree, "get_projection_matrix"):  # treeple
        nonzeros = np.count_nonzero(tree.get_projection_matrix(), axis=1)
    else:
        nonzeros = np.ones(len(left))
    return depth, int((~inner).sum()), float(nonzeros[inner].mean()) if inner.any() else 0.0


def ydf_shape(root):
    """Depth, leaves and mean number of columns per split of a tree of YDF."""
    level, depth, leaves, nonzeros = [root], -1, 0, []
    while level:
        inner = [node for node in level if not node.is_leaf]
        depth, leaves = depth + 1, leaves + len(level) - len(inner)
        nonzeros += [len(getattr(node.condition, "attributes", [0])) for node in inner]
        level = [child for node in inner for child in (node.pos_child, node.neg_child)]
    return depth, leaves, statistics.mean(nonzeros or [0])


def measure(model, X, y, X_test, y_test):
    """Fit a model and measure its errors, size and time."""
    few = np.concatenate([np.flatnonzero(y == label)[:8] for label in np.unique(y)])
    clone(model).fit(X[few], y[few])  # some learners initialise on their first call
    _, ms = timed(model.fit, X, y)
    search = getattr(model, "search_", model)
    train, test = (float(100 * np.mean(model.predict(A) != b)) for A, b in ((X, y), (X_test, y_test)))
    return {
        "test": test, "train": train, "shape": shape(model), "all_seconds": ms / 1e3,
        "seconds": getattr(search, "refit_time_", ms / 1e3), "chosen": getattr(search, "best_params_", {}),
    }  # fmt: skip


@functools.cache
def source():
    """The version and a checksum of the package's code, committed or not."""
    files = sorted(Path(cl.__file__).parent.rglob("*.py"))
    return f"{cl.__version__}-{hashlib.sha256(b''.join(file.read_bytes() for file in files)).hexdigest()[:12]}"


def results(data, parts, name, depth, quick, known):
    """Yield one result per split; compute and save the unknown ones."""
    learner = LEARNERS[name]
    for seed, *rows in parts:
        key = {"set": data.name, "learner": name, "seed": seed, "depth": depth, "quick": quick}
        if learner.package == "counterleaf":
            key |= {"source": source(), "grid": grid(data, quick) if name == "tao-chosen" else None}
        text = json.dumps(key, sort_keys=True)
        if text not in known:
            print(f"{data.name}, {learner.title.format(depth)}, seed {seed} ...", file=sys.stderr)
            known[text] = measure(learner.make(data, depth, seed, quick), *rows) | {"version": learner.version}
            RESULTS.parent.mkdir(exist_ok=True)
            with RESULTS.open("a") as file:
                file.write(json.dumps({"key": key, "result": known[text]}) + "\n")
        yield known[text]


def report(data, name, depth, found):
    """Print the line of a learner; ``found`` is its results, or a message."""
    learner = LEARNERS[name]
    cells = [data.name, learner.title.format(depth)]
    if isinstance(found, str):
        cells += [found] + [""] * 5
    else:
        sizes = [[each["shape"][k] for each in found] for k in range(3)] if found[0]["shape"] else []
        cells += [spread(found, "test"), spread(found, "train")]
        cells += [f"{statistics.mean(size):.1f}" for size in sizes] or [""] * 3
        seconds = statistics.mean(each["seconds"] for each in found)
        whole = statistics.mean(each["all_seconds"] for each in found)
        cells.append(f"{seconds:.2g} ({whole:.2g} with the choice)" if found[0]["chosen"] else f"{seconds:.2g}")
    papers = data.paper.get(learner.paper, "") if depth == data.depths[0] else ""
    cells += [str(papers), data.trials if learner.paper == "tao" else ""]
    print(f"| {' | '.join(cells)} |")


def spread(found, key):
    """Mean and deviation over the splits."""
    values = [each[key] for each in found]
    return f"{statistics.mean(values):.2f}" + (f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else "")


def main():
    """Parse the options and print the table."""
    sets, listed = data_sets(), lambda text: text.split(",")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=listed, help=f"of {', '.join(sets)}; by default all that do not take minutes per fit")
    parser.add_argument("--all", action="store_true", help="every set")
    parser.add_argument("--learners", type=listed, default=list(LEARNERS), help=f"of {', '.join(LEARNERS)}")
    parser.add_argument("--seeds", type=int, help="number of splits, or of seeds if the split is fixed")
    parser.add_argument("--quick", action="store_true", help="one or two seeds, small grids")
    parser.add_argument("--fresh", action="store_true", help="compute saved results again")
    options = parser.parse_args()
    names = options.sets or [name for name in sets if options.all or name not in LONG]
    if unknown := [*(set(names) - set(sets)), *(set(options.learners) - set(LEARNERS))]:
        parser.error(f"unknown: {', '.join(unknown)}; sets are {', '.join(sets)}, learners are {', '.join(LEARNERS)}")
    sys.stdout.reconfigure(line_buffering=True)  # show the lines of a long run as they come
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() and not options.fresh else []
    known = {json.dumps(each["key"], sort_keys=True): each["result"] for each in map(json.loads, lines)}
    versions = set()
    print(f"| {' | '.join(COLUMNS)} |\n|{' --- |' * len(COLUMNS)}")
    for data in (sets[name] for name in names):
        parts = list(data.parts(options.seeds or (min(2, data.seeds) if options.quick else data.seeds)))
        for name in options.learners:
            for depth in data.depths if name in ("tao", "tao-axis") else data.depths[:1]:
                try:
                    found = list(results(data, parts, name, depth, options.quick, known))
                    versions |= {each["version"] for each in found}
                except ImportError:
                    found = "not installed"
                except Exception as error:  # the table reports it, and the run continues
                    found = f"fails: {error!r:.90}"
                report(data, name, depth, found)
    print(f"\n{machine(('counterleaf', 'scikit-learn'))}; results made with {', '.join(sorted(versions))}")


if __name__ == "__main__":
    main()
