"""The explorer's solver thread: order, queue, withdrawn questions, time, and the end."""

import asyncio
import json
import threading
import time

import pytest
from fake_desk import FakeSession

from counterleaf.errors import CounterleafError
from counterleaf.explorer.session.solver import InternalError, Limits, Solver, UnavailableError

ENDED = "the explorer has been stopped; start it again with: counterleaf explore"


def with_solver(scenario, limits=None, time_limit=0.5):
    """What a scenario returns, which gets a solver, a function that asks about a scene and the desk behind them."""

    async def go():
        desk = FakeSession(time_limit)
        solver = Solver(desk, limits)

        async def ask(scene, **more):
            return json.loads(await solver.ask("answer", {"scene": scene, **more}))

        try:
            return await asyncio.wait_for(scenario(solver, ask, desk), 40)
        finally:
            await solver.stop()

    return asyncio.run(go())


async def until(condition):
    while not condition():
        await asyncio.sleep(0.002)


def test_a_question_is_answered_in_a_thread_of_its_own():
    async def scenario(solver, ask, desk):
        return await ask("adult")

    reply = with_solver(scenario)
    assert (reply["verb"], reply["given"]) == ("answer", {"scene": "adult"})
    assert reply["thread"] != threading.current_thread().name


def test_the_event_loop_goes_on_while_a_question_is_answered():
    async def scenario(solver, ask, desk):
        task, turns = asyncio.create_task(ask("slow:0.3")), 0
        while not task.done():
            await asyncio.sleep(0.01)
            turns += 1
        return turns

    assert with_solver(scenario) >= 5


def test_a_mistake_and_an_internal_error_come_back_as_what_they_are(capsys):
    async def scenario(solver, ask, desk):
        with pytest.raises(CounterleafError, match=r"^no such scene:\n'mistaken'$"):
            await ask("mistaken")
        with pytest.raises(InternalError, match=r"^RuntimeError: a bug$"):
            await ask("bug")
        return await ask("adult")

    assert with_solver(scenario)["verb"] == "answer"
    errors = capsys.readouterr().err
    assert errors.count("Traceback") == 1
    assert "RuntimeError: a bug" in errors


@pytest.mark.parametrize(
    ("scene", "line"),
    [
        ("nan", "^ValueError: Out of range float values are not JSON compliant"),
        ("object", "^TypeError: Object of type object is not JSON serializable"),
    ],
)
def test_an_answer_that_json_cannot_hold_is_an_internal_error(scene, line, capsys):
    async def scenario(solver, ask, desk):
        with pytest.raises(InternalError, match=line):
            await ask(scene)

    with_solver(scenario)
    assert "Traceback" in capsys.readouterr().err


def test_questions_are_answered_one_at_a_time_in_their_order():
    async def scenario(solver, ask, desk):
        done = []

        async def numbered(number):
            await ask("slow:0.02")
            done.append(number)

        await asyncio.gather(*map(numbered, range(6)))
        return done

    assert with_solver(scenario) == list(range(6))


def test_beyond_eight_that_wait_a_question_is_turned_away():
    async def scenario(solver, ask, desk):
        asked = [asyncio.create_task(ask("slow:0.3"))]
        await until(lambda: desk.begun)  # this one is being answered
        asked += [asyncio.create_task(ask("adult")) for _ in range(8)]
        await asyncio.sleep(0)
        with pytest.raises(UnavailableError, match=r"^busy: 8 questions are waiting already; try again in a moment$"):
            await ask("adult")
        return await asyncio.gather(*asked)

    assert len(with_solver(scenario)) == 9


def test_only_the_latest_question_of_several_that_replace_each_other_is_answered():
    """As the page asks: a question that is replaced is withdrawn, and the next one is sent."""

    async def scenario(solver, ask, desk):
        start = time.monotonic()
        for number in range(20):
            task = asyncio.create_task(ask("slow:30", number=number))
            await asyncio.sleep(0.01)
            task.cancel()
        reply = await ask("latest")
        return reply["given"]["scene"], time.monotonic() - start, len(desk.begun), len(desk.stopped)

    latest, seconds, begun, stopped = with_solver(scenario)
    assert latest == "latest"
    assert seconds < 5
    assert begun == stopped + 1


