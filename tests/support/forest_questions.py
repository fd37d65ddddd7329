"""Random small ensembles of every supported library, and random questions about them for the library and for the oracle."""

import math
import warnings

import numpy as np
import pandas as pd
from sklearn import ensemble as sk
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from support.forest_referee import Price, Question, Rule

import counterleaf as cl

NUMBERS = ["a", "b", "n"]
JOBS = ["clerk", "cook", "smith", "vet"]
SIZES = ["S", "M", "L"]


def table(rng, n=120, numbers=3, categories=False, gaps=False):
    """A frame: plain numbers a, b, ..., whole numbers n, and the categories job and city."""
    out = {}
    for name in "abcd"[: numbers - 1]:
        out[name] = np.round(rng.normal(size=n) * float(rng.choice([1.0, 30.0])), int(rng.choice([1, 3, 12])))
    out["n"] = rng.integers(-2, 9, n)
    if gaps:
        out["a"] = np.where(rng.random(n) < 0.2, np.nan, out["a"])
    frame = pd.DataFrame(out)
    if categories:
        frame["job"] = pd.Categorical(rng.choice(JOBS, n), categories=JOBS)
        frame["city"] = pd.Categorical(rng.choice(["Oslo", "Rome"], n), categories=["Oslo", "Rome"])
    return frame


def labels(rng, frame, classes):
    """Classes that depend on all columns; numbers if ``classes`` is 0."""
    score = np.zeros(len(frame))
    for name in frame.columns:
        if isinstance(frame[name].dtype, pd.CategoricalDtype):
            score += rng.normal(size=len(frame[name].cat.categories))[frame[name].cat.codes]
        else:
            x = frame[name].fillna(0.0).to_numpy(float)
            score += rng.normal() * np.sin(2.0 * x / max(x.std(), 1e-9)) + rng.normal() * x / max(x.std(), 1e-9)
    score += 0.3 * rng.normal(size=len(frame))
    if not classes:
        return score
    return np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))


def _stump(rng, regression=False):
    kind = DecisionTreeRegressor if regression else DecisionTreeClassifier
    return kind(max_depth=int(rng.integers(1, 4)), max_leaf_nodes=5)


def scikit(rng, name, regression, seed):
    """A model of scikit-learn."""
    trees = int(rng.integers(2 if rng.random() < 0.8 else 1, 5))
    end = "Regressor" if regression else "Classifier"
    few = {"max_leaf_nodes": int(rng.integers(2, 6)), "random_state": seed}
    if name in ("RandomForest", "ExtraTrees"):
        return getattr(sk, name + end)(trees, **few)
    if name == "GradientBoosting":
        return getattr(sk, name + end)(n_estimators=trees, learning_rate=0.5, **few)
    if name == "HistGradientBoosting":
        return getattr(sk, name + end)(
            max_iter=trees, learning_rate=0.5, min_samples_leaf=5, max_leaf_nodes=4, random_state=seed
        )
    if name == "AdaBoost":
        return getattr(sk, name + end)(_stump(rng, regression), n_estimators=trees, random_state=seed)
    if name == "Bagging":
        return getattr(sk, name + end)(_stump(rng, regression), n_estimators=trees, random_state=seed)
    parts = [(f"t{k}", _stump(rng, regression).set_params(random_state=k, splitter="random")) for k in range(trees + 1)]
    weights = None if rng.random() < 0.5 else np.round(rng.random(len(parts)) + 0.1, 1)
    if regression:
        return sk.VotingRegressor(parts, weights=weights)
    return sk.VotingClassifier(parts, voting="soft" if name == "VotingSoft" else "hard", weights=weights)


SCIKIT = [
    "RandomForest",
    "ExtraTrees",
    "GradientBoosting",
    "HistGradientBoosting",
    "AdaBoost",
    "Bagging",
    "VotingSoft",
    "VotingHard",
]
OTHERS = ["xgboost", "lightgbm", "catboost", "ydf"]
LIBRARIES = [*SCIKIT, *OTHERS]


