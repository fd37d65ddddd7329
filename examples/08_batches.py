"""
A whole test set at once
========================

One person wants to know *what would I have to change?* An operator or auditor of the model wants to know it for everyone: how
many people could reach the other prediction at all, at which cost, and which changes most of them would need.
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
from counterleaf.datasets import load_adult

X_train, X_test, y_train, y_test = load_adult().split()
text_columns = X_train.select_dtypes(exclude="number").columns
columns = make_column_transformer(
    (OneHotEncoder(handle_unknown="ignore"), text_columns), remainder="passthrough"
)
model = make_pipeline(columns, DecisionTreeClassifier(max_leaf_nodes=60, random_state=0)).fit(
    X_train, y_train
)
poor = X_test[model.predict(X_test) == "<=50K"]
print(
    f"{model.score(X_test, y_test):.1%} right; {len(poor):,} people of the test set are predicted at or below 50,000"
)

# %%
# A frame in, a frame out: one line per person, with the person's index. Constraints that depend on the row (the frozen
# values, the age that may only increase) use the values of each row. The answers are those of ``explain``, bit for bit.

explainer = cl.Explainer(model, data=X_train)
locks = [
    cl.freeze("race", "sex", "native-country", "marital-status", "relationship"),
    cl.only_increase("age"),
]
table = explainer.explain_many(poor, target=">50K", constraints=locks, n_jobs=-1)
table.iloc[:5, :10]

# %%
# ``n_jobs=-1`` uses every core; the answers do not depend on it. A summary:

print(table["status"].value_counts().to_string())
print("confirmed by the model:", table.loc[table["status"] == "optimal", "confirmed"].all())
print(table["n_changed"].value_counts().rename_axis("features to change").to_string())

# %%
# Which changes do most people need?
# ----------------------------------
#
# A cell of the table differs from the person's value if the answer changes it. The second question has more constraints: no
# capital gains, no change of age, no more than 60 hours a week.


def share_changed(table):
    """Return, for each feature, the share of people with an answer for whom it changes."""
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
    title="Features that the cheapest change touches",
    xlim=(0, 1),
)
axes.spines[["top", "right"]].set_visible(False)
print(stricter["status"].value_counts().to_string())

# %%
# The first answer for nearly everybody is a capital gain, which is not useful advice. Without it, the real levers of the model
# appear: a degree and longer hours. A quarter of the people have no answer. *Infeasible* is a result, not a failure: no allowed
# change leads such a person above 50,000. No single answer could show this property of the model.
#
# Who has an answer?
# ------------------
# Under the same constraints, do women and men have an answer equally often, and at the same cost?

by_sex = stricter.assign(sex=poor["sex"], open=stricter["status"] == "optimal").groupby("sex")
by_sex.agg(people=("open", "size"), open=("open", "mean"), median_cost=("cost", "median")).round(3)

# %%
# A difference here is a reason to look closer, but not a conclusion: the two groups differ in other ways too.
#
# Invalid rows
# ------------
# A row that cannot be explained does not stop the others: its status is *invalid*, and ``problem`` has the reason.

broken = poor.iloc[:3].copy()
broken.iloc[0, broken.columns.get_loc("education")] = "Night school"
broken["age"] = broken["age"].astype(float)
broken.iloc[1, broken.columns.get_loc("age")] = float("nan")
for index, line in explainer.explain_many(broken, target=">50K").iterrows():
    print(index, line["status"], "" if pd.isna(line["problem"]) else f"- {line['problem']}")

# %%
# Compared with the nearest row
# -----------------------------
# A common alternative is the most similar person whom the model predicts above 50,000, here among 5,000: ``among`` allows these
# rows only. It costs more, and under constraints there may be no such person.

few = poor.iloc[:40]
people = cl.among(X_train[:5000])
nearest = explainer.explain_many(few, target=">50K", constraints=[*locks, people], n_jobs=-1)
both = pd.DataFrame({"near": nearest["cost"], "exact": table.loc[few.index, "cost"]}).dropna()
print(
    f"nearest row: {len(both)} of {len(few)} have one; exact: {(table.loc[few.index, 'status'] == 'optimal').sum()}"
)
print(
    f"median cost {both['near'].median():.3f} against {both['exact'].median():.3f}, for the same people"
)
print("the nearest row is never cheaper:", (both["near"] >= both["exact"]).all())

# %%
# To a file
# ---------
# The result is an ordinary frame: ``table.to_parquet("answers.parquet")`` preserves its types (with pyarrow installed), and CSV
# works everywhere.

path = Path(tempfile.mkdtemp()) / "answers.csv"
table.to_csv(path)
print(f"{path.name}: {len(pd.read_csv(path, index_col=0)):,} lines")
