"""Train a scikit-learn tree on bundled data, explain one row, print the answer."""

from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import counterleaf as cl

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
model = DecisionTreeClassifier(max_leaf_nodes=12, random_state=0).fit(X, y.map({0: "malignant", 1: "benign"}))
row = X.iloc[4]

explainer = cl.Explainer(model, data=X)
answer = explainer.explain(row, target="benign", count=3)
print(f"The model says {model.predict(X.iloc[[4]])[0]} for this tumour. What would make it say benign?\n")
print(answer)

locked = explainer.explain(row, target="benign", constraints=[cl.freeze(*answer[0].changes)])
print("\nAnd if none of those could change?\n")
print(locked)
print("\nBoth proofs re-checked without the search:", answer.certificate.check() and locked.certificate.check())
