"""What the explorer's desk answers: each control does what it says, as the library would if it were asked by hand."""

import json
import math

import numpy as np
import pytest
from support.explorer_cases import (
    SCENES,
    TABLES,
    agrees,
    ask,
    categories,
    changed_feature,
    control,
    described,
    desk,
    every_kind,
    feature_of,
    numbers,
    question,
    small_desk,
    values_of,
)

from counterleaf.errors import CounterleafError
from counterleaf.explorer.question import MOST_ALTERNATIVES


@pytest.mark.parametrize("key", SCENES)
def test_a_scene_describes_itself(key):
    scene = described(key)
    json.dumps(scene, allow_nan=False)
    explainer = desk().scene(key).explainer
    assert [feature["name"] for feature in scene["features"]] == explainer.schema.names
    assert scene["classes"] == [str(label) for label in explainer.tree.classes.tolist()]
    assert scene["leaves"] == len(explainer.tree.leaves)
    assert 0 <= scene["row"] < scene["rows"]
    assert scene["target"] == [] or set(scene["target"]) < set(scene["classes"])
    assert ("Q" in scene["costs"]) == (scene["shape"] is not None)
    for feature in scene["features"]:
        if feature["kind"] == "number":
            assert feature["lower"] <= feature["upper"]
        else:
            assert len(set(feature["values"])) == len(feature["values"])


def test_the_loans_open_with_one_that_is_refused():
    scene = described("german")
    assert sorted(scene["classes"]) == ["granted", "refused"]
    assert scene["target"] == ["granted"]
    assert ask(question("german"))[0]["label"] == "refused"
    assert ask(question("adult"))[0]["label"] != described("adult")["target"][0]


@pytest.mark.parametrize("key", SCENES)
def test_a_scene_answers_as_the_library_does(key):
    told, answer = agrees(question(key))
    assert told["status"] == "optimal"
    assert told["label"] == str(answer.source_label)
    assert told["conflict"] == told["wishes"] == []
    assert told["limit"] is None
    assert float(told["least"]) <= answer.lower_bound <= float(told["least"]) * 1.001 + 1e-300
    assert "would say" in told["sentence"]
    assert [one["changed"] for one in told["answers"]] == [len(c.changes) for c in answer]
    assert [one["leaf"] for one in told["answers"]] == [c.leaf for c in answer]
    for name, cell in told["cells"].items():
        for c, to, move in zip(answer, cell["to"], cell["move"], strict=True):
            old, new = c.changes.get(name, (0, 0))
            assert (to == "=") == (name not in c.changes)
            if feature_of(key, name)["kind"] == "number":
                assert move == int(np.sign(new - old))
            else:
                assert move is (None if name in c.changes else 0) or (move == 0 and name not in c.changes)


@pytest.mark.parametrize("key", SCENES)
def test_the_proof_of_an_answer_holds(key):
    found = desk().handle("check", question(key))
    json.dumps(found, allow_nan=False)
    assert found["holds"] is True
    assert found["status"] == "optimal"
    assert found["parts"] > 0


@pytest.mark.parametrize("key", SCENES)
@pytest.mark.parametrize("spread", ["range", "std", "mad", "none"])
@pytest.mark.parametrize("cost", ["L1", "L2", "mixed"])
def test_costs_and_spreads(key, cost, spread):
    agrees(question(key, cost=cost, spread=spread))


def test_smooth_changes_of_a_picture():
    agrees(question("digits", cost="Q"))


@pytest.mark.parametrize("key", SCENES)
@pytest.mark.parametrize("count", [1, 2, 5, MOST_ALTERNATIVES])
def test_as_many_alternatives_as_asked_for(key, count):
    told, _ = agrees(question(key, count=count))
    assert 1 <= len(told["answers"]) <= count


@pytest.mark.parametrize("key", SCENES)
def test_each_class_can_be_asked_for(key):
    for label in described(key)["classes"]:
        told, answer = agrees(question(key, target=[label]))
        assert {one["label"] for one in told["answers"]} <= {label}
        if label == told["label"]:
            assert answer[0].changes == {}
            assert "Nothing has to change" in told["sentence"]


