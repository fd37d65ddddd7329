"""Ensembles, their explainers and their answers as JSON: bit for bit, small, and refused in one line if they are damaged."""

import base64
import copy
import dataclasses
import functools
import json
import pickle
import zlib

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from support.hostile_cases import seal

import counterleaf as cl
from counterleaf.model import model_json
from counterleaf.model.ensembles.ensemble import Ensemble, heap
from counterleaf.model.readers.table import read_model
from counterleaf.packed_arrays import Packed, Unpacker, pack
from counterleaf.sparse import CSR

X, Y = load_iris(return_X_y=True, as_frame=True)
MODELS = {
    "forest": lambda: RandomForestClassifier(12, random_state=0).fit(X, Y),
    "names": lambda: RandomForestClassifier(5, random_state=0).fit(X, np.array(["a", "b", "c"])[Y]),
    "numbers": lambda: ExtraTreesRegressor(6, random_state=0).fit(X, Y),
    "boosted": lambda: GradientBoostingClassifier(n_estimators=4, random_state=0).fit(X, Y),
    "gaps": lambda: HistGradientBoostingClassifier(max_iter=4).fit(X.mask(X > 6.0), Y),
    "categories": lambda: HistGradientBoostingClassifier(max_iter=4, categorical_features=[0]).fit(X.round(), Y),
    "votes": lambda: AdaBoostClassifier(n_estimators=4, random_state=0).fit(X, Y == 1),
}


def equal(one, other):
    """Whether two ensembles have the same bits."""
    for field in dataclasses.fields(Ensemble):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if field.name == "splits":
            assert (a.closed, a.dtype, a.n_features) == (b.closed, b.dtype, b.n_features)
            arrays = [(a.left, b.left), (a.right, b.right), (a.bias, b.bias)]
            arrays += [(getattr(a.weights, name), getattr(b.weights, name)) for name in ("indptr", "indices", "data")]
            assert all(p.tobytes() == q.tobytes() for p, q in arrays)
        elif field.name == "subsets":
            assert list(a) == list(b)
            assert all(np.array_equal(a[k], b[k]) for k in a)
        elif field.name == "scoring" or a is None:
            assert a == b
        else:
            assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
    return True


@pytest.mark.parametrize("which", MODELS)
def test_an_ensemble_is_read_back_bit_for_bit(which):
    ensemble = read_model(MODELS[which]())
    text = ensemble.to_json()
    again = Ensemble.from_json(text)
    assert equal(ensemble, again)
    assert again.to_json() == text
    rows = X.round().to_numpy()
    assert again.predict(rows).tolist() == ensemble.predict(rows).tolist()


def test_arrays_are_written_in_the_smallest_format():
    kinds = {"i1": [0, -128], "i2": [128], "i4": [-40_000], "i8": [2**31], "f4": [0.5, -0.0], "f8": [0.1]}
    for kind, numbers in kinds.items():
        packed = pack(np.array(numbers))
        assert packed.array.dtype == kind
        read = Unpacker(100, "it")
        found = (read.real if kind[0] == "f" else read.whole)("x", packed.written(), len(numbers))
        assert found.tobytes() == np.array(numbers).tobytes()
    assert pack(np.zeros((0, 3))).written()["shape"] == [0, 3]
    assert pack(np.array([True])) == pack(np.array([1])) != pack(np.array([300]))
    assert pack(np.array([1])) != "other"
    assert np.isnan(pack(np.array([np.nan])).array[0])


def written(array, **changes):
    return {**pack(array).written(), **changes}


