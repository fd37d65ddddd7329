"""Rebuild the trees that come along in src/counterleaf/samples, and the table of its README.

Learns one oblique tree on each of three data sets that come along with counterleaf or scikit-learn, and writes it with its
features and spreads as ``Explainer.to_json`` does. Takes less than a minute.

    python scripts/build_samples.py
"""

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

FILES = Path(__file__).resolve().parents[1] / "src/counterleaf/samples"

README = """# Trees that come along

Three decision trees as `Explainer.to_json` writes them: the tree over the table's own columns, the features (bounds as seen in
the training rows, whole numbers whole), and the spreads behind named weights. No row of any table is in them.
`scripts/build_samples.py` builds them and this page; `Explainer.from_json` reads them.

| file | learned from | licence of the data | how | leaves | columns per split | accuracy on test rows | commonest class |
| --- | --- | --- | --- | --- | --- | --- | --- |
{lines}
The trees are parts of counterleaf, BSD-3-Clause. They show what counterleaf answers; they are no model to decide about anybody.
Settings were chosen for small trees with few columns per split. German Credit's did best in cross-validation on its training
rows; Adult's were picked among nineteen whose accuracies on the test rows lay between 0.852 and 0.858, so that the figure
flatters it a little; Digits' are those of the main README.
"""


def table_pipeline(data, learner):
    """One-hot categories and standardised numbers before a learner."""
    words = list(data.select_dtypes(exclude="number").columns)
    numbers = [name for name in data.columns if name not in words]
    return make_pipeline(make_column_transformer((OneHotEncoder(), words), (StandardScaler(), numbers)), learner)


def german():
    """(pipeline, explainer, rows and labels to test on): is the credit granted?"""
    X_train, X_test, y_train, y_test = load_german_credit().split()
    words = {"good": "granted", "bad": "refused"}
    learner = cl.TAOClassifier(max_depth=3, alpha=25, n_restarts=3, random_state=0)
    model = table_pipeline(X_train, learner).fit(X_train, y_train.map(words))
    return model, cl.Explainer(model, data=X_train), X_test, y_test.map(words)


def adult():
    """The same: does a person earn above 50,000 dollars?"""
    X_train, X_test, y_train, y_test = load_adult().split()
    learner = cl.TAOClassifier(max_depth=6, alpha=60, ccp_alpha=0.0001, random_state=0)
    model = table_pipeline(X_train, learner).fit(X_train, y_train)
    return model, cl.Explainer(model, data=X_train), X_test, y_test


def digits():
    """The same: which digit is drawn? Grey levels may be any number from 0 to 16."""
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
    """Learn, write, read back, tell."""
    FILES.mkdir(exist_ok=True)
    lines = ""
    for name, (learn, origin, licence, how) in TREES.items():
        model, explainer, X_test, y_test = learn()
        text = explainer.to_json()
        tree = cl.Explainer.from_json(text).tree
        said = tree.predict(np.array([explainer.schema.encode(row) for _, row in X_test.iterrows()]))
        if not np.array_equal(said, model.predict(X_test)):
            raise SystemExit(f"{name}: the tree written does not say what the model says")
        file = f"{name}.json"
        (FILES / file).write_text(text)
        per_split = np.diff(tree.weights.indptr)[tree.left >= 0].mean()
        accuracy, common = (said == y_test).mean(), pd.Series(y_test).value_counts(normalize=True).max()
        cells = (f"`{file}`", origin, licence, how, len(tree.leaves), f"{per_split:.1f}", f"{accuracy:.3f}", f"{common:.3f}")
        lines += f"| {' | '.join(map(str, cells))} |\n"
        print(f"{file}: {len(text):,} bytes, {len(tree.leaves)} leaves, accuracy {accuracy:.4f}")
    (FILES / "README.md").write_text(README.format(lines=lines))


if __name__ == "__main__":
    main()
