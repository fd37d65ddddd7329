"""Rebuild the sample models in src/counterleaf/datasets/models, and the table of its README.

Learns one oblique tree on each of three data sets bundled with counterleaf or scikit-learn, and writes its explainer with
``Explainer.to_json``. Takes less than a minute.

    python scripts/build_samples.py
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import counterleaf as cl
from counterleaf.datasets import load_adult, load_german_credit
from counterleaf.datasets.words import ADULT, GERMAN
from counterleaf.table.rows import TableRows
from counterleaf.table.words import with_words

FILES = Path(__file__).resolve().parents[1] / "src/counterleaf/datasets/models"

README = """# Sample models

Three explainers written by `Explainer.to_json`: the tree over the columns of the table, the features (with the bounds observed
in the training rows; labels, units and descriptions after the documentation of the data), and the spreads used by named
weights. They contain no rows of the tables.
`scripts/build_samples.py` builds them and this page; `Explainer.from_json` reads them.

| file | learned from | licence of the data | how | leaves | columns per split | accuracy on test rows | commonest class |
| --- | --- | --- | --- | --- | --- | --- | --- |
{lines}
The trees are part of counterleaf (BSD-3-Clause). They demonstrate counterleaf; do not use them to decide about people.
The settings were chosen for small trees with few columns per split. Those of German Credit did best in cross-validation on its
training rows. Those of Adult were selected from nineteen settings with accuracies between 0.852 and 0.858 on the test rows, so
its accuracy is slightly optimistic. Those of Digits are the ones in `docs/learning.md`.
"""


def table_pipeline(data, learner):
    """A pipeline of one-hot categories, standardised numbers and a learner."""
    categories = list(data.select_dtypes(exclude="number").columns)
    numbers = [name for name in data.columns if name not in categories]
    return make_pipeline(make_column_transformer((OneHotEncoder(), categories), (StandardScaler(), numbers)), learner)


def described(explainer, words):
    """The same explainer with labels, units and descriptions of its features."""
    return explainer.with_features(*(with_words(feature, words[feature.name]) for feature in explainer.schema))


def with_shares(explainer, rows, labels):
    """The explainer of a tree whose leaves have probabilities: the shares of the classes among the training rows.

    They are those of scikit-learn's trees. Every leaf has the class of the largest share.
    """
    tree, schema = explainer.tree, explainer.schema
    leaves = tree.apply(schema.spread(TableRows(rows, schema).codes(slice(None))))
    counts = np.stack([np.bincount(leaves[labels == label], minlength=tree.n_nodes) for label in tree.classes], axis=1)
    made = replace(tree, outputs=cl.Outputs("probability", counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)))
    adapter = replace(explainer.adapter, model=made, tree=made)
    explainer.__setstate__({"adapter": adapter, "spreads": explainer.spreads, "counts": counts.sum(axis=1)})
    return explainer


def german():
    """Pipeline, explainer, test rows and test labels for the question whether a credit is granted."""
    X_train, X_test, y_train, y_test = load_german_credit().split()
    decision = {"good": "granted", "bad": "refused"}
    learner = cl.TAOClassifier(max_depth=3, alpha=25, n_restarts=3, random_state=0)
    model = table_pipeline(X_train, learner).fit(X_train, y_train.map(decision))
    explainer = with_shares(cl.Explainer.from_json(cl.Explainer(model, data=X_train).to_json()), X_train, y_train.map(decision))
    return model, described(explainer, GERMAN), X_test, y_test.map(decision)


def adult():
    """The same for the question whether a person earns more than 50,000 dollars."""
    X_train, X_test, y_train, y_test = load_adult().split()
    learner = cl.TAOClassifier(max_depth=6, alpha=60, ccp_alpha=0.0001, random_state=0)
    model = table_pipeline(X_train, learner).fit(X_train, y_train)
    explainer = with_shares(cl.Explainer.from_json(cl.Explainer(model, data=X_train).to_json()), X_train, y_train)
    return model, described(explainer, ADULT), X_test, y_test


def digits():
    """The same for the question which digit an image shows; grey levels are numbers from 0 to 16."""
    pixels, labels = load_digits(return_X_y=True)
    names = [f"p{row}_{column}" for row in range(8) for column in range(8)]
    X_train, X_test, y_train, y_test = train_test_split(pd.DataFrame(pixels, columns=names), labels, random_state=0)
    model = cl.TAOClassifier(max_depth=7, random_state=0).fit(X_train, y_train)
    schema = cl.Schema([cl.Numeric(name, 0, 16) for name in names])
    return model, cl.Explainer(model, data=X_train, schema=schema), X_test, y_test


TREES = {
    "german": (
        german,
        "Statlog (German Credit Data), Hofmann, H. (1994), [doi:10.24432/C5NC77](https://doi.org/10.24432/C5NC77); classes "
        'renamed, good to "granted", bad to "refused"',
        "CC BY 4.0",
        "four in five rows of each class; `OneHotEncoder`, `StandardScaler`, "
        "`TAOClassifier(max_depth=3, alpha=25, n_restarts=3)`",
    ),
    "adult": (
        adult,
        "Adult (Census Income), Becker, B. and Kohavi, R. (1996), [doi:10.24432/C5XW20](https://doi.org/10.24432/C5XW20); "
        "complete rows, without census weight and years of education",
        "CC BY 4.0",
        "the 30,162 training rows; `OneHotEncoder`, `StandardScaler`, `TAOClassifier(max_depth=6, alpha=60, ccp_alpha=0.0001)`",
    ),
    "digits": (
        digits,
        "scikit-learn's `load_digits`: the test part of Optical Recognition of Handwritten Digits, Alpaydin, E. and Kaynak, C. "
        "(1998), [doi:10.24432/C50P49](https://doi.org/10.24432/C50P49)",
        "CC BY 4.0",
        "three in four rows; `TAOClassifier(max_depth=7)` on the 64 grey levels",
    ),
}


def main():
    """Learn the trees, write them, read them back and print a summary."""
    FILES.mkdir(exist_ok=True)
    lines = ""
    for name, (learn, origin, licence, how) in TREES.items():
        model, explainer, X_test, y_test = learn()
        text = explainer.to_json()
        tree = cl.Explainer.from_json(text).tree
        predicted = tree.predict(np.array([explainer.schema.encode(row) for _, row in X_test.iterrows()]))
        if not np.array_equal(predicted, model.predict(X_test)):
            raise SystemExit(f"{name}: the saved tree and the model predict different labels")
        file = f"{name}.json"
        (FILES / file).write_text(text)
        per_split = np.diff(tree.weights.indptr)[tree.left >= 0].mean()
        accuracy, common = (predicted == y_test).mean(), pd.Series(y_test).value_counts(normalize=True).max()
        cells = (f"`{file}`", origin, licence, how, len(tree.leaves), f"{per_split:.1f}", f"{accuracy:.3f}", f"{common:.3f}")
        lines += f"| {' | '.join(map(str, cells))} |\n"
        print(f"{file}: {len(text):,} bytes, {len(tree.leaves)} leaves, accuracy {accuracy:.4f}")
    (FILES / "README.md").write_text(README.format(lines=lines))


if __name__ == "__main__":
    main()
