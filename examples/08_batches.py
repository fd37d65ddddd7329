"""
A whole test set at once
========================

One person asks *what would I have to change?* Whoever runs the model, or audits it, asks for all of them: how many could reach
the other verdict at all, at what cost, and what most of them would have to change.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import counterleaf as cl
from counterleaf.baselines import NearestRow
from counterleaf.datasets import load_adult

X_train, X_test, y_train, y_test = load_adult().split()
words = X_train.select_dtypes(exclude="number").columns
columns = make_column_transformer(
    (OneHotEncoder(handle_unknown="ignore"), words), remainder="passthrough"
)
model = make_pipeline(columns, DecisionTreeClassifier(max_leaf_nodes=60, random_state=0)).fit(
    X_train, y_train
)
poor = X_test[model.predict(X_test) == "<=50K"]
print(
    f"{model.score(X_test, y_test):.1%} right; {len(poor):,} people of the test set are put at or below 50,000"
)

# %%
# A frame in, a frame out: one line per person, with the person's index. What depends on the row (the value that is frozen, the
# age that may only rise) is taken from each row. The answers are those of ``explain``, bit for bit.

explainer = cl.Explainer(model, data=X_train)
locks = [
    cl.freeze("race", "sex", "native-country", "marital-status", "relationship"),
    cl.increase("age"),
]
table = explainer.explain_many(poor, target=">50K", constraints=locks, n_jobs=-1)
table.iloc[:5, :10]

# %%
# ``n_jobs=-1`` uses every core; the answers do not depend on it. How did it go?

print(table["status"].value_counts().to_string())
print("confirmed by the model:", table.loc[table["status"] == "optimal", "verified"].all())
print(table["n_changed"].value_counts().rename_axis("features to change").to_string())

# %%
# What would most people have to change?
# --------------------------------------
#
# A cell of the table differs from the person's own where the answer changes it. The second question locks more: no gains on
# stocks, no waiting to be older, no more than 60 hours a week.


def share_changed(table):
    """Of the people with an answer, the share for whom each feature changes."""
    found = table[table["status"] == "optimal"]
    features = [name for name in poor.columns if name in found]
    return pd.Series(
        {
            name: (found[name].to_numpy() != poor.loc[found.index, name].to_numpy()).mean()
            for name in features
        }
    )


more = [cl.freeze("capital-gain", "capital-loss", "age"), cl.between("hours-per-week", 0, 60)]
stricter = explainer.explain_many(poor, target=">50K", constraints=[*locks, *more])
shares = pd.DataFrame(
    {"as above": share_changed(table), "capital and age locked too": share_changed(stricter)}
).fillna(0)
shares = shares[shares.max(axis=1) > 0].sort_values("capital and age locked too")
figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
shares.plot.barh(ax=axes, color=["#b9c6d3", "#1f5a8a"], width=0.75)
axes.set(
    xlabel="share of the people with an answer",
    title="What the cheapest change touches",
    xlim=(0, 1),
)
axes.spines[["top", "right"]].set_visible(False)
print(stricter["status"].value_counts().to_string())

# %%
# Nearly everybody is told to have capital gains, which is no advice. With these locked, the model's real levers show: a degree
# and longer hours. And a quarter of the people have none. *Infeasible* is a verdict, not a failure: no allowed change leads
# such a person above 50,000. That is a finding about the model which no single answer could give.
#
# Who has the way open?
# ---------------------
# Locked in the same way, do women and men find a change equally often, and at the same cost?

by_sex = stricter.assign(sex=poor["sex"], open=stricter["status"] == "optimal").groupby("sex")
by_sex.agg(people=("open", "size"), open=("open", "mean"), median_cost=("cost", "median")).round(3)

# %%
# A difference here is a reason to look closer, not yet a verdict: the two groups differ in other ways too.
#
# Rows that cannot be asked about
# -------------------------------
# They do not stop the rest: the status is *invalid*, and ``problem`` says why.

broken = poor.iloc[:3].copy()
broken.iloc[0, broken.columns.get_loc("education")] = "Night school"
broken["age"] = broken["age"].astype(float)
broken.iloc[1, broken.columns.get_loc("age")] = float("nan")
for index, line in explainer.explain_many(broken, target=">50K").iterrows():
    print(index, line["status"], "" if pd.isna(line["problem"]) else f"- {line['problem']}")

# %%
# Beside the nearest row
# ----------------------
# The common alternative takes the most similar person whom the model puts above 50,000, here out of 5,000. It costs more, and
# under locks there may be no such person.

nearest = NearestRow(model, X_train[:5000])
few = poor.iloc[:40]
rows = [nearest.explain(person, target=">50K", constraints=locks) for _, person in few.iterrows()]
found = pd.DataFrame(
    {"near": [answer[0].cost if len(answer) else None for answer in rows]}, index=few.index
).dropna()
found["exact"] = table.loc[found.index, "cost"]
print(
    f"nearest row: {len(found)} of {len(few)} have one; exact: {(table.loc[few.index, 'status'] == 'optimal').sum()}"
)
print(
    f"median cost {found['near'].median():.3f} against {found['exact'].median():.3f}, for the same people"
)
print("the nearest row is never cheaper:", (found["near"] >= found["exact"]).all())

# %%
# To a file
# ---------
# The frame is an ordinary one: ``table.to_parquet("answers.parquet")`` keeps its types (with pyarrow installed), CSV does
# anywhere.

path = Path(tempfile.mkdtemp()) / "answers.csv"
table.to_csv(path)
print(f"{path.name}: {len(pd.read_csv(path, index_col=0)):,} lines")
