"""Draw docs/digits_tree.png: a tree learned from images of digits, each split as the image of its weights."""

from pathlib import Path

from sklearn.datasets import load_digits

import counterleaf as cl

X, y = load_digits(return_X_y=True)
model = cl.TAOClassifier(max_depth=5, random_state=0).fit(X, y)
figure = cl.plot_tree(model, shape=(8, 8), max_depth=4)
figure.savefig(Path(__file__).parents[1] / "docs" / "digits_tree.png", dpi=110)