def test_several_classes_and_any_but_the_rows_own():
    told, _ = agrees(question("digits", target=["1", "4", "1"], count=6))
    assert {one["label"] for one in told["answers"]} <= {"1", "4"}
    told, _ = agrees(question("digits", target=[], count=12))
    assert told["label"] not in {one["label"] for one in told["answers"]}


@pytest.mark.parametrize("key", TABLES)
def test_a_locked_feature_stays(key):
    told, _ = ask(question(key))
    for name in told["cells"]:
        now, answer = agrees(question(key, **control(name, lock=True)))
        assert now["wishes"] == [f"{name.replace('_', ' ')} locked"]
        assert name not in now["cells"]
        assert all(row[name] == answer.source_values[name] for row in values_of(answer))


@pytest.mark.parametrize("key", SCENES)
@pytest.mark.parametrize("way", ["up", "down"])
def test_a_number_goes_one_way_only(key, way):
    for name in numbers(key)[:6]:
        told, answer = agrees(question(key, count=6, **control(name, way=way)))
        assert told["wishes"] == [f"{name.replace('_', ' ')} may only {'rise' if way == 'up' else 'fall'}"]
        moves = [new - old for c in answer for old, new in [c.changes.get(name, (0, 0))]]
        assert all(move >= 0 if way == "up" else move <= 0 for move in moves)


@pytest.mark.parametrize("key", SCENES)
def test_a_number_stays_in_its_range(key):
    name = changed_feature(key)
    _, free = ask(question(key, count=12))
    (old, new) = next(c.changes[name] for c in free if name in c.changes)
    low, high = sorted([old, math.floor((old + new) / 2)])
    for said in ({"low": float(low)}, {"high": float(high)}, {"low": float(low), "high": float(high)}):
        told, answer = agrees(question(key, count=12, **control(name, **said)))
        assert len(told["wishes"]) == 1
        assert told["wishes"][0].startswith(name.replace("_", " "))
        for row in values_of(answer):
            assert said.get("low", -math.inf) <= row[name] <= said.get("high", math.inf)


@pytest.mark.parametrize("key", SCENES)
def test_a_range_wider_than_the_table_is_room_and_not_only_a_limit(key):
    for name in numbers(key)[:4]:
        feature = feature_of(key, name)
        wide = feature["upper"] - feature["lower"]
        wider = {"low": feature["lower"] - 3 * wide, "high": feature["upper"] + 3 * wide}
        _, free = ask(question(key, count=12))
        _, answer = agrees(question(key, count=12, **control(name, **wider)))
        assert answer[0].cost <= free[0].cost
        beyond = feature["upper"] + wide
        told, answer = agrees(question(key, **control(name, low=beyond)))
        assert all(row[name] >= beyond for row in values_of(answer))
        assert told["status"] in ("optimal", "infeasible")


@pytest.mark.parametrize("key", TABLES)
def test_only_allowed_categories(key):
    for name in categories(key)[:5]:
        size = len(feature_of(key, name)["values"])
        for allowed in ([0], [size - 1, 0], list(range(size)), [0, 0]):
            told, answer = agrees(question(key, count=5, **control(name, allowed=allowed)))
            values = {
                desk().scene(key).explainer.schema.features[desk().scene(key).explainer.schema.index(name)].values[k]
                for k in allowed
            }
            assert all(row[name] in values for row in values_of(answer))
            assert len(told["wishes"]) == 1


@pytest.mark.parametrize(("key", "step"), [("adult", 5.0), ("adult", 7.0), ("german", 12.0), ("digits", 0.5), ("digits", 4.0)])
def test_what_moves_moves_to_the_step(key, step):
    name = changed_feature(key)
    told, answer = agrees(question(key, count=6, **control(name, step=step)))
    assert told["wishes"] == [f"{name.replace('_', ' ')} in steps of {step:g}"]
    moved = [c.changes[name][1] for c in answer if name in c.changes]
    assert all(value % step == 0 for value in moved)