def stream(content):
    return base64.b64encode(zlib.compress(content)).decode()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([1, 2], "expected an object with dtype, shape and zlib"),
        ({"dtype": "i1", "shape": [2]}, "expected an object with dtype, shape and zlib"),
        (written(np.array([1, 2]), dtype="O"), "its dtype is 'O', expected one of i1, i2, i4, i8"),
        (written(np.array([1, 2]), dtype=["i1"]), r"its dtype is \['i1'\], expected"),
        (written(np.array([0.5, 2])), "its dtype is 'f4', expected one of i1, i2, i4, i8"),
        (written(np.array([1, 2]), shape=2), "its shape is 2"),
        (written(np.array([1, 2]), shape=[True]), r"its shape is \[True\]"),
        (written(np.array([1, 2]), shape=[-2]), r"its shape is \[-2\]"),
        (written(np.array([1, 2]), shape=[10**9]), "it claims more numbers than a file of this length can hold"),
        (written(np.array([1, 2]), shape=[0, 10**30]), "it claims more numbers than a file of this length can hold"),
        (written(np.array([1, 2]), shape=[3]), "it does not have the stated number of bytes"),
        (written(np.array([1, 2]), shape=[1]), "it does not have the stated number of bytes"),
        (written(np.array([1, 2, 3])), "it has 3 numbers, expected 2"),
        (written(np.array([[1, 2]])), "it has 1 x 2 numbers, expected 2"),
        (written(np.array([1, 2]), zlib=3), "it cannot be decompressed"),
        (written(np.array([1, 2]), zlib="%%"), "it cannot be decompressed"),
        (written(np.array([1, 2]), zlib="AAAA"), "it cannot be decompressed"),
        (written(np.array([1, 2]), zlib=stream(b"\1\2")[:-8]), "it cannot be decompressed|stated number of bytes"),
        (
            written(np.array([1, 2]), zlib=base64.b64encode(zlib.compress(b"\1\2") + b"x").decode()),
            "it does not have the stated",
        ),
        (written(np.array([1, 2]), zlib=stream(bytes(10**6))), "it does not have the stated number of bytes"),
    ],
)
def test_a_damaged_array_is_refused(content, message):
    with pytest.raises(cl.CounterleafError, match=f"it has a damaged array 'x': {message}") as error:
        Unpacker(100, "it").whole("x", content, 2)
    assert str(error.value).endswith("; write it again with to_json")
    assert "\n" not in str(error.value)


def test_an_array_with_infinity_is_refused():
    with pytest.raises(cl.CounterleafError, match="it has a damaged array 'x': it holds NaN or infinity"):
        Unpacker(100, "it").real("x", written(np.array([np.inf])), 1)


def test_few_characters_cannot_claim_much_memory():
    """Many arrays of one file share what it may need; one that is read twice counts once."""
    reader, one = Unpacker(100, "it"), written(np.zeros(2**22, np.int64))
    for _ in range(50):
        assert len(reader.whole("x", one, None)) == 2**22
    others = iter([dict(one) for _ in range(50)])
    with pytest.raises(cl.CounterleafError, match="it claims more numbers than a file of this length can hold"):
        [reader.whole("x", other, None)[0] for other in others]
    assert len(list(others)) > 30


FOREST = json.loads(read_model(MODELS["forest"]()).to_json())
SUBSETS = json.loads(read_model(MODELS["categories"]()).to_json())


def values(content):
    """The numbers of an array."""
    reader = Unpacker(10**6, "it")
    return (reader.real if content["dtype"][0] == "f" else reader.whole)("x", content, *[None] * len(content["shape"]))


def changed(content, path, to):
    """A copy with another value at a path, or one changed by a function of the numbers of the array there."""
    content = copy.deepcopy(content)
    at = content
    for name in path[:-1]:
        at = at[name]
    at[path[-1]] = pack(to(values(at[path[-1]]))).written() if callable(to) else to
    return content


def first(value):
    def change(array):
        array = array.copy()
        array.ravel()[0] = value
        return array

    return change


