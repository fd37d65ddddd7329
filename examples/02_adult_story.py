"""
One person, one lock after another
==================================

A man of 25 with eleven years of school works 40 hours a week at a machine. A tree learned from the US census of 1994 predicts
that he earns at most 50,000 dollars. Which change would make it predict more? The first answer is the cheapest for the model
and useless for him. He locks the features that he cannot change and asks again, as in table 1 of the paper, until no answer
is left.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import counterleaf as cl
from counterleaf.datasets import load_adult

adult = load_adult()
X_train, X_test, y_train, y_test = adult.split()
text_columns = X_train.select_dtypes(exclude="number").columns
columns = make_column_transformer(
    (OneHotEncoder(handle_unknown="ignore"), text_columns), remainder=StandardScaler()
)
model = make_pipeline(columns, cl.TAOClassifier(max_depth=5, random_state=0))
model.fit(X_train[:8000], y_train[:8000])  # a part of the rows, so that this page is quick to build
print(
    f"{model.score(X_test, y_test):.1%} of the test rows right, with {model[-1].get_n_leaves()} leaves"
)

# %%
# The person is from the paper. Degrees have an order, which a table of text does not show, so we declare it. ``only_increase``
# then means *only a higher degree*, and one degree more costs less than three.

person = {
    "age": 25,
    "workclass": "Private",
    "education": "11th",
    "marital-status": "Never-married",
    "occupation": "Machine-op-inspct",
    "relationship": "Own-child",
    "race": "Black",
    "sex": "Male",
    "capital-gain": 0,
    "capital-loss": 0,
    "hours-per-week": 40,
    "native-country": "United-States",
}
degrees = ["Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th"]
degrees += ["HS-grad", "Some-college", "Assoc-voc", "Assoc-acdm"]
degrees += ["Bachelors", "Masters", "Prof-school", "Doctorate"]
schema = adult.schema.replace(cl.Ordinal("education", degrees))
explainer = cl.Explainer(model, data=X_train, schema=schema)
print(explainer.explain(person, target=">50K"))

# %%
# *Have a capital gain of some thousand dollars.* This is proved to be the cheapest change: a small part of a range that goes
# up to 99,999. But a person who could make such a gain would not need to ask. Each lock below rules out the answer before it.

locks = {
    "nothing": None,
    "capital": cl.freeze("capital-gain", "capital-loss"),
    "age at most 40": cl.between("age", 25, 40),
    "at most 60 hours": cl.between("hours-per-week", 0, 60),
    "family": cl.freeze("marital-status", "relationship"),
    "origin": cl.freeze("race", "sex", "native-country"),
    "education only up": cl.only_increase("education"),
    "a degree takes time": cl.implies(cl.changed("education"), cl.only_increase("age", by=2)),
    "job": cl.freeze("workclass", "occupation"),
}
constraints, story = [], []
for name, lock in locks.items():
    constraints += [lock] if lock is not None else []
    answer = explainer.explain(person, target=">50K", constraints=constraints)
    for best in answer:  # one, or none
        new_values = {feature: new for feature, (_, new) in best.changes.items()}
        story.append({"also locked": name, "cost": round(best.cost, 3), **new_values})
print("with everything locked:", answer.status)
story = pd.DataFrame(story, dtype=object).set_index("also locked").fillna("")
story

# %%
# Read it as he would: *wait until I am 78?* So no age above 40. *Work 99 hours a week?* So at most 60. *Change my origin or my
# family to please a model?* No. The answer at that point is a real plan, if a hard one: ten years, a professional degree, a
# manager's job. The next two locks change nothing, since that plan satisfies them already. If his job is locked too, no answer
# exists.

costs = story["cost"].astype(float)
figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
axes.step(range(len(costs)), costs, where="mid", color="#1f5a8a", linewidth=2)
axes.plot(range(len(costs)), costs, "o", color="#1f5a8a")
axes.plot(len(costs), costs.max(), "x", color="#b3401f", markersize=9, markeredgewidth=2)
axes.text(len(costs), costs.max() - 0.22, "none", ha="center", color="#b3401f")
axes.set_xticks(range(len(locks)), locks, rotation=30, ha="right")
axes.set(
    ylabel="cost of the cheapest change", ylim=(0, 2), title="Each lock can only raise the cost"
)
axes.spines[["top", "right"]].set_visible(False)

# %%
# Which locks conflict?
# ---------------------
#
# The last answer does not mean "not found" but "does not exist", with a proof, and it names a smallest set of his locks that
# conflict. Locks that are missing from this set may stay.

print(answer)
print("proved:", answer.certificate.check())

# %%
# He has to give up one of them. The cost without each lock shows which:

for lock in answer.conflict:
    others = [other for other in constraints if other is not lock]
    freed = explainer.explain(person, target=">50K", constraints=others)
    print(f"{freed[0].cost:.3f} without {lock}")

# %%
# An auditor can read the same table differently: if the cost decreases when ``race``, ``sex`` or ``native-country`` may change,
# this proves that the model treats this person differently because of it.
