"""
Forests and boosted trees
=========================

Nobody can read a hundred trees. The question *what would have to change?* has an exact answer nevertheless: the cheapest change
that makes the whole ensemble predict otherwise, with a proof that no cheaper one exists.
"""

import time

import matplotlib.pyplot as plt
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
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
models = {
    "tree": make_pipeline(columns, DecisionTreeClassifier(max_leaf_nodes=60, random_state=0)),
    "forest": make_pipeline(columns, RandomForestClassifier(50, max_depth=10, random_state=0)),
    "boosting": HistGradientBoostingClassifier(
        max_iter=50, max_leaf_nodes=8, categorical_features="from_dtype", random_state=0
    ),
}
X_train, X_test = (X.astype(dict.fromkeys(text_columns, "category")) for X in (X_train, X_test))
for name, model in models.items():
    model.fit(X_train, y_train)
    print(f"{name}: {model.score(X_test, y_test):.1%} right")

# %%
# The forest is the last step of a pipeline with an encoder; boosting takes the categories as they are. The questions and the
# answers are in the columns of the table either way.

fixed = [
    "race",
    "sex",
    "native-country",
    "marital-status",
    "relationship",
    "capital-gain",
    "capital-loss",
]
locks = [cl.freeze(fixed), cl.only_increase("age")]
person = X_test.iloc[2]
explainers = {name: cl.Explainer(model, data=X_train) for name, model in models.items()}
for name, explainer in explainers.items():
    start = time.perf_counter()
    answer = explainer.explain(person, target=">50K", constraints=locks)
    changes = "; ".join(
        f"{feature} {old} -> {new}" for feature, (old, new) in answer[0].changes.items()
    )
    print(
        f"{name}, {time.perf_counter() - start:.2f} s: {changes} "
        f"(cost {answer[0].cost:.3f}, proved {answer.certificate.check()}, confirmed {answer[0].confirmed})"
    )

# %%
# A safer answer
# --------------
#
# The cheapest answer barely passes. For an ensemble, a margin is a distance of the score. In boosted trees of two classes the
# score is the log-odds, so a margin of 1 means a probability of at least 73 %. ``explain_margins`` shows the price of safety.

boosting = explainers["boosting"]
path = boosting.explain_margins(
    person, margins=[0.0, 0.5, 1.0, 1.5], target=">50K", constraints=locks
)
print(path)

# %%
# Where a probability is the goal, name it. The answer says which probability it reaches.

likely = boosting.explain(person, target=cl.probability(">50K", at_least=0.8), constraints=locks)
print(likely)

# %%
# Alternatives and few changes
# ----------------------------
#
# Each alternative, and each point of the front from one change to several, is a search of its own, with its own proof.

print(explainers["forest"].explain(person, target=">50K", constraints=locks, count=3))

front = explainers["forest"].explain_front(person, target=">50K", constraints=locks)
print(front)
front.plot()

# %%
# When time is short
# ------------------
#
# Some questions about large forests take long. ``time_limit`` and ``max_nodes`` stop the search, and the answer says how far it
# can be from the cheapest one. That bound is proved, too.

early = explainers["forest"].explain(person, target=">50K", constraints=locks, max_nodes=1)
print(
    f"{early.status}: cost {early[0].cost:.3f}, at least {early.lower_bound:.3f}; checked: {early.certificate.check()}"
)

# %%
# Many people
# -----------
#
# ``explain_many`` runs one search per row; ``n_jobs`` threads take rows in turn. For about half of these people, no allowed
# change is enough, and that is proved as well. The histogram shows the others.

poor = X_test[models["boosting"].predict(X_test) == "<=50K"].head(100)
table = boosting.explain_many(
    poor, target=">50K", constraints=locks, n_jobs=-1, time_limit=10.0, progress=False
)
print(table["status"].value_counts().to_dict())
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.hist(table["cost"].dropna(), bins=20, color="#1f5a8a")
axes.set(xlabel="cost of the cheapest change", ylabel="people")
axes.spines[["top", "right"]].set_visible(False)