@pytest.mark.parametrize(
    ("path", "to", "message"),
    [
        (
            ["format"],
            "counterleaf-tree",
            'not a counterleaf ensemble: expected an object with "format": "counterleaf-ensemble"',
        ),
        (["version"], 2, "ensemble format version 2; this counterleaf reads version 1: upgrade it"),
        (["version"], True, "ensemble format version True; this counterleaf reads version 1"),
        (["features"], 10**9, "features is 1000000000; expected the number of columns, up to 1,000,000"),
        (["features"], 2, "its splits have columns that do not exist"),
        (["features"], True, "features is True"),
        (["classes"], [0, 1], "3 scores with the link 'share' do not make 2 classes"),
        (["classes"], [{}], "classes are not a list of labels"),
        (["classes"], [], "3 scores with the link 'share' do not make 0 classes"),
        (["scoring"], 3, "its scoring does not have the fields kind, link, dtype"),
        (["scoring", "kind"], "guess", "the scoring has the kind 'guess'; expected value, largest, threshold"),
        (["scoring", "kind"], "threshold", "do not make 3 classes"),
        (["scoring", "link"], "logistic", "3 scores with the link 'logistic' do not make 3 classes"),
        (["scoring", "late"], 1, "its scoring has numbers that are none"),
        (["scoring", "divisor"], "12", "its scoring has numbers that are none"),
        (["scoring", "divisor"], 10**400, "its scoring has numbers that are none"),
        (["scoring", "divisor"], 0.0, "expected a divisor and a temperature above 0"),
        (["scoring", "divisor"], 5e-324, "its scores go beyond the numbers of float64"),
        (["value"], first(1e308), "its scores go beyond the numbers of float64"),
        (["scoring", "noise"], -1.0, "the scoring has the noise -1.0"),
        (["start"], lambda a: a[:2], "a tree adds to a score that does not exist"),
        (["start"], first(np.nan), "'start': it holds NaN or infinity"),
        (["output"], first(1), "a tree adds to a score that does not exist"),
        (["output"], first(-1), "a tree adds to a score that does not exist"),
        (["output"], lambda a: a[1:], "'output': it has 11 numbers, expected 12"),
        (["roots"], first(10**6), "its roots are not nodes"),
        (["roots"], first(-1), "its roots are not nodes"),
        (["roots"], lambda a: a[:0], "it has 12 numbers, expected 0"),
        (["roots"], lambda a: np.full_like(a, a[0]), "two of its trees share a node"),
        (["left"], lambda a: a[:0], "expected 0"),
        (["left"], first(0), "its nodes do not have two children, each after its parent, or none"),
        (["left"], first(-1), "its nodes do not have two children, each after its parent, or none"),
        (["left"], first(10**6), "its nodes do not have two children, each after its parent, or none"),
        (["right"], first(2**62), "its nodes do not have two children, each after its parent, or none"),
        (["split"], first(10**6), "a node has a split that is not in the catalogue"),
        (["split"], first(-1), "a node has a split that is not in the catalogue"),
        (["value"], first(np.inf), "'value': it holds NaN or infinity"),
        (["value"], lambda a: a[:, :0], "a tree adds to a score that does not exist"),
        (["value"], lambda a: a.ravel(), "expected"),
        (["splits", "closed"], "both", "its splits are closed 'both' and compare 'float32'"),
        (["splits", "dtype"], ["float32"], "its splits are closed 'left'"),
        (["splits", "terms"], first(5), "a split has more terms than there are columns"),
        (["splits", "terms"], first(2), "its splits have columns that do not exist"),
        (["splits", "columns"], first(-1), "its splits have columns that do not exist"),
        (["splits", "bias"], first(np.nan), "'bias': it holds NaN or infinity"),
        (["splits"], None, "the ensemble's JSON garbles a part; write it again with to_json"),
        (["gaps"], {"right": 1}, "'right'"),
        (["subsets"], {}, "the ensemble's JSON lacks 'split'; write it again with to_json"),
    ],
)
def test_a_garbled_ensemble_is_refused_in_one_line(path, to, message):
    text = json.dumps(changed(FOREST, path, to))
    with pytest.raises(cl.CounterleafError, match=message) as error:
        Ensemble.from_json(text)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("path", "to"),
    [
        (["subsets", "split"], first(10**6)),
        (["subsets", "sizes"], first(10**6)),
        (["subsets", "codes"], first(-1)),
        (["subsets", "codes"], first(2**28)),
        (["subsets", "codes"], lambda a: a[1:]),
    ],
)
def test_garbled_subsets_are_refused(path, to):
    with pytest.raises(cl.CounterleafError, match="its subsets of categories are not those of its splits"):
        Ensemble.from_json(json.dumps(changed(SUBSETS, path, to)))


