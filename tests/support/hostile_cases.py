"""Valid files of every kind, and changes to them that no writer makes."""

import functools
import hashlib
import json
import random

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from support.strategies import coupled_case, random_case, whole_case
from support.table_cases import table_case

import counterleaf as cl
from counterleaf.packed_arrays import Packed, Unpacker, pack

KINDS = ("tree", "explainer", "answer", "ensemble", "ensemble_explainer", "ensemble_answer")
NUMBERS = (
    *(0, 1, -1, 2, 3, -2, 7, 0.5, -0.5, 0.1, 1.0, -0.0, 10**6, 10**9, 2**31 - 1, 2**31, 2**32, 2**53 + 1),
    *(2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64, 2**70, -(10**40), 10**400, 1e-9, 1e9, 1e-160, 1e160),
    *(1e300, -1e300, 1.7976931348623157e308, -1.7976931348623157e308, 5e-324, 1e-300, 1e-12, 3e38, 3.5e38),
    *(float("nan"), float("inf"), -float("inf")),
)
WORDS = (
    "",
    "0",
    "7",
    "inf",
    "-inf",
    "nan",
    "1e400",
    "left",
    "float32",
    "number",
    "ordinal",
    "\x00",
    "a\x00",
    "\ud800",
    "a\nb",
    "long" * 1000,
)
OTHERS = (None, True, False, [], {}, [[]], [None], [{}], {"a": 1}, [0] * 30, [1.0, "x"], [[1], [2, 3]])


def seal(content):
    """An answer with a digest that fits its changed content."""
    content = {name: value for name, value in content.items() if name != "digest"}
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return json.dumps({**content, "digest": hashlib.sha256(canonical.encode()).hexdigest()})


