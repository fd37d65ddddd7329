"""
From a fitted tree to an answer
===============================

A decision tree has classified a tumour as malignant. Which smallest change would make the same tree classify it as benign? Ten
lines of code find it, and the answer is exact: no cheaper change exists, and the tree itself confirms it.
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
# A doctor would say: *if the nuclei had fewer concave points, by this much, the model would have said benign*. The columns #2
# and #3 are the cheapest changes along two other paths of the tree: different reasons for the same prediction.
#
# ``data=X`` supplies names, ranges and the cost: by default each change counts as a share of that feature's range in the
# data, so a cost of 0.1 is a tenth of a range.
#
# The exact row
# -------------
#
# ``print`` writes as few digits as keep the row valid. The row itself is exact, in the type and units of the row that you
# passed, and your model confirms it.

best = answer[0]
print(best.changes)
print("the model says", model.predict(best.row.to_frame().T)[0], "- confirmed:", best.confirmed)

# %%
# All three answers with all their digits, as a table:

answer.to_frame(only_changed=True)

# %%
# The proof
# ---------
#
# You do not have to believe that no cheaper change exists. The answer carries a certificate, which shows for every part of the
# tree that it costs at least as much, or that it has no benign leaf. ``check`` verifies it in plain NumPy, without the search.

print(answer.status, "- proof holds:", answer.certificate.check())

# %%
# The picture
# -----------
#
# The changes of the cheapest answer, within the range of each feature, and their shares of the cost:

answer.plot()

# %%
# The tree, with the path of the tumour and the path of the answer, which separate at the split that the change crosses:

answer.plot("tree")

# %%
# If that cannot change
# ---------------------
#
# Freeze the features that the first answer changes, and ask again. The next best answer costs more; the difference is the price
# of the constraint.

locked = explainer.explain(row, target="benign", constraints=cl.freeze(*best.changes))
print(locked)

# %%
# The next page follows one person of the Adult census, with changes that nobody can make:
# :ref:`sphx_glr_auto_examples_02_adult_story.py`.
