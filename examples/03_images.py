"""
Which pixels? Images under three costs
======================================

A tree reads 8 by 8 pictures of digits. Which pixels would have to be different for it to read another digit? What counts as a
small change is yours to say: few pixels, little ink, or a smooth stroke.
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
# Ink goes from 0 to 16 in every pixel, also in those at the rim that no training picture uses; so the schema says it, in place
# of the ranges seen. The splits are weighted sums of pixels, so an answer is a point at the corner of several hyperplanes, not
# a threshold to look up.

explainer = cl.Explainer(
    model, schema=cl.Schema([cl.Numeric(f"pixel {k}", 0, 16) for k in range(64)])
)
image = X_test[(y_test == 4) & (model.predict(X_test) == 4)][0]

# %%
# L1: as little ink as possible
# -----------------------------
#
# The sum of all changes. Its best answers touch few pixels, each of them much.

few = explainer.explain(image, target=9, cost=cl.L1())
few.plot(shape=(8, 8))

# %%
# L2: no pixel by much
# --------------------
#
# The sum of squares. Many pixels change a little, which the eye may not even see: this is what an adversary would do.

little = explainer.explain(image, target=9, cost=cl.L2())
little.plot(shape=(8, 8))

# %%
# Quadratic: like a stroke of a pen
# ---------------------------------
#
# ``Quadratic(Q)`` prices changes together. Here Q charges for the *difference* between the changes of two neighbouring pixels,
# and a little for each change as such: what changes should change with its neighbours.

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
# The three side by side. Each is the best by its own measure and worse by the two others: what is best depends on the cost.

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
# A pen cannot erase: ``increase`` for every pixel. And the upper half is already dry: ``freeze`` its 32 pixels. A position
# serves as a name.

pen = [cl.increase(*range(64)), cl.freeze(*range(32))]
added = explainer.explain(image, target=[0, 6, 8], cost=cl.L1(), constraints=pen)
print(added[0].label, "for", round(added[0].cost, 2), "of ink, verified:", added[0].verified)
added.plot(shape=(8, 8))

# %%
# Of the three digits that were allowed, this is the one that takes the least ink, and the tree itself reads it so. That the
# picture does not look like that digit to us is a fact about the tree, not about the answer: an exact answer shows how
# little it takes. ``margin=`` asks for a change that is safely past every split:

safe = explainer.explain(image, target=9, cost=cl.L1(), margin=2.0)
safe.plot(shape=(8, 8))

# %%
# All of it is proved, for each of the five questions:

print(all(answer.certificate.check() for answer in (few, little, together, added, safe)))
