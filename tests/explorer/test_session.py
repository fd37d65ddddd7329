"""The answers of a session: each setting has the effect that it has in the library."""

import json
import math
import time

import numpy as np
import pytest
from support.explorer_cases import (
    SCENES,
    TABLES,
    agrees,
    ask,
    bundled_session,
    categories,
    changed_feature,
    changed_names,
    control,
    describe_scene,
    every_kind,
    feature_of,
    make_question,
    numbers,
    small_session,
    values_of,
)
from support.waiting import patient

from counterleaf.errors import CounterleafError
from counterleaf.explorer.session import session as session_module
from counterleaf.explorer.session.requests import MAX_ALTERNATIVES


@pytest.mark.parametrize("key", SCENES)
def test_the_description_of_a_scene(key):
    scene = describe_scene(key)
    json.dumps(scene, allow_nan=False)
    explainer = bundled_session().scene(key).explainer
    assert [feature["name"] for feature in scene["features"]] == explainer.schema.names
    assert scene["classes"] == [str(label) for label in explainer.tree.classes.tolist()]
    assert scene["n_leaves"] == len(explainer.tree.leaves)
    assert 0 <= scene["first_row"] < scene["n_rows"]
    assert scene["target"] == [] or set(scene["target"]) < set(scene["classes"])
    assert ("Q" in scene["costs"]) == (scene["shape"] is not None)
    for feature in scene["features"]:
        if feature["kind"] == "number":
            assert feature["lower"] <= feature["upper"]
        else:
            assert len(set(feature["values"])) == len(feature["values"])


def test_german_credit_opens_with_a_refused_loan():
    scene = describe_scene("german")
    assert sorted(scene["classes"]) == ["granted", "refused"]
    assert scene["target"] == ["granted"]
    assert ask(make_question("german"))[0]["source"]["label"] == "refused"
    assert ask(make_question("adult"))[0]["source"]["label"] != describe_scene("adult")["target"][0]


@pytest.mark.parametrize("key", SCENES)
def test_a_session_answers_as_the_library_does(key):
    reply, answer = agrees(make_question(key))
    assert reply["status"] == "optimal"
    assert reply["source"]["label"] == str(answer.source_label)
    assert reply["conflict"] == reply["settings"] == []
    assert reply["stopped_after"] is None
    bound = float(reply["proof"]["lower_bound"])
    assert bound <= answer.lower_bound <= bound * 1.001 + 1e-300
    assert reply["proof"]["text"] == f"proved: {reply['ways'][0]['proof']['claim']}"
    assert all(way["proved"] for way in reply["ways"])
    assert "would say" in reply["sentence"]


@pytest.mark.parametrize("key", SCENES)
def test_the_proof_of_an_answer_holds(key):
    check = bundled_session().handle("check", make_question(key))
    json.dumps(check, allow_nan=False)
    assert check["holds"] is True
    assert check["status"] == "optimal"
    assert check["n_parts"] > 0


def tiny_price():
    """A question whose costs differ by many orders of magnitude: the core doubts its bounds, and the proof is long."""
    controls = {
        "age": {"high": 64677314024645608},
        "credit_history": {"lock": True, "multiplier": 52},
        "status_of_checking_account": {"allowed": [0, 1, 2], "multiplier": 690258.3027553258},
        "employment_since": {"multiplier": 3.572576723744657e-178},
    }
    return make_question("german", row=1, target=["refused"], controls=controls)


def test_the_time_limit_includes_the_check_of_a_doubtful_proof():
    scene = bundled_session().scene("german")
    session = small_session(scene.explainer, scene.rows, scene.shape, 0.1, "german")
    start = time.perf_counter()
    reply, answer = ask(tiny_price(), session)
    assert time.perf_counter() - start < patient(5)  # two questions of 0.1 s; the check alone takes more than 10 s
    assert reply["status"] == answer.status == "limit"
    assert answer.certificate.check()
    assert not reply["ways"] or reply["ways"][0]["confirmed"]


def test_a_check_that_takes_too_long_is_refused_in_one_line(monkeypatch):
    monkeypatch.setattr(session_module, "_CHECK_TIME", 0.0)
    with pytest.raises(CounterleafError, match=r"than 0 s; export the answer as JSON and run counterleaf verify$"):
        bundled_session().handle("check", make_question("german"))


