"""
Learning a small oblique tree
=============================

A tree that should give reasons must be small enough to read and accurate enough to matter. ``TAOClassifier`` learns trees whose
splits are weighted sums of a few columns, and usually needs far fewer splits than greedy growth (CART).
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
# With 32 leaves TAO classifies more digits correctly than a fully grown CART tree. This has a price: each of TAO's splits
# uses several pixels. If the columns are pixels, a split can be drawn as the image of its weights: ink on blue pixels sends a
# digit to the right, ink on red pixels to the left.

digits = learners["TAO"][1]  # of depth 5
cl.plot_tree(digits, shape=(8, 8), max_depth=4)

# %%
# Depth and alpha
# ---------------
#
# Depth limits the size. ``alpha`` is the price of weights: a larger value means fewer columns in each split. Choose both by
# cross-validation, on standardised columns, like other parameters in scikit-learn.

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
# gives a tree that is easy to read, here in standard deviations of each column:

model = make_pipeline(
    StandardScaler(), cl.TAOClassifier(max_depth=2, alpha=30, random_state=0)
).fit(X_train, y_train)
print(f"{model.score(X_test, y_test):.3f} right")
print(cl.export_text(model[-1], X.columns))

# %%
# Explaining its predictions
# --------------------------
#
# It is explained like any other tree, in the units of the table. A weighted sum can be reached in many ways; the cheapest way
# uses the columns with the largest effect per unit of cost.

row = X_test[model.predict(X_test) == "malignant"].iloc[0]
answer = cl.Explainer(model, data=X_train).explain(
    row, target="benign", cost=cl.L1("std") + cl.L2("std")
)
print(answer)
answer.plot()