def other(rng, name, regression, seed, categories):
    """A model of another library."""
    trees = int(rng.integers(2 if rng.random() < 0.8 else 1, 5))
    if name == "xgboost":
        import xgboost

        kind = xgboost.XGBRegressor if regression else xgboost.XGBClassifier
        return kind(
            n_estimators=trees, max_depth=2, learning_rate=0.7, random_state=seed, n_jobs=1, enable_categorical=categories
        )
    if name == "lightgbm":
        import lightgbm

        kind = lightgbm.LGBMRegressor if regression else lightgbm.LGBMClassifier
        return kind(
            n_estimators=trees, num_leaves=4, learning_rate=0.7, min_child_samples=5, verbose=-1, n_jobs=1, random_state=seed
        )
    import catboost

    kind = catboost.CatBoostRegressor if regression else catboost.CatBoostClassifier
    more = {"cat_features": ["job", "city"], "one_hot_max_size": 10} if categories else {}
    return kind(
        iterations=trees,
        depth=2,
        learning_rate=0.7,
        verbose=0,
        random_seed=seed,
        thread_count=1,
        allow_writing_files=False,
        **more,
    )


def fit_ydf(rng, frame, y, regression, seed):
    import ydf

    ydf.verbose(0)
    task = ydf.Task.REGRESSION if regression else ydf.Task.CLASSIFICATION
    kind = ydf.RandomForestLearner if rng.random() < 0.5 else ydf.GradientBoostedTreesLearner
    few = {"num_trees": int(rng.integers(1, 5)), "max_depth": 3, "random_seed": seed, "min_examples": 5}
    if kind is ydf.GradientBoostedTreesLearner:
        few["validation_ratio"] = 0.0
    data = frame.assign(y=y if regression else [f"k{k}" for k in y])
    return kind(label="y", task=task, **few).train(data)


def pipeline(rng, model, frame):
    """A pipeline that scales numbers and encodes categories."""
    numbers = [c for c in frame.columns if not isinstance(frame[c].dtype, pd.CategoricalDtype)]
    others = [c for c in frame.columns if c not in numbers]
    scale = [StandardScaler(), MinMaxScaler(), "passthrough"][int(rng.integers(3))]
    if frame[numbers].isna().any().any():
        first = SimpleImputer(strategy=str(rng.choice(["mean", "median"])))
        scale = make_pipeline(first, scale) if not isinstance(scale, str) else first
    code = OneHotEncoder(sparse_output=False) if rng.random() < 0.6 else OrdinalEncoder()
    parts = [("numbers", scale, numbers)]
    if others:
        parts.append(("codes", code, others))
    return make_pipeline(ColumnTransformer(parts), model)


