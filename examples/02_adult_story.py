"""
One person, one lock after another
==================================

A man of 25 with eleven years of school works 40 hours at a machine. A tree learned from the US census of 1994 says that he
earns at most 50,000 dollars. What would make it say more? The first answer is the cheapest for the model and useless for
him. So he locks what he cannot change and asks again, as in table 1 of the paper, until nothing is left.
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
words = X_train.select_dtypes(exclude="number").columns
columns = make_column_transformer(
    (OneHotEncoder(handle_unknown="ignore"), words), remainder=StandardScaler()
)
model = make_pipeline(columns, cl.TAOClassifier(max_depth=5, random_state=0))
model.fit(X_train[:8000], y_train[:8000])  # a part of the rows, so that this page is quick to build
print(
    f"{model.score(X_test, y_test):.1%} of the test rows right, with {model[-1].get_n_leaves()} leaves"
)

# %%
# The person is the paper's. Degrees have an order, which a table of text does not show, so we say it: ``increase`` can then
# mean *only up*, and a degree more costs less than three.

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
# *Have a capital gain of some thousand dollars.* It is the cheapest change there is, and proved to be: a sliver of a range that
# goes up to 99,999. But who could make such a gain on stocks would not be asking. Each of the locks below says no to what the
# answer before it wanted.

locks = {
    "nothing": None,
    "capital": cl.freeze("capital-gain", "capital-loss"),
    "age at most 40": cl.between("age", 25, 40),
    "at most 60 hours": cl.between("hours-per-week", 0, 60),
    "family": cl.freeze("marital-status", "relationship"),
    "origin": cl.freeze("race", "sex", "native-country"),
    "education only up": cl.increase("education"),
    "a degree takes time": cl.implies(cl.changes("education"), cl.increase("age", by=2)),
    "job": cl.freeze("workclass", "occupation"),
}
given, story = [], []
for name, lock in locks.items():
    given += [lock] if lock is not None else []
    answer = explainer.explain(person, target=">50K", constraints=given)
    for best in answer:  # one, or none
        wanted = {feature: new for feature, (_, new) in best.changes.items()}
        story.append({"also locked": name, "cost": round(best.cost, 3), **wanted})
print("with everything locked:", answer.status)
story = pd.DataFrame(story, dtype=object).set_index("also locked").fillna("")
story

# %%
# Read it as he would: *wait until I am 78?* So no age above 40. *Work 99 hours a week?* So at most 60. *Change what I am born
# as, or my family, to please a model?* No. What is left at that point is a real plan, if a hard one: ten years, a professional
# degree, a manager's job. The next two locks change nothing, since that plan obeys them already. With his job locked too there
# is nothing.

held = story["cost"].astype(float)
figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
axes.step(range(len(held)), held, where="mid", color="#1f5a8a", linewidth=2)
axes.plot(range(len(held)), held, "o", color="#1f5a8a")
axes.plot(len(held), held.max(), "x", color="#b3401f", markersize=9, markeredgewidth=2)
axes.text(len(held), held.max() - 0.22, "none", ha="center", color="#b3401f")
axes.set_xticks(range(len(locks)), locks, rotation=30, ha="right")
axes.set(
    ylabel="cost of the cheapest change", ylim=(0, 2), title="Each lock can only make it dearer"
)
axes.spines[["top", "right"]].set_visible(False)

# %%
# Which locks clash?
# ------------------
#
# The last answer is not "not found" but "does not exist", with a proof, and it names a smallest set of his own locks that
# cannot hold together. That locks are missing from it is information too: those may stay.

print(answer)
print("proved:", answer.certificate.check())

# %%
# One of them has to give. What would each be worth?

for lock in answer.conflict:
    others = [other for other in given if other is not lock]
    freed = explainer.explain(person, target=">50K", constraints=others)
    print(f"{freed[0].cost:.3f} without {lock}")

# %%
# For an auditor this is the other side of the same table: a cost that falls when ``race``, ``sex`` or ``native-country`` is
# set free is proof that, for this person, the model makes a difference there.
