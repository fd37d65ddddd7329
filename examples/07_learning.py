"""
Learn a tree that is worth asking
=================================

A tree that is asked for reasons should be small enough to read and right often enough to matter. ``TAOClassifier`` learns trees
whose splits are weighted sums of a few columns, and tends to need far fewer of them than greedy growth (CART).
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import counterleaf as cl

X_train, X_test, y_train, y_test = train_test_split(*load_digits(return_X_y=True), random_state=0)
learners = {
    "CART": [DecisionTreeClassifier(max_depth=depth, random_state=0) for depth in (3, 5, 7, 9, 15)],
    "TAO": [cl.TAOClassifier(max_depth=depth, random_state=0) for depth in (3, 5, 7)],
}
figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
for (name, models), colour in zip(learners.items(), ("#8a8a8a", "#1f5a8a"), strict=True):
    for model in models:
        model.fit(X_train, y_train)
    leaves = [model.get_n_leaves() for model in models]
    right = [model.score(X_test, y_test) for model in models]
    axes.plot(leaves, right, "o-", color=colour)
    axes.text(leaves[-1] + 4, right[-1] - 0.01, name, color=colour)
    print(f"{name}: {right[-1]:.0%} right with {leaves[-1]} leaves")
axes.set(xlabel="leaves", ylabel="test digits read right", xlim=(0, 160), ylim=(0.4, 1))
axes.set_title("Handwritten digits, trees of growing depth")
axes.spines[["top", "right"]].set_visible(False)

# %%
# With 32 leaves TAO reads more digits right than CART grown in full. It is no free lunch: each of TAO's splits looks at
# several pixels. Where the columns are pixels, a split can be drawn as the picture of its weights: ink on blue pixels sends a
# digit to the right, ink on red ones to the left.

digits = learners["TAO"][1]  # of depth 5
cl.plot_tree(digits, shape=(8, 8), max_depth=4)

# %%
# Depth and alpha
# ---------------
#
# Depth bounds the size. ``alpha`` is the price of weights: the larger, the fewer columns in each split. Both are best chosen by
# cross-validation, on standardised columns, like any other parameter of scikit-learn.

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
y = y.map({0: "malignant", 1: "benign"})
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
pipeline = make_pipeline(StandardScaler(), cl.TAOClassifier(random_state=0))
grid = {"taoclassifier__max_depth": [1, 2, 3], "taoclassifier__alpha": [1, 3, 10, 30]}
search = GridSearchCV(pipeline, grid, cv=5).fit(X_train, y_train)
cart = GridSearchCV(
    DecisionTreeClassifier(random_state=0), {"max_leaf_nodes": [4, 8, 16, 32]}, cv=5
).fit(X_train, y_train)
print("chosen:", search.best_params_)
print(
    f"TAO:  {search.score(X_test, y_test):.3f} right, {search.best_estimator_[-1].get_n_leaves()} leaves"
)
print(f"CART: {cart.score(X_test, y_test):.3f} right, {cart.best_estimator_.get_n_leaves()} leaves")

table = pd.DataFrame(search.cv_results_).pivot(
    index="param_taoclassifier__max_depth",
    columns="param_taoclassifier__alpha",
    values="mean_test_score",
)
table.rename_axis(index="depth", columns="alpha").round(3)

# %%
# With only a few hundred rows, neighbours in this table differ by a few tumours. The largest alpha costs some accuracy and
# gives a tree that can be read out, here in standard deviations of each column:

model = make_pipeline(
    StandardScaler(), cl.TAOClassifier(max_depth=2, alpha=30, random_state=0)
).fit(X_train, y_train)
print(f"{model.score(X_test, y_test):.3f} right")
print(cl.export_text(model[-1], X.columns))

# %%
# Ask it
# ------
#
# It is asked like any other tree, in the table's own units. A sum can be met in many ways; the cheapest is the one that buys
# most of it for its cost.

row = X_test[model.predict(X_test) == "malignant"].iloc[0]
answer = cl.Explainer(model, data=X_train).explain(
    row, target="benign", cost=cl.L1("std") + cl.L2("std")
)
print(answer)
answer.plot()
