"""
What may change: a recipe for every constraint
==============================================

A woman of 42 asks a German bank for 8,318 marks for her business, over 27 months, and the model says *bad risk*. The cheapest
change is not one she can make. Each recipe below is one sentence of hers, and what it does to the answer.
"""

from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import counterleaf as cl
from counterleaf.datasets import load_german_credit

X_train, X_test, y_train, y_test = load_german_credit().split()
words = X_train.select_dtypes(exclude="number").columns
columns = make_column_transformer((OneHotEncoder(), words), remainder=StandardScaler())
bank = make_pipeline(columns, cl.TAOClassifier(max_depth=3, alpha=3, random_state=0)).fit(
    X_train, y_train
)
explainer = cl.Explainer(bank, data=X_train)
row = X_test.loc[491]


def ask(*constraints, to=explainer, **more):
    """The cheapest change under the constraints, its cost first."""
    answer = to.explain(row, target="good", constraints=constraints, **more)
    for best in answer[:1]:
        print(f"cost {best.cost:.3f}")
        for name, (old, new) in best.changes.items():
            print(f"  {name}: {old} -> {new}")
    return answer


answer = ask()

# %%
# "That I cannot change": freeze
# ------------------------------
# Whatever comes after is asked with these locks as well.

me = cl.freeze(
    "personal_status_and_sex", "age", "foreign_worker", "people_liable", "residence_since"
)
past = cl.freeze("credit_history", "employment_since")
answer = ask(me, past)

# %%
# *Close the account and pay back the other credit first.* It is the cheapest change left, and she has more to say about it.
#
# "It will be this": fix
# ----------------------
# She can put up a guarantor, and wants to know what is still missing then. Her own change is part of the cost.

answer = ask(me, past, cl.fix("other_debtors", "guarantor"))

# %%
# "From here to there": between
# -----------------------------

answer = ask(
    me, past, cl.between("existing_credits", 2, 3), cl.between("credit_amount", 7000, 9000)
)

# %%
# "Only up", "only down", "by at least": increase, decrease
# ---------------------------------------------------------
# She would take less money, but not for a shorter time; a cut of less than 500 marks is not worth the talk.

answer = ask(me, past, cl.increase("duration_months"), cl.decrease("credit_amount", by=500))

# %%
# "One of these", "none of these": allow, forbid
# ----------------------------------------------
# ``allow`` lists where a category may end, ``forbid`` where it may not.

some = ["0 to below 200 DM", "200 DM or more/salary for a year"]
answer = ask(me, past, cl.allow("status_of_checking_account", some))
account = cl.forbid("status_of_checking_account", ["no checking account"])
answer = ask(me, past, account, cl.forbid("savings", ["1000 DM or more"]))

# %%
# "Together no more than": linear
# -------------------------------
# A sum of numbers, compared with a number: at most 250 marks for each month of the term. A category takes part as 0 or 1:
# whoever names a guarantor may have up to 9,000 marks, others up to 7,000.

answer = ask(me, past, cl.linear({"credit_amount": 1, "duration_months": -250}, "<=", 0))
answer = ask(
    me, past, cl.linear({"credit_amount": 1, "other_debtors=guarantor": -2000}, "<=", 7000)
)

# %%
# "Not more than two things": at_most
# -----------------------------------
# With her account kept, the cheapest way changes three things. The cheapest way that changes two:

answer = ask(me, past, account)
answer = ask(me, past, account, cl.at_most(2))

# %%
# "If this, then that": implies
# -----------------------------
# To pay back the other credit takes 1,000 marks, which she would then need on top.

answer = ask(
    me, past, cl.implies(cl.changes("existing_credits"), cl.increase("credit_amount", by=1000))
)

# %%
# "Like somebody who was accepted": among
# ---------------------------------------
# The answer is one of the rows of a table, here of those whom the bank found good. Nobody can change that many things at once,
# which is why nearest rows make poor advice.

answer = ask(cl.among(X_train[y_train == "good"]))

# %%
# Steps and whole numbers: replace
# --------------------------------
# Ages and months were taken for whole numbers, since the data has no others. The bank lends in steps of 500 marks and for half
# years: the answer is the best row on that grid, not one rounded to it, and rounding could have lost the verdict.

in_steps = explainer.replace(
    cl.Numeric("credit_amount", 500, 15_000, step=500), cl.Numeric("duration_months", 6, 72, step=6)
)
answer = ask(me, past, account)
answer = ask(me, past, account, to=in_steps)

# %%
# "Safely": margin and explain_path
# ---------------------------------
# An answer stands just past the splits that it has to pass. ``margin`` keeps it away from them, in the units of the split's
# sum; ``explain_path`` shows what safety costs.

path = explainer.explain_path(
    row, margins=[0.1 * k for k in range(13)], target="good", constraints=[me, past]
)
print(path)
path.plot()

# %%
# Where nothing is left: conflict
# -------------------------------
# Too many wishes have no answer. Then the answer is the proof of that, and the fewest wishes that clash: one of them has to
# give.

things = ("existing_credits", "savings", "purpose", "other_debtors", "housing", "property")
more = cl.increase("credit_amount", "duration_months")
wishes = [me, past, account, more, *(cl.freeze(thing) for thing in things)]
answer = ask(*wishes)  # prints nothing: there is no change to print
print(answer.status, "- proved:", answer.certificate.check())
for clashing in answer.conflict:
    print(" ", clashing)