@pytest.mark.parametrize("key", TABLES)
@pytest.mark.parametrize("cost", ["L1", "L2", "mixed"])
@pytest.mark.parametrize("weight", [0.0, 0.1, 10.0])
def test_a_weight_makes_a_feature_dearer_or_cheaper(key, cost, weight):
    name = changed_feature(key)
    told, _ = agrees(question(key, cost=cost, **control(name, weight=weight)))
    assert told["wishes"] == [f"{name.replace('_', ' ')} costs {weight:g} times as much"]


@pytest.mark.parametrize("key", SCENES)
@pytest.mark.parametrize("most", [0, 1, 2, 50])
def test_no_more_features_change_than_allowed(key, most):
    told, answer = agrees(question(key, most=most))
    assert all(len(c.changes) <= most for c in answer)
    assert told["wishes"] == [f"at most {most} feature{'s' * (most != 1)} may change"]
    assert told["status"] == ("infeasible" if most == 0 else told["status"])


@pytest.mark.parametrize("key", SCENES)
@pytest.mark.parametrize("margin", [0.25, 1.0])
def test_every_split_is_passed_by_the_margin(key, margin):
    _, free = ask(question(key))
    told, answer = agrees(question(key, margin=margin))
    assert told["wishes"] == [f"margin {margin:g}"]
    tree = answer.certificate.problem.tree
    for point, c in zip(answer.certificate.findings.points, answer, strict=True):
        node = 0
        while tree.left[node] >= 0:
            score = float((tree.weights[[node]] @ point)[0] + tree.bias[node])
            assert abs(score) >= margin * (1 - 1e-9)
            node = int(tree.right[node] if score > 0 else tree.left[node])
        assert node == c.leaf
    assert not len(answer) or answer[0].cost >= free[0].cost - 1e-12


@pytest.mark.parametrize("ink", ["add", "erase"])
def test_ink_is_only_added_or_only_erased(ink):
    told, answer = agrees(question("digits", ink=ink, count=6))
    assert told["wishes"] == [f"only {ink} ink"]
    source = np.array(told["picture"]["source"])
    for picture in told["picture"]["answers"]:
        assert ((np.array(picture) >= source) if ink == "add" else (np.array(picture) <= source)).all()
    assert len(told["picture"]["answers"]) == len(answer)


def test_locked_pixels_stay():
    _, before = ask(question("digits", count=6))
    names = {name for c in before for name in c.changes}
    changed = {described("digits")["features"].index(feature_of("digits", name)) for name in names}
    locked = [*changed, *changed]
    now, answer = agrees(question("digits", count=6, locked=locked))
    assert now["wishes"] == [f"{len(changed)} pixels locked"]
    for picture in now["picture"]["answers"]:
        assert [picture[k] for k in locked] == [now["picture"]["source"][k] for k in locked]
    assert all(answer.source_values[name] == row[name] for row in values_of(answer) for name in names)
    assert ask(question("digits", locked=[5]))[0]["wishes"] == ["1 pixel locked"]


@pytest.mark.parametrize("key", SCENES)
def test_an_edited_row_is_asked_about(key):
    name = numbers(key)[0]
    middle = round((feature_of(key, name)["lower"] + feature_of(key, name)["upper"]) / 2)
    _, answer = agrees(question(key, edits={name: float(middle)}))
    assert answer.source_values[name] == middle
    for word in categories(key)[:3]:
        last = len(feature_of(key, word)["values"]) - 1
        told, answer = agrees(question(key, edits={name: float(middle), word: float(last)}))
        assert str(answer.source_values[word]) == feature_of(key, word)["values"][last]
        json.dumps(told, allow_nan=False)


@pytest.mark.parametrize("key", SCENES)
def test_a_row_edited_out_of_the_table_is_still_answered(key):
    name = numbers(key)[0]
    _, answer = agrees(question(key, edits={name: 1000.0}))
    assert answer.source_values[name] == 1000