def test_a_question_whose_client_has_left_is_dropped_from_the_queue_and_makes_room():
    async def scenario(solver, ask, desk):
        first = asyncio.create_task(ask("slow:0.3"))
        await until(lambda: desk.begun)
        others = [asyncio.create_task(ask("gone")) for _ in range(8)]
        await asyncio.sleep(0)
        for task in others:
            task.cancel()
        await asyncio.sleep(0)
        last = asyncio.create_task(ask("adult"))
        await asyncio.gather(first, last)
        return desk.begun

    assert with_solver(scenario) == ["slow:0.3", "adult"]


def test_a_stopped_solve_ends_soon_and_the_next_question_is_answered(capsys):
    async def scenario(solver, ask, desk):
        task = asyncio.create_task(ask("slow:30"))
        await until(lambda: desk.begun)
        start = time.monotonic()
        task.cancel()
        await ask("adult")
        return time.monotonic() - start, desk.stopped

    seconds, stopped = with_solver(scenario)
    assert seconds < 1
    assert stopped == ["slow:30"]
    assert capsys.readouterr().err == ""


def test_a_question_beyond_its_time_is_stopped_and_the_next_one_is_answered():
    async def scenario(solver, ask, desk):
        start = time.monotonic()
        line = r"^stopped after 1 s without an answer; ask for less, or set a longer --time-limit$"
        with pytest.raises(UnavailableError, match=line):
            await ask("slow:30")
        seconds = time.monotonic() - start
        return seconds, await ask("adult"), desk.stopped

    seconds, reply, stopped = with_solver(scenario, Limits(grace=0.5))
    assert 1.0 <= seconds < 5.0
    assert reply["verb"] == "answer"
    assert stopped == ["slow:30"]


def test_a_question_of_several_has_the_time_of_each():
    async def scenario(solver, ask, desk):
        return await ask("slow:1.2", questions=[{}, {}])

    assert with_solver(scenario, Limits(grace=0.5))["verb"] == "answer"


def test_work_that_cannot_be_stopped_is_refused_in_time_and_is_followed_by_the_next_question(tmp_path):
    async def scenario(solver, ask, desk):
        with pytest.raises(UnavailableError, match=r"^stopped after 0\.2 s without an answer"):
            await ask(f"stubborn:{tmp_path / 'go'}")
        task = asyncio.create_task(ask("adult"))
        await asyncio.sleep(0.3)  # its time has not begun yet
        assert not task.done()
        (tmp_path / "go").touch()
        return await task

    assert with_solver(scenario, Limits(grace=0.1), time_limit=0.1)["verb"] == "answer"


def test_stopping_frees_all_that_wait():
    async def scenario(solver, ask, desk):
        asked = [asyncio.create_task(ask("slow:30")) for _ in range(3)]
        await until(lambda: desk.begun)
        start = time.monotonic()
        await solver.stop()
        errors = await asyncio.gather(*asked, return_exceptions=True)
        seconds = time.monotonic() - start
        with pytest.raises(UnavailableError, match=f"^{ENDED}$"):
            await ask("adult")
        return seconds, {type(error) for error in errors}, {str(error) for error in errors}, desk.begun

    seconds, kinds, lines, begun = with_solver(scenario)
    assert seconds < 1
    assert (kinds, lines) == ({UnavailableError}, {ENDED})
    assert begun == ["slow:30"]


def test_stopping_does_not_wait_for_what_cannot_be_stopped():
    async def scenario(solver, ask, desk):
        task = asyncio.create_task(ask("stubborn:4"))
        await until(lambda: desk.begun)
        start = time.monotonic()
        await solver.stop()
        task.cancel()
        return time.monotonic() - start

    assert with_solver(scenario) < 3
