"""
What a change costs: one row, many costs
========================================

The cost is where you say what "small" means. The same wine, the same tree and the same wish, a Barolo, under one cost after
another: what changes, and when to choose which.
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
    """Beside the row, the cheapest row under each cost; what stays is left blank."""
    table = {"source": row}
    for name, cost in costs.items():
        best = explainer.explain(row, target=target, cost=cost)[0]
        assert best.verified
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
# ``L1`` adds up the changes: few features change, each as far as it takes, so that the answer is easy to tell. ``L2`` adds up
# their squares: every feature that helps moves a little. A sum of both lies between: few features, none by too much. With
# ``"range"`` each change counts as a share of the feature's range in the data; ``L1("range")`` is the default.

compare({"L1": cl.L1("range"), "L2": cl.L2("range"), "both": cl.L1("range") + 2 * cl.L2("range")})

# %%
# As a picture, the answer under both, and what each change adds to the cost:

both = explainer.explain(row, target="Barolo", cost=cl.L1("range") + 2 * cl.L2("range"))
both.plot()

# %%
# In what units? range, std, mad
# ------------------------------
#
# Without a spread, a change of 1 costs 1 in every feature: a per cent of alcohol as much as a milligram of proline, which then
# hardly moves, though it is the smallest of steps for a wine. ``"range"`` is easy to explain, but an outlier stretches it.
# ``"std"`` is the usual measure; ``"mad"``, the median distance from the median, does not see outliers at all.

compare({"none": cl.L2(), "range": cl.L2("range"), "std": cl.L2("std"), "mad": cl.L2("mad")})

# %%
# "That is hard for me": times
# ----------------------------
#
# On top of any weights, ``times`` makes the change of a feature so many times as dear. 0 makes it free, ``freeze`` impossible.

hard, free = cl.L2("range", times={"proline": 10}), cl.L2("range", times={"color_intensity": 0})
compare({"L2": cl.L2("range"), "proline x 10": hard, "free colour": free})

# %%
# Up is not down
# --------------
#
# ``up`` and ``down`` in place of weights: more of something may be easier to come by than less of it. Weights given as numbers
# are used as they are, so for ``L2`` four times ``"range"`` is 4 over the *square* of the range.

dear = 4 / (X.max() - X.min()) ** 2
compare(
    {
        "as easy": cl.L2("range"),
        "down 4 times": cl.L2(up="range", down=dear),
        "up 4 times": cl.L2(up=dear, down="range"),
    }
)

# %%
# Quadratic: changes that come together
# -------------------------------------
#
# With the inverse covariance of the data as Q, a change that goes along with how wines differ anyway is cheap, and one that
# goes against it is dear: the Mahalanobis distance. Features may then move that do nothing for the tree, because they usually
# move together.

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
# ``target`` may be several classes, and a dict says what each of them costs as such. Barolo is nearest to this wine; the more
# it costs to be one (a licence, say), the sooner a Barbera will do. The price is part of the cost.

for price in (0.0, 0.05, 0.1, 0.2):
    best = explainer.explain(row, target={"Barolo": price, "Barbera": 0.0})[0]
    print(
        f"to be a Barolo costs {price}: {best.label}, cost {best.cost:.3f}, by {', '.join(best.changes)}"
    )

# %%
# Categories: a table from-to
# ---------------------------
#
# A change of category costs 1 under a named spread, 2 under plain weights (two 0/1 columns move), or what you say: with a
# table, from a clerk it is a short way to a cook and a long one to a nurse. Here a table of one's own, asked as any other.

jobs = ["clerk", "cook", "nurse"]
staff = pd.DataFrame({"job": jobs * 20, "hours": np.arange(60)})
paid = np.where(
    (staff["job"] == "nurse") | ((staff["job"] == "cook") & (staff["hours"] > 30)), "well", "badly"
)
pay = make_pipeline(
    make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough"),
    DecisionTreeClassifier(random_state=0),
)
asked = cl.Explainer(pay.fit(staff, paid), data=staff)
ways = {
    "clerk": {"cook": 0.3, "nurse": 2},
    "cook": {"clerk": 0.3, "nurse": 2},
    "nurse": {"clerk": 0.1, "cook": 0.3},
}
for to in (asked, asked.replace(cl.Categorical("job", jobs, costs=ways))):
    best = to.explain({"job": "clerk", "hours": 20}, target="well")[0]
    print(f"cost {best.cost:.3f}:", best.changes)

# %%
# *Become a nurse*, says the usual cost; *become a cook and work more*, says the table, which knows that nurses train for years.