@pytest.mark.parametrize("key", SCENES)
def test_several_controls_hold_together(key):
    names = numbers(key)
    said = {names[0]: {"lock": True}, names[1]: {"way": "up", "weight": 3.0}, names[2]: {"low": 1.0, "step": 2.0}}
    if categories(key):
        said[categories(key)[0]] = {"allowed": [0, 1], "weight": 0.5}
    for cost in ("L1", "L2", "mixed"):
        agrees(question(key, controls=said, cost=cost, most=4, count=5, margin=0.1))


def test_every_kind_of_feature():
    at = small_desk(*every_kind())
    scene = at.handle("scenes", {})[0]
    assert [feature["kind"] for feature in scene["features"]] == ["number", "number", "ordinal", "categorical", "boolean"]
    assert [feature.get("missing") for feature in scene["features"]] == [None, None, False, True, False]
    assert scene["spreads"] == ["none"]
    asked = {"scene": "own", "spread": "none", "count": 12}
    for row in range(at.scene("own").size):
        agrees({**asked, "row": row}, at)
        agrees({**asked, "row": row, "controls": {"school": {"way": "up"}, "owner": {"lock": True}}}, at)
        agrees(
            {**asked, "row": row, "controls": {"school": {"allowed": [1, 3]}, "job": {"allowed": [0, 2], "weight": 2.0}}}, at
        )
        agrees({**asked, "row": row, "controls": {"owner": {"allowed": [1]}, "school": {"way": "down"}}, "cost": "mixed"}, at)
    for missing in (None, 3.0):
        told, answer = agrees({**asked, "row": 0, "edits": {"job": missing, "school": 0.0, "owner": 1.0}}, at)
        assert answer.source_values["job"] is None
        assert told["cells"]["job"]["source"] == "(missing)"
        assert all(row["job"] != "(missing)" for row in values_of(answer))
    told, answer = agrees({**asked, "row": 0, "edits": {"job": 3.0}, "controls": {"job": {"lock": True}}}, at)
    assert all(row["job"] is None for row in values_of(answer))


@pytest.mark.parametrize("key", SCENES)
def test_rows_and_the_search_for_them(key):
    size, classes = described(key)["rows"], described(key)["classes"]
    scene = desk().scene(key)
    for row in (0, 1, size - 1):
        told = desk().handle("row", {"scene": key, "row": row})
        json.dumps(told, allow_nan=False)
        assert told["label"] == scene.label(scene.values(row, {}))
        codes = dict(zip(scene.explainer.schema.names, told["values"], strict=True))
        assert scene.values(0, codes) == scene.values(row, {})

    def find(start, way, says):
        return desk().handle("find", {"scene": key, "start": start, "way": way, "says": says})["row"]

    labels = [scene.label(scene.values(row, {})) for row in range(60)]
    for says in classes:
        assert find(0, 1, says) == (labels.index(says) if says in labels else find(60, 1, says))
        assert find(59, -1, says) == (59 - labels[::-1].index(says) if says in labels else None)
    assert find(3, 1, None) == 3
    found = desk().handle("find", {"scene": key, "start": 3, "way": 1, "says": None})
    assert found == desk().handle("row", {"scene": key, "row": 3})
    assert find(size + 5, 1, None) == size - 1
    assert find(-1, -1, None) is None
    assert find(size - 20, 1, "no such class") is None


