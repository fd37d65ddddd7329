"""
Which pixels? Images under three costs
======================================

A tree classifies 8 by 8 images of digits. Which pixels would have to change for it to read another digit? You decide which
changes count as small: few pixels, little ink, or a smooth stroke.
"""

import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import counterleaf as cl

X_train, X_test, y_train, y_test = train_test_split(*load_digits(return_X_y=True), random_state=0)
model = cl.TAOClassifier(max_depth=6, random_state=0).fit(X_train, y_train)
print(
    f"{model.score(X_test, y_test):.1%} of the test digits right, with {model.get_n_leaves()} leaves"
)

# %%
# Ink ranges from 0 to 16 in every pixel, including pixels at the edge that no training image uses. So we pass a schema
# instead of the ranges in the data. The splits are weighted sums of pixels, so an answer is a point at the corner of several
# hyperplanes, not a threshold to look up.

explainer = cl.Explainer(
    model, schema=cl.Schema([cl.Numeric(f"pixel {k}", 0, 16) for k in range(64)])
)
image = X_test[(y_test == 4) & (model.predict(X_test) == 4)][0]

# %%
# L1: as little ink as possible
# -----------------------------
#
# The sum of all changes. Its best answers change few pixels, each by a lot.

few = explainer.explain(image, target=9, cost=cl.L1())
few.plot(shape=(8, 8))

# %%
# L2: no pixel by much
# --------------------
#
# The sum of squares. Many pixels change a little, perhaps invisibly: an adversary would do this.

little = explainer.explain(image, target=9, cost=cl.L2())
little.plot(shape=(8, 8))

# %%
# Quadratic: like a stroke of a pen
# ---------------------------------
#
# ``Quadratic(Q)`` sets a price for changes that occur together. Here Q charges for the *difference* between the changes of two
# neighbouring pixels, and a little for each change: a pixel should change together with its neighbours.

at = np.arange(64).reshape(8, 8)
pairs = np.vstack(
    [np.c_[at[:, :-1].ravel(), at[:, 1:].ravel()], np.c_[at[:-1].ravel(), at[1:].ravel()]]
)
ones, number = np.ones(len(pairs)), np.arange(len(pairs))
difference = sparse.csr_array(
    (np.r_[ones, -ones], (np.r_[number, number], pairs.T.ravel())), shape=(len(pairs), 64)
)
smooth = cl.Quadratic(difference.T @ difference + 0.1 * sparse.eye_array(64))

together = explainer.explain(image, target=9, cost=smooth)
together.plot(shape=(8, 8))

# %%
# The three side by side. Each is the best by its own measure and worse by the two others: the best answer depends on the cost.

for name, answer in {"L1": few, "L2": little, "smooth": together}.items():
    change = np.asarray(answer[0].row) - image
    ink, squares = np.abs(change).sum(), (change**2).sum()
    rough = ((difference @ change) ** 2).sum() + 0.1 * squares
    print(
        f"{name:>6}: {len(answer[0].changes):2} pixels, ink {ink:5.2f}, squares {squares:6.2f}, roughness {rough:6.2f}"
    )

# %%
# Only add ink, only below
# ------------------------
#
# A pen cannot erase: ``only_increase`` for every pixel. And the upper half is already dry: ``freeze`` its 32 pixels. A position
# may replace a name.

pen = [cl.only_increase(*range(64)), cl.freeze(*range(32))]
added = explainer.explain(image, target=[0, 6, 8], cost=cl.L1(), constraints=pen)
print(added[0].label, "for", round(added[0].cost, 2), "of ink, confirmed:", added[0].confirmed)
added.plot(shape=(8, 8))

# %%
# Among the three allowed digits, this one takes the least ink, and the tree itself confirms it. The image may not look like
# that digit to us. This is a fact about the tree, not about the answer: an exact answer shows how little it takes.
# ``margin=`` requires a change that is safely past every split:

safe = explainer.explain(image, target=9, cost=cl.L1(), margin=2.0)
safe.plot(shape=(8, 8))

# %%
# All five answers are proved:

print(all(answer.certificate.check() for answer in (few, little, together, added, safe)))
