"""
From a fitted tree to an answer
===============================

A decision tree has called a tumour malignant. What is the least that would have to be different for the same tree to call it
benign? Ten lines ask, and the answer is exact: nothing cheaper exists, and the tree itself confirms it.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import counterleaf as cl

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
model = DecisionTreeClassifier(max_leaf_nodes=12, random_state=0).fit(
    X, y.map({0: "malignant", 1: "benign"})
)
row = X.iloc[4]

explainer = cl.Explainer(model, data=X)
answer = explainer.explain(row, target="benign", count=3)
print(answer)

# %%
# In the doctor's words: *had the nuclei had fewer concave points, by this much, the model would have said benign*. The columns
# #2 and #3 are the cheapest changes along two other paths of the tree: different reasons for the same verdict.
#
# ``data=X`` gave names, ranges and the cost: by default each change counts as a share of that feature's range in the data, so
# that a cost of 0.1 is a tenth of a range.
#
# The exact row
# -------------
#
# ``print`` writes as few digits as keep the row valid. The row itself is exact, in the type and the units of the one you gave,
# and it is your model that confirms it.

best = answer[0]
print(best.changes)
print("the model says", model.predict(best.row.to_frame().T)[0], "- verified:", best.verified)

# %%
# All three answers with all their digits, as a table:

answer.to_frame(only_changed=True)

# %%
# The proof
# ---------
#
# "Nothing cheaper exists" need not be believed. The answer carries a certificate: every part of the tree is either shown to
# cost at least as much, or to hold no benign leaf. ``check`` goes through it in plain NumPy, without the search that found it.

print(answer.status, "- proof holds:", answer.certificate.check())

# %%
# The picture
# -----------
#
# What the cheapest answer changes, within the range of each feature, and what share of the cost each change is:

answer.plot()

# %%
# And where in the tree: the path of the tumour, and the path of the answer, which part where the change makes a difference.

answer.plot("tree")

# %%
# What if that cannot change?
# ---------------------------
#
# Lock what the first answer wanted to change and ask again. The next best costs more, which is what a lock is worth.

locked = explainer.explain(row, target="benign", constraints=cl.freeze(*best.changes))
print(locked)

# %%
# A change that nobody can make, a person in place of a tumour: go on with the story of one person of the Adult census,
# :ref:`sphx_glr_auto_examples_02_adult_story.py`.