@pytest.mark.parametrize("key", SCENES)
@pytest.mark.parametrize("limit", [1e-9, 1e-4, 1e-3])
def test_a_tiny_limit_gives_a_bound_or_an_answer(key, limit):
    at = small_desk(desk().scene(key).explainer, desk().scene(key).rows, desk().scene(key).shape, limit, key)
    costs = ["L1", "L2", "mixed", *(["Q"] if described(key)["shape"] else [])]
    for cost in costs:
        for margin in (0.0, 1.0):
            given = question(key, cost=cost, margin=margin, count=12)
            told, answer = ask(given, at)
            assert told["status"] in ("optimal", "limit", "infeasible")
            if told["status"] == "limit":
                assert told["limit"] in (limit, None)  # None where the clock was not what stopped it
                assert told["least"] is None or float(told["least"]) >= 0
                assert told["answers"] or "Stopped" in told["sentence"]
                true = ask(given)[1]
                assert answer.lower_bound <= (true[0].cost if len(true) else math.inf) * (1 + 1e-9)
            for one in told["answers"]:
                assert one["confirmed"]
            for verb in ("check", "tree"):
                json.dumps(at.handle(verb, given), allow_nan=False)
            at.handle("export", {"format": "html", "questions": [given]})
            at.handle("export", {"format": "csv", "questions": [given]})


WRONG = [
    ({"scene": "nowhere"}, "no scene 'nowhere'; there are german, adult, digits"),
    ({"row": 10**9}, "expected 0 to"),
    ({"edits": {"ghost": 1.0}}, "no feature 'ghost'"),
    ({"edits": {"purpose": 1.5}}, "its value number 1.5"),
    ({"edits": {"purpose": 99.0}}, "it has 10, from 0"),
    ({"edits": {"purpose": -1.0}}, "its value number -1"),
    ({"edits": {"purpose": None}}, "missing"),
    ({"edits": {"age": None}}, "age"),
    ({"controls": {"ghost": {"lock": True}}}, "no feature 'ghost'"),
    ({"controls": {"purpose": {"way": "up"}}}, "without an order"),
    ({"controls": {"purpose": {"low": 1.0}}}, "use allowed"),
    ({"controls": {"purpose": {"step": 1.0}}}, "a step needs one"),
    ({"controls": {"purpose": {"allowed": []}}}, "allow at least one"),
    ({"controls": {"purpose": {"allowed": [10]}}}, "no value number 10; it has 10, from 0"),
    ({"controls": {"age": {"allowed": [1]}}}, "use low and high"),
    ({"controls": {"age": {"low": 5.0, "high": 4.0}}}, "no number lies between"),
    ({"controls": {"age": {"step": 0.5}}}, "whole step"),
    ({"target": ["perhaps"]}, "no class 'perhaps'"),
    ({"cost": "Q"}, "no picture"),
    ({"locked": [5000]}, "there are 20, from 0"),
    ({"ink": "add"}, "this model has no picture"),
]  # fmt: skip


@pytest.mark.parametrize(("said", "message"), WRONG, ids=[message for _, message in WRONG])
def test_what_makes_no_sense_is_told_in_one_line(said, message):
    for verb in ("answer", "tree", "check"):
        with pytest.raises(CounterleafError) as caught:
            desk().handle(verb, {"scene": "german", **said})
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)
    with pytest.raises(CounterleafError):
        desk().handle("export", {"format": "csv", "questions": [{"scene": "german"}, {"scene": "german", **said}]})


def test_a_cost_without_weights_takes_none():
    with pytest.raises(CounterleafError, match="Q has no weights"):
        desk().handle("answer", question("digits", cost="Q", **control("p3_3", weight=2.0)))


def test_rows_and_scenes_that_there_are_not():
    with pytest.raises(CounterleafError, match="no scene"):
        desk().handle("row", {"scene": "nowhere", "row": 0})
    with pytest.raises(CounterleafError, match="no scene"):
        desk().handle("find", {"scene": "nowhere", "start": 0, "way": 1, "says": None})
    with pytest.raises(CounterleafError, match="expected 0 to"):
        desk().handle("row", {"scene": "adult", "row": 10**9})


def test_many_questions_keep_few_explainers():
    at = small_desk(desk().scene("german").explainer, desk().scene("german").rows, key="german")
    for k in range(80):
        at.handle("answer", question("german", **control("age", low=10.0 - k, weight=1.0 + k)))
    assert len(at._explainers) <= 32
    assert len(at._costs) <= 32
    first = question("german", **control("age", low=10.0, weight=1.0))
    assert at.handle("answer", first)["answers"] == desk().handle("answer", first)["answers"]