@pytest.mark.parametrize("key", SCENES)
@pytest.mark.parametrize("spread", ["range", "std", "mad", "none"])
@pytest.mark.parametrize("cost", ["L1", "L2", "mixed"])
def test_costs_and_spreads(key, cost, spread):
    agrees(make_question(key, cost=cost, spread=spread))


def test_smooth_changes_of_a_picture():
    agrees(make_question("digits", cost="Q"))


@pytest.mark.parametrize("key", SCENES)
@pytest.mark.parametrize("count", [1, 2, 5, MAX_ALTERNATIVES])
def test_the_number_of_alternatives(key, count):
    reply, _ = agrees(make_question(key, count=count))
    assert 1 <= len(reply["ways"]) <= count


@pytest.mark.parametrize("key", SCENES)
def test_each_class_can_be_the_target(key):
    for label in describe_scene(key)["classes"]:
        reply, answer = agrees(make_question(key, target=[label]))
        assert {one["label"] for one in reply["ways"]} <= {label}
        if label == reply["source"]["label"]:
            assert answer[0].changes == {}
            assert "Nothing has to change" in reply["sentence"]


def test_several_classes_and_any_other_class():
    reply, _ = agrees(make_question("digits", target=["1", "4", "1"], count=6))
    assert {one["label"] for one in reply["ways"]} <= {"1", "4"}
    reply, _ = agrees(make_question("digits", target=[], count=12))
    assert reply["source"]["label"] not in {one["label"] for one in reply["ways"]}


def label(key, name):
    """The name of a feature as the page shows it."""
    schema = bundled_session().scene(key).explainer.schema
    return schema.features[schema.index(name)].label or name.replace("_", " ")


def unit(key, name):
    schema = bundled_session().scene(key).explainer.schema
    found = getattr(schema.features[schema.index(name)], "unit", None)
    return f" {found}" if found else ""


@pytest.mark.parametrize("key", TABLES)
def test_a_locked_feature_does_not_change(key):
    reply, _ = ask(make_question(key))
    for name in changed_names(reply):
        reply, answer = agrees(make_question(key, **control(name, lock=True)))
        assert reply["settings"] == [f"{label(key, name)} locked"]
        assert name not in changed_names(reply)
        assert all(row[name] == answer.source_values[name] for row in values_of(answer))


@pytest.mark.parametrize("key", SCENES)
@pytest.mark.parametrize("verb", ["increase", "decrease"])
def test_a_number_changes_in_one_direction_only(key, verb):
    for name in numbers(key)[:6]:
        reply, answer = agrees(make_question(key, count=6, **control(name, direction=f"only_{verb}")))
        assert reply["settings"] == [f"{label(key, name)} may only {verb}"]
        moves = [new - old for c in answer for old, new in [c.changes.get(name, (0, 0))]]
        assert all(move >= 0 if verb == "increase" else move <= 0 for move in moves)


@pytest.mark.parametrize("key", SCENES)
def test_a_number_stays_in_its_range(key):
    name = changed_feature(key)
    _, free = ask(make_question(key, count=12))
    (old, new) = next(c.changes[name] for c in free if name in c.changes)
    low, high = sorted([old, math.floor((old + new) / 2)])
    for limits in ({"low": float(low)}, {"high": float(high)}, {"low": float(low), "high": float(high)}):
        reply, answer = agrees(make_question(key, count=12, **control(name, **limits)))
        assert len(reply["settings"]) == 1
        assert reply["settings"][0].startswith(label(key, name))
        for row in values_of(answer):
            assert limits.get("low", -math.inf) <= row[name] <= limits.get("high", math.inf)


@pytest.mark.parametrize("key", SCENES)
def test_a_range_wider_than_the_data_extends_the_bounds(key):
    for name in numbers(key)[:4]:
        feature = feature_of(key, name)
        wide = feature["upper"] - feature["lower"]
        wider = {"low": feature["lower"] - 3 * wide, "high": feature["upper"] + 3 * wide}
        _, free = ask(make_question(key, count=12))
        _, answer = agrees(make_question(key, count=12, **control(name, **wider)))
        assert answer[0].cost <= free[0].cost
        beyond = feature["upper"] + wide
        reply, answer = agrees(make_question(key, **control(name, low=beyond)))
        assert all(row[name] >= beyond for row in values_of(answer))
        assert reply["status"] in ("optimal", "infeasible")


