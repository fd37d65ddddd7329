"""
Your own pipeline, gaps and all
===============================

People hold tables with text and gaps in them, and their model is a pipeline that fills, encodes, scales and then asks a tree.
Ask the whole pipeline: in the words of the table, and confirmed by its own ``predict``.
"""

import tempfile
from pathlib import Path

import numpy as np
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import counterleaf as cl
from counterleaf.datasets import load_adult

X, _, y, _ = load_adult(missing="keep").split()
X, y = X[:6000], y[:6000]
print(X.isna().sum()[lambda gaps: gaps > 0])

# %%
# An everyday pipeline: gaps in text become the most frequent word, gaps in numbers the median.

words = make_pipeline(
    SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")
)
numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
columns = make_column_transformer(
    (words, make_column_selector(dtype_exclude="number")),
    (numbers, make_column_selector(dtype_include="number")),
)
model = make_pipeline(columns, DecisionTreeClassifier(max_leaf_nodes=24, random_state=0)).fit(X, y)

# %%
# What was understood of the table
# --------------------------------
#
# The explainer reads the pipeline once, and says what it takes the columns for. These are guesses from the data: look at them,
# since an answer stays within them.

explainer = cl.Explainer(model, data=X)
print(explainer.schema)

# %%
# A guess can be replaced. Hours from 1 to 99 were seen, but nobody should be told to work 99; and they move in steps of 5. The
# age is not for changing at all, which is a constraint, not a guess, and belongs into the question.

explainer = explainer.replace(cl.Numeric("hours-per-week", 0, 60, step=5))
locks = [
    cl.freeze("age", "sex", "race", "native-country", "marital-status", "relationship"),
    cl.freeze("capital-gain", "capital-loss"),
]

# %%
# A row with a gap
# ----------------
#
# A man of 54 has left his work and his occupation blank. The pipeline takes a gap for what it fills in, and so does the answer.

row = X.loc[27]
print(row.to_string(), "\n")
answer = explainer.explain(row, target=">50K", constraints=locks)
print(answer)

# %%
# *Had he an occupation in tech support, the model would say more than 50,000.* His work stays blank in the answer, where it
# need not change. And the pipeline itself, asked about that very row, agrees:

best = answer[0].row.to_frame().T
print(best[["workclass", "occupation", "hours-per-week"]].to_string())
print(model.predict(best)[0], "- verified:", answer[0].verified)
answer.plot("tree")

# %%
# What is refused
# ---------------
#
# A step is read exactly or not at all. One that bends or mixes columns is refused by name, with what to do about it: here,
# take the logarithm in the table, before the pipeline.

logs = make_column_transformer(
    (FunctionTransformer(np.log1p), ["capital-gain"]), (StandardScaler(), ["age"])
)
bent = make_pipeline(logs, DecisionTreeClassifier(max_depth=3)).fit(X, y)
try:
    cl.Explainer(bent, data=X)
except cl.CounterleafError as error:
    print(error)

# %%
# Questions are checked in the same way, before anything is searched:

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
# To keep and to pass on
# ----------------------
#
# ``to_json`` writes what an answer depends on: the tree over the table's own columns, the features, the spreads. No pickle and
# no pipeline is needed to ask it again, and the answers are the same.

folder = Path(tempfile.mkdtemp())
(folder / "model.json").write_text(explainer.to_json())
X[:100].to_csv(folder / "rows.csv", index=False)
again = cl.Explainer.from_json((folder / "model.json").read_text())
print(again)
print(again.explain(row, target=">50K", constraints=locks)[0].changes == answer[0].changes)

# %%
# The same two files serve the explorer, a page in your browser, and the command line:
#
# .. code-block:: console
#
#    $ counterleaf explore model.json --data rows.csv --row 27
#    $ counterleaf explain model.json rows.csv --row 27 --target ">50K" --freeze age,sex,race
#
# An answer, too, can be kept with its whole proof, and checked by someone who has neither the data nor the model:

kept = answer.to_json()
print(
    f"{len(kept):,} characters, proof holds: {cl.Explanation.from_json(kept).certificate.check()}"
)
