"""The user's model confirms every answer: scikit-learn trees on real data at every scale."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

import counterleaf as cl
from counterleaf.table.files import exact_numbers

SETS = {"breast": load_breast_cancer, "wine": load_wine, "digits": load_digits}


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1.0, 1e3, 1e6, None])
def test_every_answer_is_confirmed_and_none_undercuts_its_bound(name, scale):
    X, y = SETS[name](return_X_y=True, as_frame=True)
    rng = np.random.default_rng(0)
    factors = 10.0 ** rng.uniform(-6, 6, X.shape[1]) if scale is None else scale
    X = X * factors + factors * rng.normal(size=X.shape[1])
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    explainer = cl.Explainer(model, data=X)
    for i in range(0, len(X), len(X) // 12):
        row = X.iloc[i]
        answer = explainer.explain(row, count=2, cost=cl.L1("std"))
        assert answer.status == "optimal"
        assert all(c.confirmed for c in answer)
        assert answer[0].cost == answer[0].lower_bound
        assert answer.certificate.check()
        written = answer.to_frame().drop(columns=["cost", "lower_bound", "label", "leaf", "confirmed"]).iloc[1:]
        read_back = pd.read_csv(io.StringIO(written.to_csv(index=False)), **exact_numbers())
        parsed = pd.DataFrame([c["row"] for c in json.loads(answer.to_json())["counterfactuals"]])
        for table in (written, read_back, parsed):
            assert model.predict(table.astype(float)).tolist() == [c.label for c in answer]
        undercut(model, answer[0], row, X)


def undercut(model, best, row, X):
    """No row one float closer to the source, and none of many between source and answer, is cheaper and confirmed."""
    spread = X.std().where(lambda s: s > 0, X.max() - X.min()).where(lambda s: s > 0, 1.0)
    rng = np.random.default_rng(1)
    tries = []
    for name, (old, new) in best.changes.items():
        closer = best.row.copy()
        closer[name] = np.nextafter(new, old)
        tries.append(closer)
    for _ in range(60):
        tries.append(row + (best.row - row) * rng.uniform(0, 1, len(row)))
    table = pd.DataFrame(tries)
    confirmed = table[model.predict(table) == best.label]
    costs = ((confirmed - row).abs() / spread).sum(axis=1)
    assert (costs >= best.lower_bound * (1 - 1e-12)).all()


def test_extra_trees_and_rows_of_any_type_agree():
    X, y = load_wine(return_X_y=True, as_frame=True)
    model = ExtraTreeClassifier(random_state=3).fit(X, y)
    explainer = cl.Explainer(model, data=X)
    series = X.iloc[5]
    rows = [series, series.to_dict(), X.iloc[[5]], series.to_numpy(), series.tolist()]
    answers = [explainer.explain(row, target=1)[0] for row in rows]
    assert [type(a.row) for a in answers] == [type(row) for row in rows]
    assert len({a.cost for a in answers}) == 1
    assert all(a.changes == answers[0].changes for a in answers)
    assert all(a.confirmed for a in answers)


def test_a_model_that_disagrees_is_reported():
    class Stubborn(DecisionTreeClassifier):
        def predict(self, X):
            return np.zeros(len(X), int)

    X, y = load_wine(return_X_y=True)
    answer = cl.Explainer(Stubborn(random_state=0).fit(X, y)).explain(X[0], target=2)
    assert not answer[0].confirmed
    assert "NOT confirmed" in str(answer)