@pytest.mark.parametrize("key", TABLES)
def test_only_allowed_categories(key):
    for name in categories(key)[:5]:
        size = len(feature_of(key, name)["values"])
        for allowed in ([0], [size - 1, 0], list(range(size)), [0, 0]):
            reply, answer = agrees(make_question(key, count=5, **control(name, allowed=allowed)))
            schema = bundled_session().scene(key).explainer.schema
            values = {schema.features[schema.index(name)].values[k] for k in allowed}
            assert all(row[name] in values for row in values_of(answer))
            assert len(reply["settings"]) == 1


@pytest.mark.parametrize(("key", "step"), [("adult", 5.0), ("adult", 7.0), ("german", 12.0), ("digits", 0.5), ("digits", 4.0)])
def test_a_changed_value_is_a_multiple_of_the_step(key, step):
    name = changed_feature(key)
    reply, answer = agrees(make_question(key, count=6, **control(name, step=step)))
    assert reply["settings"] == [f"{label(key, name)} in steps of {step:g}{unit(key, name)}"]
    moved = [c.changes[name][1] for c in answer if name in c.changes]
    assert all(value % step == 0 for value in moved)


@pytest.mark.parametrize("key", TABLES)
@pytest.mark.parametrize("cost", ["L1", "L2", "mixed"])
@pytest.mark.parametrize("multiplier", [0.0, 0.1, 10.0])
def test_a_multiplier_changes_the_cost_of_a_feature(key, cost, multiplier):
    name = changed_feature(key)
    reply, _ = agrees(make_question(key, cost=cost, **control(name, multiplier=multiplier)))
    assert reply["settings"] == [f"{label(key, name)} costs {multiplier:g} times as much"]


@pytest.mark.parametrize("key", SCENES)
@pytest.mark.parametrize("max_changes", [0, 1, 2, 50])
def test_no_more_features_change_than_allowed(key, max_changes):
    reply, answer = agrees(make_question(key, max_changes=max_changes))
    assert all(len(c.changes) <= max_changes for c in answer)
    assert reply["settings"] == [f"at most {max_changes} feature{'s' * (max_changes != 1)} may change"]
    assert reply["status"] == ("infeasible" if max_changes == 0 else reply["status"])


@pytest.mark.parametrize("key", SCENES)
@pytest.mark.parametrize("margin", [0.25, 1.0])
def test_every_score_is_at_least_the_margin(key, margin):
    _, free = ask(make_question(key))
    reply, answer = agrees(make_question(key, margin=margin))
    assert reply["settings"] == [f"margin {margin:g}"]
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
    reply, answer = agrees(make_question("digits", ink=ink, count=6))
    assert reply["settings"] == [f"only {ink} ink"]
    source = np.array(reply["image"]["source"])
    for image in reply["image"]["answers"]:
        assert ((np.array(image) >= source) if ink == "add" else (np.array(image) <= source)).all()
    assert len(reply["image"]["answers"]) == len(answer)


def test_locked_pixels_do_not_change():
    _, before = ask(make_question("digits", count=6))
    names = {name for c in before for name in c.changes}
    changed = {describe_scene("digits")["features"].index(feature_of("digits", name)) for name in names}
    locked = [*changed, *changed]
    reply, answer = agrees(make_question("digits", count=6, locked_pixels=locked))
    assert reply["settings"] == [f"{len(changed)} pixels locked"]
    for image in reply["image"]["answers"]:
        assert [image[k] for k in locked] == [reply["image"]["source"][k] for k in locked]
    assert all(answer.source_values[name] == row[name] for row in values_of(answer) for name in names)
    assert ask(make_question("digits", locked_pixels=[5]))[0]["settings"] == ["1 pixel locked"]


@pytest.mark.parametrize("key", SCENES)
def test_an_edited_row_is_the_source(key):
    name = numbers(key)[0]
    middle = round((feature_of(key, name)["lower"] + feature_of(key, name)["upper"]) / 2)
    _, answer = agrees(make_question(key, edits={name: float(middle)}))
    assert answer.source_values[name] == middle
    for category in categories(key)[:3]:
        last = len(feature_of(key, category)["values"]) - 1
        reply, answer = agrees(make_question(key, edits={name: float(middle), category: float(last)}))
        assert str(answer.source_values[category]) == feature_of(key, category)["values"][last]
        json.dumps(reply, allow_nan=False)


