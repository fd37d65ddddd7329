"""
Costs: one row under many of them
=================================

The cost defines which changes are small. This page explains the same wine with the same tree and the same target, a Barolo,
under one cost after another, and says when to choose which.
"""

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import counterleaf as cl

X, y = load_wine(return_X_y=True, as_frame=True)
X = X[["alcohol", "alcalinity_of_ash", "flavanoids", "color_intensity", "proline"]]
y = y.map({0: "Barolo", 1: "Grignolino", 2: "Barbera"})
model = make_pipeline(StandardScaler(), cl.TAOClassifier(max_depth=3, random_state=0)).fit(X, y)
explainer = cl.Explainer(model, data=X)
row = X.iloc[100]
print(
    f"{model.score(X, y):.1%} right; the model says {model.predict(X.iloc[[100]])[0]} for this wine"
)


def compare(costs, target="Barolo"):
    """Return the row and the cheapest row under each cost, side by side; unchanged values are blank."""
    table = {"source": row}
    for name, cost in costs.items():
        best = explainer.explain(row, target=target, cost=cost)[0]
        assert best.confirmed
        table[name] = pd.Series({feature: new for feature, (_, new) in best.changes.items()})
    return (
        pd.DataFrame(table)
        .reindex(X.columns)
        .map(lambda value: "" if pd.isna(value) else f"{value:.5g}")
    )


# %%
# L1, L2 and both
# ---------------
#
# ``L1`` adds up the changes: few features change, each as far as necessary, so the answer is easy to describe. ``L2`` adds up
# their squares: every feature that helps changes a little. The sum of both is a compromise: few features, none by too much.
# With ``"range"`` each change counts as a share of the feature's range in the data; ``L1("range")`` is the default.

compare({"L1": cl.L1("range"), "L2": cl.L2("range"), "both": cl.L1("range") + 2 * cl.L2("range")})

# %%
# A picture of the answer under both, with the contribution of each change to the cost:

both = explainer.explain(row, target="Barolo", cost=cl.L1("range") + 2 * cl.L2("range"))
both.plot()

# %%
# Units: range, std, mad
# ----------------------
#
# Without a spread, a change of 1 costs 1 in every feature: a per cent of alcohol costs as much as a milligram of proline,
# which then hardly changes, although a milligram is very little. ``"range"`` is easy to explain, but an outlier stretches it.
# ``"std"`` is the usual measure; ``"mad"``, the median distance from the median, ignores outliers.

compare({"none": cl.L2(), "range": cl.L2("range"), "std": cl.L2("std"), "mad": cl.L2("mad")})

# %%
# "That is hard for me": multiplier
# ---------------------------------
#
# On top of any weights, ``multiplier`` scales the cost of a feature. 0 makes its changes free; ``freeze`` makes them
# impossible.

hard, free = (
    cl.L2("range", multiplier={"proline": 10}),
    cl.L2("range", multiplier={"color_intensity": 0}),
)
compare({"L2": cl.L2("range"), "proline x 10": hard, "free colour": free})

# %%
# Different costs for up and down
# -------------------------------
#
# ``up`` and ``down`` replace the weights if an increase is easier than a decrease, or the reverse. Numbers are used as weights
# without scaling, so for ``L2`` four times ``"range"`` is 4 over the *square* of the range.

expensive = 4 / (X.max() - X.min()) ** 2
compare(
    {
        "the same": cl.L2("range"),
        "down 4 times": cl.L2(up="range", down=expensive),
        "up 4 times": cl.L2(up=expensive, down="range"),
    }
)

# %%
# Quadratic: changes that occur together
# --------------------------------------
#
# With the inverse covariance of the data as Q, changes that follow the correlations of the data are cheap, and changes
# against them are expensive: this is the Mahalanobis distance. Features that the tree does not use may then change too,
# because they usually vary together with others.

mahalanobis = cl.Quadratic(np.linalg.inv(np.cov(X.T)))
compare(
    {
        "L2 by std": cl.L2("std"),
        "Mahalanobis": mahalanobis,
        "and few": mahalanobis + 2 * cl.L1("std"),
    }
)

# %%
# Any of several targets, at a price
# ----------------------------------
#
# ``target`` may be several classes, and a dict sets a price for each of them. Barolo is nearest to this wine; if being a
# Barolo is expensive (because of a licence, for example), Barbera is the better choice. The price is part of the cost.

for price in (0.0, 0.05, 0.1, 0.2):
    best = explainer.explain(row, target={"Barolo": price, "Barbera": 0.0})[0]
    print(
        f"to be a Barolo costs {price}: {best.label}, cost {best.cost:.3f}, by {', '.join(best.changes)}"
    )

# %%
# Categories: a table of costs
# ----------------------------
#
# A change of category costs 1 under a named spread and 2 under plain weights (two 0/1 columns change). A table can set each
# cost: here a clerk becomes a cook easily and a nurse with difficulty.

jobs = ["clerk", "cook", "nurse"]
staff = pd.DataFrame({"job": jobs * 20, "hours": np.arange(60)})
paid = np.where(
    (staff["job"] == "nurse") | ((staff["job"] == "cook") & (staff["hours"] > 30)), "well", "badly"
)
pay = make_pipeline(
    make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough"),
    DecisionTreeClassifier(random_state=0),
)
usual = cl.Explainer(pay.fit(staff, paid), data=staff)
costs = {
    "clerk": {"cook": 0.3, "nurse": 2},
    "cook": {"clerk": 0.3, "nurse": 2},
    "nurse": {"clerk": 0.1, "cook": 0.3},
}
for explainer in (usual, usual.with_features(cl.Categorical("job", jobs, costs=costs))):
    best = explainer.explain({"job": "clerk", "hours": 20}, target="well")[0]
    print(f"cost {best.cost:.3f}:", best.changes)

# %%
# Under the usual cost the answer is *become a nurse*. Under the table it is *become a cook and work more*, because nurses
# train for years.
