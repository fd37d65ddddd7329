"""
Constraints: a recipe for each of them
======================================

A woman of 42 applies to a German bank for 8,318 marks for her business, over 27 months, and the model predicts *bad risk*. She
cannot make the cheapest change. Each recipe below is one sentence of hers, and its effect on the answer.
"""

from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import counterleaf as cl
from counterleaf.datasets import load_german_credit

X_train, X_test, y_train, y_test = load_german_credit().split()
text_columns = X_train.select_dtypes(exclude="number").columns
columns = make_column_transformer((OneHotEncoder(), text_columns), remainder=StandardScaler())
bank = make_pipeline(columns, cl.TAOClassifier(max_depth=3, alpha=3, random_state=0)).fit(
    X_train, y_train
)
explainer = cl.Explainer(bank, data=X_train)
row = X_test.loc[491]


def ask(*constraints, to=explainer, **more):
    """Print and return the cheapest change under the constraints."""
    answer = to.explain(row, target="good", constraints=constraints, **more)
    for best in answer[:1]:
        print(f"cost {best.cost:.3f}")
        for name, (old, new) in best.changes.items():
            print(f"  {name}: {old} -> {new}")
    return answer


answer = ask()

# %%
# "I cannot change that": freeze
# ------------------------------
# All later questions include these locks.

me = cl.freeze(
    "personal_status_and_sex", "age", "foreign_worker", "people_liable", "residence_since"
)
past = cl.freeze("credit_history", "employment_since")
answer = ask(me, past)

# %%
# *Close the account and pay back the other credit first.* This is the cheapest change left.
#
# "It will have this value": fix
# ------------------------------
# She can name a guarantor, and wants to know which changes are still necessary then. The fixed change is part of the cost.

answer = ask(me, past, cl.fix("other_debtors", "guarantor"))

# %%
# "Within this range", "a fifth less at most": between, within
# ------------------------------------------------------------

answer = ask(me, past, cl.within("credit_amount", "-20%", "+10%"))
answer = ask(
    me, past, cl.between("existing_credits", 2, 3), cl.between("credit_amount", 7000, 9000)
)

# %%
# "Only up", "only down", "by at least": only_increase, only_decrease
# -------------------------------------------------------------------
# She would accept less money, but not for a shorter time; a cut of less than 500 marks is not worth the effort.

answer = ask(
    me, past, cl.only_increase("duration_months"), cl.only_decrease("credit_amount", by=500)
)

# %%
# "One of these", "none of these": allow, forbid
# ----------------------------------------------
# ``allow`` lists the categories that an answer may have, ``forbid`` those that it may not have.

some = ["0 to below 200 DM", "200 DM or more/salary for a year"]
answer = ask(me, past, cl.allow("status_of_checking_account", some))
account = cl.forbid("status_of_checking_account", ["no checking account"])
answer = ask(me, past, account, cl.forbid("savings", ["1000 DM or more"]))

# %%
# "Together no more than": linear
# -------------------------------
# A weighted sum, compared with a number: at most 250 marks for each month of the term. A category counts as 0 or 1: applicants
# with a guarantor may have up to 9,000 marks, others up to 7,000.

answer = ask(me, past, cl.linear({"credit_amount": 1, "duration_months": -250}, "<=", 0))
answer = ask(
    me, past, cl.linear({"credit_amount": 1, "other_debtors=guarantor": -2000}, "<=", 7000)
)

# %%
# "Not more than two things": max_changes
# ---------------------------------------
# If she keeps her account, the cheapest answer changes three features. The second one is the cheapest that changes two:

answer = ask(me, past, account)
answer = ask(me, past, account, cl.max_changes(2))

# %%
# "If this, then that": implies
# -----------------------------
# Paying back the other credit takes 1,000 marks, which she would then need in addition.

answer = ask(
    me, past, cl.implies(cl.changed("existing_credits"), cl.only_increase("credit_amount", by=1000))
)

# %%
# "Like somebody who was accepted": among
# ---------------------------------------
# The answer is one of the rows of a table, here of the applicants whom the bank accepted. Nobody can change that much at once,
# which is why nearest rows are poor advice.

answer = ask(cl.among(X_train[y_train == "good"]))

# %%
# Steps and whole numbers: with_features
# --------------------------------------
# Ages and months were inferred to be whole numbers, since the data has no others. The bank lends in steps of 500 marks and for
# half years. The answer is the best row on that grid, not a row rounded to it; rounding could have changed the prediction.

in_steps = explainer.with_features(
    cl.Numeric("credit_amount", 500, 15_000, step=500), cl.Numeric("duration_months", 6, 72, step=6)
)
answer = ask(me, past, account)
answer = ask(me, past, account, to=in_steps)

# %%
# "Safely": margin and explain_margins
# ------------------------------------
# An answer lies just past the splits that it has to cross. ``margin`` keeps it away from them, in the units of the split's sum;
# ``explain_margins`` shows the cost of safety.

path = explainer.explain_margins(
    row, margins=[0.1 * k for k in range(13)], target="good", constraints=[me, past]
)
print(path)
path.plot()

# %%
# No answer: conflict
# -------------------
# With too many constraints no answer exists. The result is then a proof of that, and a smallest set of constraints that
# conflict: she has to give up one of them.

things = ("existing_credits", "savings", "purpose", "other_debtors", "housing", "property")
more = cl.only_increase("credit_amount", "duration_months")
constraints = [me, past, account, more, *(cl.freeze(thing) for thing in things)]
answer = ask(*constraints)  # prints nothing, since no change exists
print(answer.status, "- proved:", answer.certificate.check())
for constraint in answer.conflict:
    print(" ", constraint)
