"""Labels, units and descriptions of German Credit and Adult, and the codes of the former, after the UCI repository.

Numbers of German Credit from 1 to 4 are classes, so they have no unit.
"""

from __future__ import annotations

from counterleaf.table.schema import Schema
from counterleaf.table.words import with_words

Words = dict[str, dict[str, str]]


def _words(*lines: tuple[str, str, str | None, str]) -> Words:
    fields = ("label", "unit", "description")
    return {
        name: {field: text for field, text in zip(fields, texts, strict=True) if text is not None} for name, *texts in lines
    }


GERMAN = _words(
    ("status_of_checking_account", "Checking account", None, "How much money is in the checking account at this bank."),
    ("duration_months", "Duration", "months", "The time in which the credit is paid back."),
    ("credit_history", "Credit history", None, "How earlier and other credits were paid back."),
    ("purpose", "Purpose", None, "What the credit is for."),
    ("credit_amount", "Credit amount", "DM", "The amount of the credit."),
    ("savings", "Savings", None, "How much money is in savings accounts and bonds."),
    ("employment_since", "Employed for", None, "How long the applicant has worked for the present employer."),
    (
        "installment_rate",
        "Installment rate",
        None,
        "The installment as a share of the disposable income, as one of four classes.",
    ),
    ("personal_status_and_sex", "Personal status and sex", None, "Marital status and sex of the applicant."),
    ("other_debtors", "Other debtors", None, "Whether someone else applies as well or guarantees the credit."),
    ("residence_since", "Time at this address", None, "How long the applicant has lived there, as one of four classes."),
    ("property", "Property", None, "The most valuable property of the applicant."),
    ("age", "Age", "years", "The age of the applicant."),
    ("other_installment_plans", "Other installment plans", None, "Whether other installments are paid, to banks or stores."),
    ("housing", "Housing", None, "Whether the applicant rents, owns or lives for free."),
    ("existing_credits", "Existing credits", None, "The number of credits at this bank, as one of four classes."),
    ("job", "Job", None, "The qualification of the applicant."),
    ("people_liable", "Dependants", None, "The number of people whom the applicant has to support, as one of two classes."),
    ("telephone", "Telephone", None, "Whether a telephone is registered under the name of the applicant."),
    ("foreign_worker", "Foreign worker", None, "Whether the applicant is a foreign worker."),
)

ADULT = _words(
    ("age", "Age", "years", "The age of the person."),
    ("workclass", "Employer", None, "The kind of employer, or self-employed."),
    ("fnlwgt", "Census weight", None, "How many people the row stands for."),
    ("education", "Education", None, "The highest level of education."),
    ("education-num", "Level of education", None, "The level of education as a number from 1 to 16."),
    ("marital-status", "Marital status", None, "Whether the person is married."),
    ("occupation", "Occupation", None, "The kind of work."),
    ("relationship", "Relationship", None, "The relation to the other members of the household."),
    ("race", "Race", None, "The race as recorded by the census."),
    ("sex", "Sex", None, "The sex as recorded by the census."),
    ("capital-gain", "Capital gain", "dollars", "The profit from investments in the year."),
    ("capital-loss", "Capital loss", "dollars", "The loss from investments in the year."),
    ("hours-per-week", "Working time", "hours a week", "The usual hours of work."),
    ("native-country", "Country of birth", None, "The country in which the person was born."),
)


def described(schema: Schema, words: Words) -> Schema:
    """Return the same features with their labels, units and descriptions."""
    return schema.replace(*(with_words(feature, words[feature.name]) for feature in schema if feature.name in words))


# the meaning of the codes of German Credit, by feature; A47 (vacation) and A95 (single woman) do not occur
MEANINGS = {
    "status_of_checking_account": {
        "A11": "below 0 DM",
        "A12": "0 to below 200 DM",
        "A13": "200 DM or more/salary for a year",
        "A14": "no checking account",
    },
    "credit_history": {
        "A30": "no credits/all paid back duly",
        "A31": "all credits at this bank paid back duly",
        "A32": "existing credits paid back duly so far",
        "A33": "delays in the past",
        "A34": "critical account/credits at other banks",
    },
    "purpose": {
        "A40": "new car",
        "A41": "used car",
        "A42": "furniture/equipment",
        "A43": "radio/television",
        "A44": "domestic appliances",
        "A45": "repairs",
        "A46": "education",
        "A48": "retraining",
        "A49": "business",
        "A410": "others",
    },
    "savings": {
        "A61": "below 100 DM",
        "A62": "100 to below 500 DM",
        "A63": "500 to below 1000 DM",
        "A64": "1000 DM or more",
        "A65": "unknown/none",
    },
    "employment_since": {
        "A71": "unemployed",
        "A72": "below 1 year",
        "A73": "1 to below 4 years",
        "A74": "4 to below 7 years",
        "A75": "7 years or more",
    },
    "personal_status_and_sex": {
        "A91": "male: divorced/separated",
        "A92": "female: divorced/separated/married",
        "A93": "male: single",
        "A94": "male: married/widowed",
    },
    "other_debtors": {"A101": "none", "A102": "co-applicant", "A103": "guarantor"},
    "property": {
        "A121": "real estate",
        "A122": "building society savings/life insurance",
        "A123": "car or other",
        "A124": "unknown/none",
    },
    "other_installment_plans": {"A141": "bank", "A142": "stores", "A143": "none"},
    "housing": {"A151": "rent", "A152": "own", "A153": "for free"},
    "job": {
        "A171": "unemployed/unskilled non-resident",
        "A172": "unskilled resident",
        "A173": "skilled employee/official",
        "A174": "management/self-employed/highly qualified",
    },
    "telephone": {"A191": "none", "A192": "registered"},
    "foreign_worker": {"A201": "yes", "A202": "no"},
}
