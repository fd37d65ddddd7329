"""
A pipeline, with text and missing values
========================================

Tables have text and missing values, and the model is often a pipeline that imputes, encodes, scales and then applies a tree.
Pass the whole pipeline: answers are in the columns of the table, and its ``predict`` confirms them.
"""

import tempfile
from pathlib import Path

from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import counterleaf as cl
from counterleaf.datasets import load_adult

X, _, y, _ = load_adult(missing="keep").split()
X, y = X[:6000], y[:6000]
print(X.isna().sum()[lambda gaps: gaps > 0])

# %%
# A typical pipeline: missing text becomes the most frequent value, missing numbers become the median.

text = make_pipeline(
    SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")
)
numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
columns = make_column_transformer(
    (text, make_column_selector(dtype_exclude="number")),
    (numbers, make_column_selector(dtype_include="number")),
)
model = make_pipeline(columns, DecisionTreeClassifier(max_leaf_nodes=24, random_state=0)).fit(X, y)

# %%
# How the table is interpreted
# ----------------------------
#
# The explainer reads the pipeline once and infers the features from the data. Check the result, since answers stay within these
# ranges and categories.

explainer = cl.Explainer(model, data=X)
print(explainer.schema)

# %%
# You can replace a feature. The data has hours from 1 to 99, but nobody should have to work 99 hours; and hours should change
# in steps of 5. That age cannot change is a constraint, not a property of the column, so it belongs to the question.

explainer = explainer.with_features(cl.Numeric("hours-per-week", 0, 60, step=5))
locks = [
    cl.freeze("age", "sex", "race", "native-country", "marital-status", "relationship"),
    cl.freeze("capital-gain", "capital-loss"),
]

# %%
# A row with missing values
# -------------------------
#
# The work class and the occupation of this man of 54 are missing. The explainer treats them as the values that the pipeline
# imputes.

row = X.loc[27]
print(row.to_string(), "\n")
answer = explainer.explain(row, target=">50K", constraints=locks)
print(answer)

# %%
# *If his occupation were tech support, the model would predict more than 50,000.* His work class stays missing in the answer,
# since it does not have to change. The pipeline itself confirms this row:

best = answer[0].row.to_frame().T
print(best[["workclass", "occupation", "hours-per-week"]].to_string())
print(model.predict(best)[0], "- confirmed:", answer[0].confirmed)
answer.plot("tree")

# %%
# Unsupported steps
# -----------------
#
# A step is read exactly or not at all. Steps that treat columns one by one, such as a logarithm, are probed. The message about
# an unsupported step names it and suggests a remedy: here, multiply the columns in the table, before the pipeline.

products = make_column_transformer(
    (PolynomialFeatures(), ["age", "hours-per-week"]), (StandardScaler(), ["capital-gain"])
)
unsupported = make_pipeline(products, DecisionTreeClassifier(max_depth=3)).fit(X, y)
try:
    cl.Explainer(unsupported, data=X)
except cl.CounterleafError as error:
    print(error)

# %%
# Questions are checked in the same way, before the search begins:

for question in (
    {"target": ">50k"},
    {"target": ">50K", "constraints": cl.freeze("hours")},
    {"target": ">50K", "margin": "much"},
):
    try:
        explainer.explain(row, **question)
    except cl.CounterleafError as error:
        print(error)

# %%
# Saving an explainer
# -------------------
#
# ``to_json`` writes everything that an answer depends on: the tree over the columns of the table, the features and the
# spreads. The restored explainer needs neither a pickle nor the pipeline, and gives the same answers.

folder = Path(tempfile.mkdtemp())
(folder / "model.json").write_text(explainer.to_json())
X[:100].to_csv(folder / "rows.csv", index=False)
again = cl.Explainer.from_json((folder / "model.json").read_text())
print(again)
print(again.explain(row, target=">50K", constraints=locks)[0].changes == answer[0].changes)

# %%
# The explorer (a page in your browser) and the command line read the same two files:
#
# .. code-block:: console
#
#    $ counterleaf explore model.json --data rows.csv --row 27
#    $ counterleaf explain model.json rows.csv --row 27 --target ">50K" --freeze age,sex,race
#
# An answer can be saved with its whole proof, and checked by someone who has neither the data nor the model:

saved = answer.to_json()
print(
    f"{len(saved):,} characters, proof holds: {cl.Explanation.from_json(saved).certificate.check()}"
)