@pytest.mark.parametrize("key", SCENES)
def test_a_row_edited_beyond_the_ranges_of_the_data_is_answered(key):
    name = numbers(key)[0]
    _, answer = agrees(make_question(key, edits={name: 1000.0}))
    assert answer.source_values[name] == 1000


@pytest.mark.parametrize("key", SCENES)
def test_several_settings_hold_together(key):
    names = numbers(key)
    controls = {
        names[0]: {"lock": True},
        names[1]: {"direction": "only_increase", "multiplier": 3.0},
        names[2]: {"low": 1.0, "step": 2.0},
    }
    if categories(key):
        controls[categories(key)[0]] = {"allowed": [0, 1], "multiplier": 0.5}
    for cost in ("L1", "L2", "mixed"):
        agrees(make_question(key, controls=controls, cost=cost, max_changes=4, count=5, margin=0.1))


def test_every_kind_of_feature():
    session = small_session(*every_kind())
    scene = session.handle("scene", {"scene": "test"})
    assert [feature["kind"] for feature in scene["features"]] == ["number", "number", "ordinal", "categorical", "boolean"]
    assert [feature.get("missing") for feature in scene["features"]] == [False, False, False, True, False]
    assert scene["spreads"] == ["none"]
    base = {"scene": "test", "spread": "none", "count": 12}
    for row in range(session.scene("test").n_rows):
        agrees({**base, "row": row}, session)
        agrees({**base, "row": row, "controls": {"school": {"direction": "only_increase"}, "owner": {"lock": True}}}, session)
        agrees(
            {**base, "row": row, "controls": {"school": {"allowed": [1, 3]}, "job": {"allowed": [0, 2], "multiplier": 2.0}}},
            session,
        )
        agrees(
            {
                **base,
                "row": row,
                "controls": {"owner": {"allowed": [1]}, "school": {"direction": "only_decrease"}},
                "cost": "mixed",
            },
            session,
        )
    for missing in (None, 3.0):
        reply, answer = agrees({**base, "row": 0, "edits": {"job": missing, "school": 0.0, "owner": 1.0}}, session)
        assert answer.source_values["job"] is None
        assert {c["from"] for way in reply["ways"] for c in way["changes"] if c["feature"] == "job"} <= {"(missing)"}
        assert all(row["job"] != "(missing)" for row in values_of(answer))
    reply, answer = agrees({**base, "row": 0, "edits": {"job": 3.0}, "controls": {"job": {"lock": True}}}, session)
    assert all(row["job"] is None for row in values_of(answer))


@pytest.mark.parametrize("key", SCENES)
def test_rows_and_the_search_for_them(key):
    size, classes = describe_scene(key)["n_rows"], describe_scene(key)["classes"]
    scene = bundled_session().scene(key)
    for row in (0, 1, size - 1):
        reply = bundled_session().handle("row", {"scene": key, "row": row})
        json.dumps(reply, allow_nan=False)
        assert reply["label"] == scene.predict(scene.values(row, {}))
        codes = dict(zip(scene.explainer.schema.names, reply["values"], strict=True))
        assert scene.values(0, codes) == scene.values(row, {})

    def find(start, direction, label):
        return bundled_session().handle("find", {"scene": key, "start": start, "direction": direction, "label": label})["row"]

    labels = [scene.predict(scene.values(row, {})) for row in range(60)]
    for label in classes:
        assert find(0, 1, label) == (labels.index(label) if label in labels else find(60, 1, label))
        assert find(59, -1, label) == (59 - labels[::-1].index(label) if label in labels else None)
    assert find(3, 1, None) == 3
    found = bundled_session().handle("find", {"scene": key, "start": 3, "direction": 1, "label": None})
    assert found == bundled_session().handle("row", {"scene": key, "row": 3})
    assert find(size + 5, 1, None) == size - 1
    assert find(-1, -1, None) is None
    assert find(size - 20, 1, "no such class") is None


