"""Models with every kind of feature, and the table of features as a user operates it."""

import re

import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

import counterleaf as cl

COUNTRIES = [f"country {k:02}" for k in range(45)]
LONG = "a_name_that_is_much_longer_than_any_column_of_a_table_" * 3
HOSTILE = "<img src=x onerror=alert(1)>"
DUE = 19_600  # 2023-08-31, in days since 1970
SCHEMA = cl.Schema(
    [
        cl.Numeric("amount", 0, 20_000, step=50, unit="DM", label="Credit amount", description="How much you borrow."),
        cl.Numeric("due", 19_000, 20_000, integer=True, unit="date", label="Due date"),
        cl.Categorical("country", COUNTRIES),
        cl.Ordinal("school", ["none", "basic", "high", "college"]),
        cl.Boolean("owner"),
        cl.Numeric(LONG, 0, 1),
        cl.Numeric(HOSTILE, 0, 1),
        cl.Numeric("__proto__", 0, 1),
        cl.Numeric("share", 0.0, 1.0),
    ]
)


def every_kind():
    """ "Granted" below 8,000 DM, in country 07, or if due after 2023-05-24."""
    names = ["amount", "due", *COUNTRIES, "school", "owner", LONG, HOSTILE, "__proto__", "share"]
    weights, bias = np.zeros((7, len(names))), np.zeros(7)
    for node, name, cut in ((0, "amount", 8_000), (2, "country 07", 0.5), (3, "due", 19_700)):
        weights[node, names.index(name)], bias[node] = 1.0, -cut
    tree = cl.Tree(
        [1, -1, 3, 5, -1, -1, -1], [2, -1, 4, 6, -1, -1, -1], weights, bias, [-1, 1, -1, -1, 1, 0, 1], ["refused", "granted"]
    )
    rng = np.random.default_rng(3)
    columns = {
        "amount": rng.integers(20, 400, 60) * 50,
        "due": rng.integers(19_000, 20_001, 60),
        "country": rng.choice(COUNTRIES, 60),
        "school": rng.choice(["none", "basic", "high", "college"], 60),
        "owner": rng.random(60) < 0.5,
        **{name: rng.random(60).round(2) for name in (LONG, HOSTILE, "__proto__", "share")},
    }
    rows = pd.DataFrame(columns)
    rows.loc[0, ["amount", "due", "country", "school", "share"]] = [12_000, DUE, "country 11", "basic", 1 / 3]
    return cl.Explainer(tree, data=rows, schema=SCHEMA), rows


def with_gaps():
    """A pipeline that fills in the median income, and rows without one."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"income": rng.integers(1000, 9000, 200) * 1.0, "debt": rng.integers(0, 5000, 200) * 1.0})
    labels = np.where(rows.income - rows.debt > 2000, "yes", "no")
    rows.loc[:19, "income"] = np.nan
    pipeline = make_pipeline(SimpleImputer(strategy="median"), DecisionTreeClassifier(max_depth=4, random_state=0))
    return cl.Explainer(pipeline.fit(rows, labels), data=rows), rows


def line(explorer, label):
    """The line of a feature."""
    return explorer.page.locator("tbody.feature").filter(
        has=explorer.page.locator(".label", has_text=re.compile(f"^{re.escape(label)}$"))
    )


def order(explorer):
    return explorer.page.locator("tbody.feature:not([hidden]) .label").all_inner_texts()


def now(explorer, label):
    return explorer.page.get_by_label(f"{label} now", exact=True)


def end(explorer, side, label):
    return explorer.page.get_by_role("slider", name=f"{side}, {label}", exact=True)


def control(explorer, name):
    return explorer.state().get("controls", {}).get(name)


def leave(explorer):
    """Move the pointer and the focus out of the table."""
    explorer.page.mouse.move(0, 0)
    explorer.page.evaluate("document.activeElement.blur()")


def drag(explorer, handle, distance, release=True):
    handle.scroll_into_view_if_needed()
    box = handle.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    mouse = explorer.page.mouse
    mouse.move(x, y)
    mouse.down()
    for part in range(1, 11):
        mouse.move(x + distance * part / 10, y)
    if release:
        mouse.up()


def values_in_ways(explorer, feature):
    """The values of a feature in all options of the last answer."""
    post = """async (hash) => {
        const text = atob(hash.slice(3).replaceAll("-", "+").replaceAll("_", "/"));
        const headers = { "Content-Type": "application/json" };
        const reply = await fetch("/api/answer", { method: "POST", headers, body: text });
        return (await reply.json()).ways.map((way) => way.changes);
    }"""
    ways = explorer.page.evaluate(post, "#" + explorer.address().partition("#")[2])
    return [change["to_value"] for changes in ways for change in changes if change["feature"] == feature]