def random_model(rng, library, seed, regression=False, classes=2, kind="plain"):
    """(model, frame): kind "plain", "mixed" (categories), "gaps", "pipeline" or "mixed pipeline" or "gappy pipeline"."""
    categories, gaps = "mixed" in kind, "gap" in kind
    frame = table(
        rng, numbers=int(rng.integers(2, 4)) if categories else int(rng.integers(2, 5)), categories=categories, gaps=gaps
    )
    y = labels(rng, frame, 0 if regression else classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if library == "ydf":
            return fit_ydf(rng, frame, y, regression, seed), frame
        piped = "pipeline" in kind
        made = (
            scikit(rng, library, regression, seed)
            if library in SCIKIT
            else other(rng, library, regression, seed, categories and not piped)
        )
        if library == "HistGradientBoosting" and categories and not piped:
            made.set_params(categorical_features="from_dtype")
        if piped:
            made = pipeline(rng, made, frame)
        return made.fit(frame, y), frame


def predictions(model, rows):
    """What a model predicts for a frame, as plain labels or numbers."""
    if type(model).__module__.startswith("ydf"):
        if model.task().value == "REGRESSION":
            return model.predict(rows)
        return np.asarray(model.predict_class(rows))
    return np.ravel(model.predict(rows))


class Accepts:
    """The class cost of rows, infinity for those that miss the target."""

    def __init__(self, model, costs=None, share=None, value=None, more=None):
        self.model, self.costs, self.share, self.value, self.more = model, costs, share, value, more
        self.least = min(costs.values()) if costs else 0.0

    def __call__(self, rows):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if self.share is not None:
                k, low, high = self.share
                p = np.asarray(self.model.predict_proba(rows))[:, k].astype(float)
                out = np.where((p >= low) & (p <= high), 0.0, math.inf)
            elif self.value is not None:
                v = np.asarray(predictions(self.model, rows), float)
                out = np.where((v >= self.value[0]) & (v <= self.value[1]), 0.0, math.inf)
            else:
                found = predictions(self.model, rows)
                out = np.full(len(rows), math.inf)
                for label, cost in self.costs.items():
                    out[found == label] = cost
            if self.more is not None:
                out = np.where(self.more(rows), out, math.inf)
        return out


def random_target(rng, model, frame, row, regression):
    """(target for the library, Accepts)."""
    rows = frame.iloc[:60]
    found = predictions(model, rows)
    if regression:
        at, here = float(rng.choice(found)), float(predictions(model, row)[0])
        at = float(rng.choice([at, np.round(at, 2)]))
        if rng.random() < 0.25:
            wide = abs(float(rng.normal())) * 0.3
            return cl.value(at_least=at - wide, at_most=at + wide), Accepts(model, value=(at - wide, at + wide))
        if at > here or (at == here and rng.random() < 0.5):
            return cl.value(at_least=at), Accepts(model, value=(at, math.inf))
        return cl.value(at_most=at), Accepts(model, value=(-math.inf, at))
    names = model.label_classes() if type(model).__module__.startswith("ydf") else np.asarray(model.classes_).tolist()
    here = predictions(model, row)[0]
    others = [name for name in names if name != here]
    way = rng.random()
    if way < 0.15:
        return None, Accepts(model, dict.fromkeys(others, 0.0))
    if way < 0.3 and len(names) > 2:
        some = {name: float(np.round(rng.random(), 2)) for name in others}
        return some, Accepts(model, some)
    if way < 0.4 and len(names) > 2:
        return others[:2], Accepts(model, dict.fromkeys(others[:2], 0.0))
    last = model[-1] if hasattr(model, "steps") else model
    shared = type(last).__name__.startswith(("RandomForest", "ExtraTrees", "Bagging", "Voting"))
    if (
        way < 0.6
        and hasattr(model, "predict_proba")
        and (shared or (len(names) == 2 and type(last).__name__ != "AdaBoostClassifier"))
    ):
        shares = np.asarray(model.predict_proba(rows)).astype(float)
        k = int(rng.integers(len(names)))
        at = float(rng.choice(shares[:, k]))
        at = min(max(float(rng.choice([at, np.round(at, 2)])), 0.0), 1.0)
        if rng.random() < 0.5:
            return cl.probability(names[k], at_least=at), Accepts(model, share=(k, at, math.inf))
        return cl.probability(names[k], at_most=at), Accepts(model, share=(k, -math.inf, at))
    chosen = others[int(rng.integers(len(others)))]
    return chosen, Accepts(model, {chosen: 0.0})


def spans(frame, features):
    """The spread "range" of each column as the library documents it."""
    out = {}
    for f in features:
        if not isinstance(f, cl.Numeric):
            out[f.name] = 1.0
            continue
        x = frame[f.name].dropna().to_numpy(float)
        low, high = np.quantile(x, (0.01, 0.99), method="inverted_cdf")
        out[f.name] = float(high - low) or float(x.max() - x.min()) or 1.0
    return out


def random_cost(rng, frame, features, row):
    """(cost, prices, further numbers that may matter)."""
    names, ranges = [f.name for f in features], spans(frame, features)
    finite = [f.name for f in features if not isinstance(f, cl.Numeric)]
    more = {}

    def norm(kind):
        power = 1 if kind == "L1" else 2
        call = getattr(cl, kind)
        way = int(rng.integers(4))
        if way == 0:
            factor = {name: float(np.round(rng.random() * 3, 1)) for name in names if rng.random() < 0.5}
            by = {name: factor.get(name, 1.0) for name in names}
            per = {name: by[name] / ranges[name] ** power for name in names}
            return call("range", multiplier=factor) if factor else call("range"), Price(kind, per, per, by)
        weights = {name: float(np.round(rng.random() + 0.1, 2)) / ranges[name] ** power for name in names}
        if way == 1:
            return call(weights), Price(kind, weights, weights)
        if way == 2:
            return call([weights[name] for name in names]), Price(kind, weights, weights)
        down = {name: w * float(rng.choice([0.2, 1.0, 4.0])) for name, w in weights.items()}
        return call(up=weights, down=down), Price(kind, weights, down)

    way = rng.random()
    terms = []
    if way < 0.35:
        terms.append(norm("L1"))
    elif way < 0.6:
        terms.append(norm("L2"))
    elif way < 0.8:
        terms += [norm("L1"), norm("L2")]
    elif way < 0.9:
        charge = {name: float(np.round(rng.random(), 2)) for name in names}
        terms += [norm("L1"), (cl.Changes(charge), Price("changes", charge, charge))]
    else:
        terms.append(norm("L2"))
        coef = {}
        for name in names:
            if name not in finite and rng.random() < 0.6:
                coef[name] = float(rng.normal()) / ranges[name]
                per = terms[0][1]
                if row[name] == row[name]:
                    for weight, sign in ((per.up[name], 1), (per.down[name], -1)):
                        if weight > 0 and -sign * coef[name] > 0:
                            more.setdefault(name, []).append(row[name] - coef[name] / (2 * weight))
        if coef:
            terms.append((cl.LinearCost(coef), Price("linear", coef, coef)))
    cost = terms[0][0]
    for term, _ in terms[1:]:
        cost = cost + term
    return cost, [price for _, price in terms], more


def random_rules(rng, features, row, most=3):
    """Constraints that restrict the answer."""
    rules = []
    for _ in range(int(rng.integers(0, most + 1))):
        f = features[int(rng.integers(len(features)))]
        rules.append(one_rule(rng, f, features, row))
    if rng.random() < 0.25:
        k = int(rng.integers(1, 3))
        rules.append(Rule(cl.max_changes(k), lambda o, s, k=k: sum(c.astype(int) for c in o.changed.values()) <= k))
    if rng.random() < 0.15 and len(features) > 1:
        when, then = (features[int(i)] for i in rng.choice(len(features), 2, replace=False))
        rule = one_rule(rng, then, features, row, plain=True)
        rules.append(
            Rule(
                cl.implies(cl.changed(when.name), rule.constraint),
                lambda o, s, when=when.name, rule=rule: ~o.changed[when] | rule.holds(o, s),
                rule.ends,
            )
        )
    return rules


def one_rule(rng, f, features, row, plain=False):
    """One constraint on one feature."""
    name, at = f.name, row[f.name]
    gap = at is None or at != at
    if rng.random() < 0.25 or (gap and isinstance(f, cl.Numeric)):
        return Rule(cl.freeze(name), lambda o, s: ~o.changed[name])
    if not isinstance(f, cl.Numeric):
        values = [v for v in f.values if rng.random() < 0.6] or list(f.values[:1])
        way = int(rng.integers(3))
        if way == 0:
            return Rule(cl.allow(name, values), lambda o, s: o.named(name, values))
        if way == 1 and len(values) < len(f.values):
            return Rule(cl.forbid(name, values), lambda o, s: ~o.named(name, values))
        return Rule(cl.fix(name, values[0]), lambda o, s: o.named(name, values[:1]))
    wide = (min(f.upper, 1e3) - max(f.lower, -1e3)) or 1.0
    way = int(rng.integers(5))
    whole = f.integer
    step = (lambda x: float(round(x))) if whole else (lambda x: float(np.round(x, 3)))
    if way == 0:
        low, high = sorted(step(at + wide * x) for x in rng.normal(size=2) * 0.5)
        low, high = max(low, f.lower), min(high, f.upper)
        if low > high:
            low = high = step(at) if whole else float(at)
        return Rule(
            cl.between(name, low, high), lambda o, s: (o.columns[name] >= low) & (o.columns[name] <= high), {name: [low, high]}
        )
    if way == 1:
        most = at_least_a_step(f, step(abs(rng.normal()) * wide * 0.5))
        return Rule(
            cl.only_increase(name, at_most=most),
            lambda o, s: (o.columns[name] >= at) & (o.columns[name] <= at + most),
            {name: [at + most]},
        )
    if way == 2:
        return Rule(cl.only_decrease(name), lambda o, s: o.columns[name] <= at)
    if way == 3:
        low, high = -step(abs(rng.normal()) * wide * 0.4), step(abs(rng.normal()) * wide * 0.4)
        high = high if low <= -(f.step or 0.0) else at_least_a_step(f, high)
        return Rule(
            cl.within(name, low, high),
            lambda o, s: (o.columns[name] >= at + low) & (o.columns[name] <= at + high),
            {name: [at + low, at + high]},
        )
    by = step(abs(rng.normal()) * wide * 0.2)
    return Rule(cl.only_increase(name, by=by), lambda o, s: o.columns[name] >= at + by, {name: [at + by]})


def at_least_a_step(f, size):
    """The size of a change: a limit below the step of a feature is refused."""
    return max(size, f.step or 0.0)


def features_of(rng, explainer):
    """The features of an explainer, some with steps, wider bounds or prices of categories."""
    out = []
    for f in explainer.schema.features:
        if isinstance(f, cl.Numeric) and f.values is None and not f.integer and rng.random() < 0.25:
            step = float(rng.choice([0.5, 0.1, 5.0]))
            low, high = math.floor(f.lower / step) * step, math.ceil(f.upper / step) * step
            f = cl.Numeric(f.name, low, high, step=step, missing=f.missing)
        elif isinstance(f, cl.Numeric) and f.values is None and rng.random() < 0.2:
            f = cl.Numeric(f.name, f.lower - 3, f.upper + 3, integer=f.integer, missing=f.missing)
        elif isinstance(f, cl.Categorical) and rng.random() < 0.4:
            costs = np.round(rng.random((len(f.values), len(f.values))), 1)
            np.fill_diagonal(costs, 0.0)
            f = cl.Categorical(f.name, f.values, costs=costs, missing=f.missing)
        out.append(f)
    return out


def random_question(rng, library, seed, regression=False, classes=2, kind="plain"):
    """(explainer, question, target) of a random model."""
    model, frame = random_model(rng, library, seed, regression, classes, kind)
    explainer = cl.Explainer(model, data=frame)
    features = features_of(rng, explainer)
    explainer = explainer.with_features(*features)
    k = int(rng.integers(len(frame)))
    row = frame.iloc[[k]]
    plain = {name: row[name].iloc[0] for name in frame.columns}
    plain = {name: (None if pd.isna(v) and isinstance(v, str) else v) for name, v in plain.items()}
    plain = {name: v.item() if isinstance(v, np.generic) else v for name, v in plain.items()}
    if "gappy" in kind and plain["a"] != plain["a"]:  # what the pipeline imputes
        first = dict(model[0].named_transformers_)["numbers"]
        first = first[0] if hasattr(first, "steps") else first
        plain["a"] = float(first.statistics_[[c for c in frame.columns if c not in ("job", "city")].index("a")])
    target, accepts = random_target(rng, model, frame, row, regression)
    cost, prices, more = random_cost(rng, frame, features, plain)
    rules = random_rules(rng, features, plain)
    return explainer, Question(model, frame, features, plain, cost, prices, rules, accepts, more), target, row