@functools.cache
def honest():
    """{kind: texts} as the library writes them."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    iris = cl.Explainer(DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y), data=X)
    line = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    plain = [random_case(np.random.default_rng(seed), features=3, depth=2) for seed in (0, 3)]
    tables = [table_case(np.random.default_rng(seed), groups=2, categories=3, numerics=2, depth=3) for seed in range(4)]
    made = [iris, cl.Explainer(line), *(cl.Explainer(case.tree, schema=case.schema) for case in (*plain, *tables))]
    forests = [
        cl.Explainer(RandomForestClassifier(6, max_depth=3, random_state=0).fit(X, y), data=X),
        cl.Explainer(HistGradientBoostingClassifier(max_iter=2).fit(X.mask(X > 6.0), y), data=X.mask(X > 6.0)),
        cl.Explainer(GradientBoostingRegressor(n_estimators=3, random_state=0).fit(X, y)),
    ]
    return {
        "ensemble": [one.tree.to_json() for one in forests],
        "ensemble_explainer": [one.to_json() for one in forests],
        "ensemble_answer": [answer.to_json() for answer in _ensemble_answers(*forests, X)],
        "tree": [one.tree.to_json() for one in made],
        "explainer": [one.to_json() for one in made],
        "answer": [answer.to_json() for answer in _answers(iris, X, cl.Explainer(line))],
    }


def _ensemble_answers(forest, boosted, numbers, X):
    yield forest.explain(X.iloc[0], count=2)
    yield forest.explain(X.iloc[0], target=2, support=2, margin="1%")
    yield forest.explain(X.iloc[0], target=cl.probability(2, at_least=0.6), constraints=cl.max_changes(3))
    yield forest.explain(X.iloc[0], target=2, constraints=cl.freeze(*X.columns))
    yield boosted.explain(X.mask(X > 6.0).iloc[130])
    yield numbers.explain(X.iloc[0], target=cl.value(at_least=0.4))


def _answers(iris, X, line):
    """Answers of every status, with every kind of cost, constraint and row."""
    job = cl.Schema([cl.Numeric("pay", 0, 9, step=0.5), cl.Categorical("job", ["cook", "clerk", "smith"]), cl.Boolean("own")])
    weights = [[1.0, 2.0, 0, -1.0, 1.5], *[[0] * 5] * 2]
    mixed = cl.Explainer(cl.Tree([1, -1, -1], [2, -1, -1], [w[:5] for w in weights], [-4.0, 0, 0], [-1, 0, 1]), schema=job)
    row = {"pay": 1.0, "job": "clerk", "own": False}
    half = cl.linear({"x0": 1.0, "x1": -1.0}, "==", 0.25)
    yield iris.explain(X.iloc[0], target=2, count=2)
    yield iris.explain(X.iloc[[1]], target=1, margin=0.1)
    yield iris.explain(X.iloc[0], target=2, constraints=[cl.among(X.iloc[100:103])])
    yield iris.explain(X.iloc[0], target=2, constraints=[cl.freeze(*X.columns)])
    yield line.explain([0.0, 0.0], target="yes", cost=cl.L1() + cl.L2([1.0, 2.0]), constraints=[half])
    yield line.explain(np.zeros(2), target="yes", cost=cl.Quadratic([[2.0, 1.0], [1.0, 2.0]]))
    yield mixed.explain(row, target=1, constraints=[cl.max_changes(2), cl.implies(cl.changed("job"), cl.only_increase("pay"))])
    yield mixed.explain(pd.Series(row), target=1, cost=cl.L1({"pay": 1.0, "job": 3.0}), count=None)
    yield mixed.explain(row, target=1, constraints=[cl.freeze("pay", "job"), cl.fix("own", False)])
    yield mixed.explain(row, target=1, constraints=[cl.linear({"pay": 1.0, "job=cook": -2.0}, ">=", 0.5)], max_nodes=1)
    for seed, make in ((2, whole_case), (5, coupled_case)):
        case = make(np.random.default_rng(seed))
        question = {"target": case.target, "cost": case.cost, "constraints": case.constraints, "margin": case.margin}
        yield cl.Explainer(case.tree, schema=case.schema).explain(case.row, **question)


def hostile(kind, name):
    """The text of a changed file; ``name`` is the seed of the changes."""
    rng = random.Random(f"{kind} {name}")
    texts = honest()[kind]
    content = json.loads(rng.choice(texts))
    try:
        for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5))):
            content = _changed(rng, content, texts)
        text = seal(content) if "answer" in kind and isinstance(content, dict) else json.dumps(content)
    except RecursionError:  # nested too deep to be written, but not to be read
        text = "[" * 900 + "]" * 900
    return _respelled(rng, text) if rng.random() < 0.15 else text


def _places(value):
    stack = [value]
    while stack:
        at = stack.pop()
        for key in list(at) if isinstance(at, dict) else range(len(at)) if isinstance(at, list) else ():
            yield at, key
            stack.append(at[key])


def _changed(rng, content, texts):
    places = list(_places(content))
    if not places:
        return content
    packed = [(holder, key) for holder, key in places if isinstance(holder[key], dict) and "zlib" in holder[key]]
    if packed and rng.random() < 0.6:
        _repacked(rng, *rng.choice(packed))
        return content
    shallow = [place for place in places if isinstance(place[0], dict)]  # few, and each is a whole part
    holder, key = rng.choice(shallow if shallow and rng.random() < 0.4 else places)
    change = rng.choice(
        (_other_value, _other_value, _other_type, _nudged, _longer_or_shorter, _gone, _swapped, _crossed, _deep)
    )
    change(rng, holder, key, places, texts)
    return content


def _repacked(rng, holder, key):
    """Other numbers in a compressed array."""
    stored, reader = holder[key], Unpacker(10**6, "it")
    try:
        read = {"f": reader.real, "i": reader.whole}.get(stored["dtype"][0])
        array = reader.octets("x", stored) if read is None else read("x", stored, *[None] * len(stored["shape"]))
    except (cl.CounterleafError, TypeError, LookupError):  # after an earlier change
        return
    flat = array.ravel().copy()
    pick = rng.random()
    if pick < 0.6 and len(flat):
        at, numbers = rng.randrange(len(flat)), [float(one) for one in NUMBERS if abs(one) < 2**62]
        old, other = float(flat[at]), float(flat[rng.randrange(len(flat))])
        value = rng.choice([*numbers, old + 1, old - 1, -old, other])
        with np.errstate(invalid="ignore", over="ignore"):
            flat[at] = np.array(value).astype(flat.dtype)
        array = flat.reshape(array.shape)
    elif pick < 0.7:
        array = array[: rng.randrange(len(array) + 1)] if array.ndim else array
    elif pick < 0.8:
        array = np.concatenate([array, array[:1]])
    elif pick < 0.9:
        array = array[::-1]
    else:
        array = np.ascontiguousarray(array).reshape(-1, 1)
    holder[key] = (pack(array) if rng.random() < 0.9 else Packed(np.ascontiguousarray(array))).written()


def _other_value(rng, holder, key, places, texts):
    holder[key] = json.loads(json.dumps(rng.choice(rng.choice((NUMBERS, NUMBERS, WORDS, OTHERS)))))


def _other_type(rng, holder, key, places, texts):
    value = holder[key]
    others = [str(value)[:1000], [value], {"0": value}, bool(value), None, len(str(value))]
    if isinstance(value, list):
        others += [{str(k): one for k, one in enumerate(value)}, value[0] if value else 0]
    if isinstance(value, dict):
        others += [list(value), list(value.values()), list(value.items())]
    if isinstance(value, (int, float)) and abs(value) < 1e300:
        others += [float(value), int(value), value + 0.5]
    holder[key] = rng.choice(others)


def _nudged(rng, holder, key, places, texts):
    """Another number near by, or another digit."""
    numbers = [(h, k) for h, k in places if k in range(len(h)) and isinstance(h[k], (int, float))] if rng.random() < 0.7 else []
    holder, key = rng.choice(numbers) if numbers else (holder, key)
    value = holder[key]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        holder[key] = rng.choice(NUMBERS)
        return
    digits = list(repr(value))
    digits[rng.randrange(len(digits))] = rng.choice("0123456789")
    try:
        flipped = json.loads("".join(digits))
    except ValueError:
        flipped = 0
    small = value / 3 if abs(value) < 1e300 else 1 / 3
    holder[key] = rng.choice((flipped, value + 1, value - 1, -value, value * 2, value * 1000, small, small * 1e-200))


def _longer_or_shorter(rng, holder, key, places, texts):
    lists = [(h, k) for h, k in places if isinstance(h[k], list)]
    if not lists:
        return
    holder, key = rng.choice(lists)
    value = holder[key]
    at = rng.randrange(len(value) + 1)
    extra = [rng.choice(value)] if value else [rng.choice(NUMBERS)]
    again = value * rng.choice((0, 2, 3))
    holder[key] = rng.choice((value[:at], value[at:], value[:at] + extra + value[at:], again, value[::-1], value + extra * 50))


def _gone(rng, holder, key, places, texts):
    """A key is deleted, moved, renamed or there twice."""
    if isinstance(holder, list):
        del holder[key]
        return
    value = holder.pop(key)
    pick = rng.random()
    if pick < 0.3:
        holder[rng.choice((key.upper(), key + " ", "", "more"))] = value
    elif pick < 0.5:
        other = rng.choice([h for h, _ in places if isinstance(h, dict)])
        other[key] = value
    elif pick < 0.7:
        holder[key] = value
        holder[rng.choice(("more", "x", key * 2))] = value


def _swapped(rng, holder, key, places, texts):
    other, at = rng.choice(places)
    ours, theirs = json.dumps(holder[key]), json.dumps(other[at])
    holder[key] = json.loads(theirs)
    if rng.random() < 0.5 and (at in other if isinstance(other, dict) else at < len(other)):
        other[at] = json.loads(ours)


def _crossed(rng, holder, key, places, texts):
    """A part of another honest file, of the same name where there is one."""
    theirs = list(_places(json.loads(rng.choice(texts))))
    alike = [(h, k) for h, k in theirs if k == key]
    other, at = rng.choice(alike or theirs)
    holder[key] = other[at]


def _deep(rng, holder, key, places, texts):
    if rng.random() < 0.8:  # rare: it is refused at once, and long to write
        return _other_value(rng, holder, key, places, texts)
    value = holder[key]
    for _ in range(rng.choice((2, 30, 70, 300, 800))):
        value = [value] if rng.random() < 0.7 else {"a": value}
    holder[key] = value
    return None


def _respelled(rng, text):
    """Change the text itself: invalid JSON, or JSON that two readers read differently."""
    at = rng.randrange(len(text))
    pick = rng.randrange(8)
    if pick == 0:
        return text[:at]
    if pick == 1:
        return text[:at] + text[at + rng.randrange(20) :]
    if pick == 2:
        return text[:at] + rng.choice(("\x00", "\n", "\u2028", "9", "-", '"', "\\", "[", "}", "e9", "\ufeff")) + text[at:]
    if pick == 3:
        numbers = [k for k in range(1, len(text)) if text[k].isdigit() and text[k - 1] == " "]
        at = rng.choice(numbers or [at])
        odd = ("NaN", "Infinity", "-Infinity", "1e400", "-0.0", "0x10", "1_0", "01", "9" * 5000, "1e-400", ".5")
        return text[:at] + rng.choice(odd) + text[at + 1 :]
    if pick == 4:
        return "\ufeff" + text
    if pick == 5:
        return "[" * rng.choice((10, 1000, 100_000)) + text
    names = [k for k in range(len(text)) if text.startswith('": ', k)]
    at = text.rfind('"', 0, rng.choice(names)) if names else at
    name = text[at : text.find('"', at + 1) + 1]
    return f"{text[:at]}{name}: {rng.choice(('0', '[]', 'null', '1e9', text[:50]))}, {text[at:]}"