def test_garbled_routes_are_refused():
    for path, to in ((["gaps", "right"], first(2)), (["gaps", "column"], first(4))):
        with pytest.raises(cl.CounterleafError, match="its routes of missing values are not those of its columns"):
            Ensemble.from_json(json.dumps(changed(SUBSETS, path, to)))


def test_text_that_is_no_ensemble_is_refused():
    for text in ("{", b"\xff", "[" * 100_000, 3):
        with pytest.raises(cl.CounterleafError, match="not a counterleaf ensemble: the text is not valid JSON"):
            Ensemble.from_json(text)
    with pytest.raises(cl.CounterleafError, match="not a counterleaf ensemble: expected an object"):
        Ensemble.from_json("[]")


def chain(length, width=1):
    """Trees that are a list of splits on one column."""
    node = np.arange(2 * length + 1)
    inner = (node % 2 == 0) & (node < 2 * length)
    weights = CSR.from_entries(np.zeros(1, int), np.zeros(1, int), np.ones(1), (3, width))
    return dataclasses.replace(
        read_model(MODELS["numbers"]()),
        splits=heap(weights, np.zeros(1)),
        roots=np.array([0]),
        left=np.where(inner, node + 1, -1),
        right=np.where(inner, node + 2, -1),
        split=np.where(inner, 0, -1),
        value=np.zeros((len(node), 1)),
        output=np.zeros(1, np.int64),
        gap_right=None,
        gap_column=None,
    )


def test_trees_without_end_are_refused(monkeypatch):
    assert Ensemble.from_json(chain(900).to_json()).predict([[1.0]]).tolist() == [0.0]
    with pytest.raises(
        cl.CounterleafError, match="the ensemble has trees that are deeper than 10,000 splits; limit their depth"
    ):
        Ensemble.from_json(chain(10_001).to_json())
    monkeypatch.setattr(model_json, "WIDEST", 3)
    with pytest.raises(cl.CounterleafError, match="the ensemble has 4 columns; its JSON holds up to 3"):
        chain(1, width=4).to_json()


# explainers


def table():
    rng = np.random.default_rng(0)
    out = pd.DataFrame({"age": rng.integers(18, 80, 200), "job": rng.choice(["cook", "clerk", "smith"], 200)})
    return out.assign(income=rng.normal(3000, 900, 200).round())


def pipeline(data):
    labels = np.where((data.income > 2800) & (data.job != "cook") | (data.age > 60), "yes", "no")
    prepare = make_column_transformer((OneHotEncoder(), ["job"]), (StandardScaler(), ["age", "income"]))
    return make_pipeline(prepare, RandomForestClassifier(10, random_state=0)).fit(data, labels)


@functools.cache
def explainers():
    return list(some_explainers())


def some_explainers():
    data = table()
    gaps = X.mask(X > 6.0)
    yield cl.Explainer(MODELS["names"](), data=X), X.iloc[0]
    yield cl.Explainer(MODELS["boosted"]()), X.iloc[0]
    yield cl.Explainer(MODELS["gaps"](), data=gaps), gaps.iloc[0]
    yield cl.Explainer(MODELS["gaps"](), data=gaps), gaps.iloc[130]  # which lacks a number
    yield cl.Explainer(pipeline(data), data=data), data.iloc[0]