@pytest.mark.parametrize("key", SCENES)
@pytest.mark.parametrize("limit", [1e-9, 1e-4, 1e-3])
def test_a_tiny_limit_gives_a_bound_or_an_answer(key, limit):
    scene = bundled_session().scene(key)
    session = small_session(scene.explainer, scene.rows, scene.shape, limit, key)
    costs = ["L1", "L2", "mixed", *(["Q"] if describe_scene(key)["shape"] else [])]
    for cost in costs:
        for margin in (0.0, 1.0):
            question = make_question(key, cost=cost, margin=margin, count=12)
            reply, answer = ask(question, session)
            assert reply["status"] in ("optimal", "limit", "infeasible")
            if reply["status"] == "limit":
                assert reply["stopped_after"] in (limit, None)  # None if another limit stopped the search
                assert reply["proof"]["lower_bound"] is None or float(reply["proof"]["lower_bound"]) >= 0
                assert reply["ways"] or "The search stopped" in reply["sentence"]
                true = ask(question)[1]
                assert answer.lower_bound <= (true[0].cost if len(true) else math.inf) * (1 + 1e-9)
            for one in reply["ways"]:
                assert one["confirmed"]
            for verb in ("check", "tree"):
                json.dumps(session.handle(verb, question), allow_nan=False)
            session.handle("export", {"format": "html", "questions": [question]})
            session.handle("export", {"format": "csv", "questions": [question]})


INVALID = [
    ({"scene": "nowhere"}, "no scene 'nowhere'; expected one of german, adult, digits"),
    ({"row": 10**9}, "expected 0 to"),
    ({"edits": {"ghost": 1.0}}, "no feature 'ghost'"),
    ({"edits": {"purpose": 1.5}}, "has no value 1.5"),
    ({"edits": {"purpose": 99.0}}, "expected an index from 0 to 9"),
    ({"edits": {"purpose": -1.0}}, "has no value -1"),
    ({"edits": {"purpose": None}}, "missing"),
    ({"edits": {"age": None}}, "age"),
    ({"controls": {"ghost": {"lock": True}}}, "no feature 'ghost'"),
    ({"controls": {"purpose": {"direction": "only_increase"}}}, "has no order"),
    ({"controls": {"purpose": {"low": 1.0}}}, "use allowed"),
    ({"controls": {"purpose": {"step": 1.0}}}, "only a numeric feature has a step"),
    ({"controls": {"purpose": {"allowed": []}}}, "allow at least one"),
    ({"controls": {"purpose": {"allowed": [10]}}}, "has no value 10; expected an index from 0 to 9"),
    ({"controls": {"age": {"allowed": [1]}}}, "use low and high"),
    ({"controls": {"age": {"low": 5.0, "high": 4.0}}}, "no number lies between"),
    ({"controls": {"age": {"step": 0.5}}}, "whole step"),
    ({"target": ["perhaps"]}, "no class 'perhaps'"),
    ({"cost": "Q"}, "the rows are not images; use L1, L2 or mixed"),
    ({"locked_pixels": [5000]}, "expected 0 to 19"),
    ({"ink": "add"}, "the rows are not images; use direction"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "message"), INVALID, ids=[message for _, message in INVALID])
def test_an_invalid_question_gives_a_message_of_one_line(fields, message):
    for verb in ("answer", "tree", "check"):
        with pytest.raises(CounterleafError) as caught:
            bundled_session().handle(verb, {"scene": "german", **fields})
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)
    with pytest.raises(CounterleafError):
        bundled_session().handle("export", {"format": "csv", "questions": [{"scene": "german"}, {"scene": "german", **fields}]})


def test_the_cost_q_takes_no_multiplier():
    with pytest.raises(CounterleafError, match="Q takes no multiplier"):
        bundled_session().handle("answer", make_question("digits", cost="Q", **control("p3_3", multiplier=2.0)))


def test_rows_and_scenes_that_do_not_exist():
    with pytest.raises(CounterleafError, match="no scene"):
        bundled_session().handle("row", {"scene": "nowhere", "row": 0})
    with pytest.raises(CounterleafError, match="no scene"):
        bundled_session().handle("find", {"scene": "nowhere", "start": 0, "direction": 1, "label": None})
    with pytest.raises(CounterleafError, match="expected 0 to"):
        bundled_session().handle("row", {"scene": "adult", "row": 10**9})


def test_the_caches_stay_small():
    scene = bundled_session().scene("german")
    session = small_session(scene.explainer, scene.rows, key="german")
    for k in range(80):
        session.handle("answer", make_question("german", **control("age", low=10.0 - k, multiplier=1.0 + k)))
    assert len(session.scene("german")._remembered) <= 64
    first = make_question("german", **control("age", low=10.0, multiplier=1.0))
    assert session.handle("answer", first)["ways"] == bundled_session().handle("answer", first)["ways"]
