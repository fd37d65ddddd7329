"""A search that another thread stops: it ends soon, with the status "limit" and a valid bound."""

import math
import threading
import time

import numpy as np
import pytest
from support.explorer_cases import endless, small_session
from support.waiting import patient

from counterleaf._core import Stop
from counterleaf.core.stopping import StoppedError, current, raise_if_stopped, stoppable


def ask(explainer, **limits):
    return explainer.explain(np.zeros(len(explainer.schema)), target="yes", **limits)


def test_a_search_ends_soon_after_it_is_stopped():
    stop, ends, explainer = Stop(), [], endless()
    timer = threading.Timer(0.3, lambda: (ends.append(time.perf_counter()), stop.set()))
    timer.start()
    with stoppable(stop):
        answer = ask(explainer)
    assert time.perf_counter() - ends[0] < patient(0.5)
    assert (str(answer.status), len(answer)) == ("limit", 0)
    assert 0 < answer.lower_bound < math.inf


def test_a_flag_that_is_set_already_stops_at_once():
    stop = Stop()
    stop.set()
    start = time.perf_counter()
    with stoppable(stop):
        assert str(ask(endless()).status) == "limit"
    assert time.perf_counter() - start < patient(0.5)


def test_the_flag_is_that_of_its_block_and_of_its_thread():
    outer, inner, elsewhere = Stop(), Stop(), []
    assert current() is None
    with stoppable(outer):
        with stoppable(inner):
            assert current() is inner
        assert current() is outer
        thread = threading.Thread(target=lambda: elsewhere.append(current()))
        thread.start()
        thread.join()
    assert current() is None
    assert elsewhere == [None]


def test_an_error_inside_takes_the_flag_away():
    with pytest.raises(KeyError), stoppable(Stop()):
        raise KeyError
    assert current() is None


def test_work_of_several_searches_is_left_where_it_is_stopped():
    stop = Stop()
    raise_if_stopped()
    with stoppable(stop):
        raise_if_stopped()
        stop.set()
        assert stop.is_set()
        with pytest.raises(StoppedError):
            raise_if_stopped()
    raise_if_stopped()


@pytest.mark.parametrize(
    ("verb", "query"),
    [
        ("answer", {"scene": "test"}),
        ("tree", {"scene": "test"}),
        ("check", {"scene": "test"}),
        ("plane", {"question": {"scene": "test"}, "x_feature": "x0", "y_feature": "x1"}),
        ("export", {"format": "csv", "questions": [{"scene": "test"}] * 60}),
    ],
)
def test_a_question_of_the_page_that_is_stopped_has_no_answer(verb, query):
    """In particular, no answer that reports a time limit."""
    at, stop = small_session(endless(), limit=30.0), Stop()
    spread = {"spread": "none", "target": ["yes"]}
    if "scene" in query:
        query = query | spread
    elif "question" in query:
        query = query | {"question": query["question"] | spread}
    else:
        query = query | {"questions": [one | spread for one in query["questions"]]}
    timer = threading.Timer(0.1, stop.set)
    timer.start()
    start = time.perf_counter()
    with stoppable(stop), pytest.raises(StoppedError):
        at.handle(verb, query)
    assert time.perf_counter() - start < patient(2)
