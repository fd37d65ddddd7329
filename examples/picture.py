"""Draw docs/answer.png, the picture in the README: one tumour, the changes of its answers, and their paths in the tree."""

import io
from pathlib import Path

import numpy as np
from matplotlib.image import imread
from PIL import Image
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import counterleaf as cl


def pixels(figure, dpi=130):
    out = io.BytesIO()
    figure.savefig(out, dpi=dpi)
    out.seek(0)
    return (255 * imread(out)[..., :3]).round().astype(np.uint8)


def pad(picture, height, width):
    """Return the picture on a white page, at the upper left."""
    page = np.full((height, width, 3), 255, np.uint8)
    page[: picture.shape[0], : picture.shape[1]] = picture
    return page


X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X[["worst radius", "worst concave points"]]
model = DecisionTreeClassifier(max_leaf_nodes=6, random_state=0).fit(
    X, y.map({0: "malignant", 1: "benign"})
)
answer = cl.Explainer(model, data=X).explain(X.iloc[432], target="benign", count=2)

left = pixels(answer.plot("regions"))
right = [pixels(answer.plot("changes")), pixels(answer.plot("tree"))]
width = max(picture.shape[1] for picture in right)
right = np.vstack([pad(picture, picture.shape[0], width) for picture in right])
height = max(left.shape[0], right.shape[0])
whole = np.hstack([pad(left, height, left.shape[1]), pad(right, height, width)])
out = Path(__file__).parents[1] / "docs" / "answer.png"
Image.fromarray(whole).quantize(128).save(out, optimize=True)  # few colours: a small file
print(f"{out.name}: {whole.shape[1]} x {whole.shape[0]} pixels, {out.stat().st_size // 1000} kB")