@pytest.mark.parametrize("which", range(5))
def test_an_explainer_gives_the_same_answers_bit_for_bit(which):
    explainer, row = explainers()[which]
    text = explainer.to_json()
    read = cl.Explainer.from_json(text.encode())
    assert read.to_json() == text
    assert isinstance(read.model, Ensemble)
    assert read.schema == explainer.schema
    one, other = explainer.explain(row), read.explain(row)
    assert str(one) == str(other)
    assert one.to_json() == other.to_json()
    assert all(found.confirmed for found in other)
    assert other.certificate.check()
    if explainer.spreads is not None:
        assert str(explainer.explain(row, support=2)) == str(read.explain(row, support=2))


def test_an_explainer_of_a_transformed_target_has_no_json():
    model = TransformedTargetRegressor(ExtraTreesRegressor(4, random_state=0), func=np.log1p, inverse_func=np.expm1)
    explainer = cl.Explainer(model.fit(X, Y), data=X)
    with pytest.raises(
        cl.CounterleafError, match="an explainer of a transformed target has no JSON; explain the model without"
    ):
        explainer.to_json()
    answer = explainer.explain(X.iloc[0], target=cl.value(at_least=1.0))
    with pytest.raises(
        cl.CounterleafError, match="an answer about a transformed target has no JSON; explain the model without"
    ):
        answer.to_json()


EXPLAINER = json.loads(cl.Explainer(MODELS["names"](), data=X).to_json())
GAPS = json.loads(cl.Explainer(MODELS["gaps"](), data=X.mask(X > 6.0)).to_json())


def over_two_features():
    ensemble = read_model(MODELS["names"]())
    dense = ensemble.splits.weights.toarray()
    dense[0] = 1.0
    rows, columns = np.nonzero(dense)
    splits = heap(
        CSR.from_entries(rows, columns, dense[rows, columns], dense.shape),
        ensemble.splits.bias[: len(dense) // 2],
        "left",
        "float32",
    )
    return json.loads(dataclasses.replace(ensemble, splits=splits, gap_right=None, gap_column=None).to_json())


@pytest.mark.parametrize(
    ("path", "to", "message"),
    [
        (["version"], 1, r"lacks or garbles a part \(KeyError: 'tree'\)"),
        (["version"], 3, "explainer format version 3; this counterleaf reads versions 1 and 2"),
        (["ensemble"], None, 'not a counterleaf ensemble: expected an object with "format"'),
        (["ensemble", "value"], first(np.inf), "the explainer's JSON has a damaged array 'value': it holds NaN or infinity"),
        (["ensemble", "features"], 5, "the explainer's ensemble has 5 columns and its features make 4 variables"),
        (["ensemble", "classes"], [1, 2, 10**30], "a class is 1000000000000000000000000000000; JSON holds text and numbers"),
        (["ensemble", "gaps"], SUBSETS["gaps"], "expected|over the columns of a model"),
        (["ensemble", "extra"], 1, "'ensemble' in a form that to_json does not write"),
        (["counts"], lambda a: a[1:], "the explainer's numbers of rows per leaf do not fit its tree"),
        (["counts"], first(1), "the explainer's numbers of rows per leaf do not fit its tree"),
        (["counts"], [1, 2], "damaged array 'counts': expected an object with dtype, shape and zlib"),
        (["guard"], 1.0, "the explainer's guard is 1.0"),
        (["extra"], 1, "'extra' in a form that to_json does not write"),
    ],
)
def test_a_garbled_explainer_is_refused_in_one_line(path, to, message):
    with pytest.raises(cl.CounterleafError, match=message) as error:
        cl.Explainer.from_json(json.dumps(changed(EXPLAINER, path, to)))
    assert "\n" not in str(error.value)


def test_splits_that_the_search_does_not_take_are_refused():
    """The search and the proof would read them as something else."""
    content = {**EXPLAINER, "ensemble": over_two_features()}
    del content["counts"]
    with pytest.raises(
        cl.CounterleafError, match="the explainer's JSON has a split on several features, which no ensemble has"
    ):
        cl.Explainer.from_json(json.dumps(content))
    codes = json.loads(read_model(MODELS["categories"]()).to_json())
    content = {**content, "ensemble": {**codes, "classes": ["a", "b", "c"]}}
    message = "the explainer's JSON has an ensemble over the columns of a model, not over the features of a table"
    with pytest.raises(cl.CounterleafError, match=message):
        cl.Explainer.from_json(json.dumps(content))


def test_garbled_routes_of_an_explainer_are_refused():
    assert cl.Explainer.from_json(json.dumps(GAPS))
    for part, to in (("feature", first(9)), ("right", first(2))):
        with pytest.raises(cl.CounterleafError, match="the explainer's routes of missing numbers do not fit its tree"):
            cl.Explainer.from_json(json.dumps(changed(GAPS, ["routes", part], to)))
    with pytest.raises(cl.CounterleafError, match="damaged array 'feature': it has"):
        cl.Explainer.from_json(json.dumps(changed(GAPS, ["routes", "feature"], lambda a: a[1:])))


def test_an_array_in_a_wider_format_is_not_what_is_written():
    wide = Packed(values(EXPLAINER["counts"])).written()
    with pytest.raises(cl.CounterleafError, match="'counts' in a form that to_json does not write"):
        cl.Explainer.from_json(json.dumps({**EXPLAINER, "counts": wide}))


def test_another_compression_of_the_same_numbers_is_read():
    """Versions of zlib may compress otherwise."""
    counts = EXPLAINER["counts"]
    level = base64.b64encode(zlib.compress(zlib.decompress(base64.b64decode(counts["zlib"])), 1)).decode()
    text = json.dumps({**EXPLAINER, "counts": {**counts, "zlib": level}})
    assert cl.Explainer.from_json(text).to_json() == json.dumps(EXPLAINER)


def test_an_ensemble_alone_is_not_an_explainer():
    text = json.dumps(FOREST)
    with pytest.raises(cl.CounterleafError, match=r"this is an ensemble alone: pass Explainer\(Ensemble.from_json\(text\)\)"):
        cl.Explainer.from_json(text)
    assert cl.Explainer(Ensemble.from_json(text)).explain(X.iloc[0].tolist(), target=1)[0].confirmed


# answers


def cancer():
    data, labels = load_breast_cancer(return_X_y=True, as_frame=True)
    return cl.Explainer(RandomForestClassifier(random_state=0).fit(data, labels), data=data), data


@functools.cache
def questions():
    return list(some_questions())


def some_questions():
    explainer = cl.Explainer(MODELS["forest"](), data=X)
    names = list(X.columns)
    when = cl.implies(cl.changed(names[3]), cl.only_increase(names[2]))
    for query in (
        {},
        {"target": 2},
        {"target": {1: 0.25, 2: 0.0}},
        {"target": cl.probability(1, at_least=0.7)},
        {"count": 3},
        {"count": 2, "constraints": [when, cl.fix(names[0], 5.5)]},
        {"constraints": when},
        {"constraints": cl.max_changes(2), "cost": cl.L2()},
        {"constraints": cl.among(X.iloc[40:70])},
        {"constraints": cl.freeze(*names)},
        {"margin": 0.1},
        {"margin": "2%"},
        {"support": 3},
        {"max_nodes": 1, "target": 2},
    ):
        yield explainer, X.iloc[0], query
    data, numbers = load_diabetes(return_X_y=True, as_frame=True)
    boosted = cl.Explainer(GradientBoostingRegressor(n_estimators=10, random_state=0).fit(data, numbers), data=data)
    yield boosted, data.iloc[0], {"target": cl.value(at_least=210.0)}
    yield boosted, data.iloc[0], {"target": cl.value(at_least=1e6)}
    yield cl.Explainer(MODELS["gaps"](), data=X.mask(X > 6.0)), X.mask(X > 6.0).iloc[130], {}
    people = table()
    yield cl.Explainer(pipeline(people), data=people), people.iloc[0], {"count": 2}


@pytest.mark.parametrize("which", range(18))
def test_an_answer_is_read_back_and_proved(which):
    explainer, row, query = questions()[which]
    answer = explainer.explain(row, **query)
    text = answer.to_json()
    read = cl.Explanation.from_json(text)
    assert json.loads(text)["version"] == 8
    assert read.to_json() == text
    assert str(read) == str(answer)
    assert read._repr_html_() == answer._repr_html_()
    assert not read.certificate.is_fresh
    assert read.certificate.check() is answer.certificate.check() is True
    for copied in (pickle.loads(pickle.dumps(answer)), pickle.loads(pickle.dumps(read))):
        assert not copied.certificate.is_fresh
        assert copied.certificate.check()
        assert str(copied) == str(answer)
        assert copied.to_json() == text
    assert "leaf of the tree" not in text


def test_the_file_of_a_forest_of_a_hundred_trees_is_small():
    explainer, data = cancer()
    assert len(explainer.to_json()) < 60_000
    assert len(explainer.explain(data.iloc[19]).to_json()) < 200_000


def answer_content():
    return json.loads(cl.Explainer(MODELS["names"](), data=X).explain(X.iloc[0], count=2).to_json())


ANSWER = answer_content()


def read_or_refused(content):
    """The answer of a sealed file; None if it is refused, in one line."""
    message = ""
    try:
        return cl.Explanation.from_json(seal(content))
    except cl.CounterleafError as error:
        message = str(error)
    assert 0 < len(message) < 600
    assert "\n" not in message
    return None


def nudged(array):
    array = array.copy()
    array.ravel()[len(array.ravel()) // 2] += 1
    return array


@pytest.mark.parametrize(
    ("path", "to"),
    [
        (["model", "ensemble", "value"], lambda a: a[::-1]),
        (["model", "ensemble", "split"], lambda a: a[::-1]),
        (["model", "ensemble", "splits", "bias"], lambda a: a + 0.5),
        (["model", "ensemble", "scoring", "kind"], "value"),
        (["model", "ensemble", "classes"], ["b", "a", "c"]),
        (["question", "target"], "a"),
        (["question", "target"], {"prices": [["b", 5.0], ["c", 0.0]]}),
        (["question", "target"], {"probability": "b", "at_least": 0.5}),
        (["certificate", "points"], [[5.1, 3.5, 1.4, 0.2]]),
        (["certificate", "costs"], [0.001]),
        (["certificate", "bounds"], [0.5]),
        (["question", "margin"], 0.75),
        (["question", "constraints"], [{"between": "petal length (cm)", "upper": 1.0}]),
        (["question", "cost"], [{"L1": {"weights": 9.0}}]),
        (["model", "schema", "domains"], {"petal length (cm)": [1.0, 1.0]}),
        (["model", "spreads", "range"], [9.0, 9.0, 0.1, 9.0]),
        (["model", "guard"], 1e-3),
        (["model", "closed"], pack(np.array([10**6])).written()),
        (["model", "closed"], pack(np.array([0])).written()),
    ],
)
def test_a_changed_answer_is_refused_or_not_proved(path, to):
    """Whoever changes a file can also write its digest."""
    read = read_or_refused(changed(ANSWER, path, to))
    assert read is None or not read.certificate.check()


@functools.cache
def proved():
    """An answer whose proof takes some steps."""
    data, labels = load_breast_cancer(return_X_y=True, as_frame=True)
    explainer = cl.Explainer(RandomForestClassifier(20, random_state=0).fit(data, labels), data=data)
    return json.loads(explainer.explain(data.iloc[19]).to_json())


@pytest.mark.parametrize(
    ("path", "to"),
    [
        (["proofs"], []),
        (["proofs", 0, "kind"], nudged),
        (["proofs", 0, "marks"], {"dtype": "u1", "shape": [0], "zlib": stream(b"")}),
        (["proofs", 0, "link_tree"], first(99)),
        (["proofs", 0, "link_coordinate"], first(-1)),
        (["proofs", 0, "link_pieces"], first(2**40)),
        (["proofs", 0, "piece_of"], lambda a: a[1:]),
        (["proofs", 0, "set_links"], lambda a: a * 0),
        (["proofs", 0, "messages"], lambda a: a[1:]),
        (["proofs", 0, "messages"], lambda a: a * 0),
        (["proofs", 0, "unit"], lambda a: -a),
        (["proofs", 0, "weights"], lambda a: a * 0.0),
        (["proofs", 0, "multipliers"], lambda a: a + 10**4),
        (["proofs", 0, "parent"], lambda a: a[:0]),
        (["proofs", 0, "mu"], lambda a: a * 0.0),
    ],
)
def test_a_changed_proof_is_refused_or_does_not_hold(path, to):
    """Whoever changes a file can also write its digest."""
    assert len(values(proved()["certificate"]["proofs"][0]["messages"])) > 100
    assert cl.Explanation.from_json(seal(proved())).certificate.check()
    read = read_or_refused(changed(proved(), ["certificate", *path], to))
    assert read is None or not read.certificate.check()


@pytest.mark.parametrize(
    ("path", "to", "message"),
    [
        (["model", "closed"], pack(np.array([10**6])).written(), "leaves out leaves that its model lacks"),
        (["question", "target"], "d", "no class 'd'; the model's classes are"),
        (["question", "target"], {"at_least": 0.5}, "target is a value, but the model predicts classes"),
        (["certificate", "proofs", 0, "link_tree"], first(99), "has a proof about other trees or features"),
        (["certificate", "proofs", 0, "messages"], lambda a: np.append(a, 2**40), "has messages of more than 32 bits"),
        (["certificate", "proofs", 0, "side"], lambda a: a[1:], "damaged array 'side'"),
        (["model", "ensemble", "features"], 5, "the answer's JSON has 4 columns for an ensemble of 5"),
        (["model", "ensemble"], over_two_features(), "the answer's JSON has a split on several features"),
        (["model", "guard"], 1e-3, "the answer's guard is 0.001; expected a number from 0 to 1e-06"),
        (["model", "spreads", "std"], [1.0], "the answer's spreads have a std of"),
        (["rounds"], [], "its proof has other searches than its question takes"),
        (["question", "count"], 1, "its proof has other searches than its question takes"),
    ],
)
def test_a_garbled_answer_is_refused_in_one_line(path, to, message):
    with pytest.raises(cl.CounterleafError, match=message) as error:
        cl.Explanation.from_json(seal(changed(ANSWER, path, to)))
    assert "\n" not in str(error.value)


def test_an_answer_that_was_changed_without_its_digest_is_refused():
    content = changed(ANSWER, ["certificate", "costs"], [0.0])
    with pytest.raises(cl.CounterleafError, match="changed after it was written: its digest differs"):
        cl.Explanation.from_json(json.dumps(content))


def test_every_bit_of_a_small_proof_matters_or_changes_nothing():
    """A flipped bit of any array is refused, not proved, or leaves a proof that holds as well."""
    rng, answer = np.random.default_rng(0), proved()
    proof = answer["certificate"]["proofs"][0]
    read = 0
    for _ in range(40):
        name = rng.choice(sorted(proof))
        packed = proof[name]
        raw = bytearray(zlib.decompress(base64.b64decode(packed["zlib"])))
        if not raw:
            continue
        raw[rng.integers(len(raw))] ^= 1 << int(rng.integers(8))
        content = changed(answer, ["certificate", "proofs", 0, name], {**packed, "zlib": stream(bytes(raw))})
        found = read_or_refused(content)
        read += found is not None
        if found is not None and found.certificate.check():  # then its claims are the true ones
            assert [one.cost for one in found] == [one["cost"] for one in answer["counterfactuals"]]
    assert read > 5
