"""The solver thread: order, queue, cancelled requests, time limits and shutdown."""

import asyncio
import json
import threading
import time

import pytest
from support.fake_session import FakeSession
from support.waiting import patient

from counterleaf.errors import CounterleafError
from counterleaf.explorer.session.solver import InternalError, Limits, Solver, UnavailableError

pytestmark = pytest.mark.slow  # the whole file takes many seconds

ENDED = "the explorer has been stopped; start it again with: counterleaf explore"


def with_solver(scenario, limits=None, time_limit=0.5):
    """Run a scenario with a solver, a function that sends a request about a scene, and the fake session."""

    async def go():
        session = FakeSession(time_limit)
        solver = Solver(session, limits)

        async def ask(scene, **more):
            return json.loads(await solver.ask("answer", {"scene": scene, **more}))

        try:
            return await asyncio.wait_for(scenario(solver, ask, session), patient(40))
        finally:
            await solver.stop()

    return asyncio.run(go())


async def until(condition):
    while not condition():
        await asyncio.sleep(0.002)


def test_requests_are_answered_in_another_thread():
    async def scenario(solver, ask, session):
        return await ask("adult")

    reply = with_solver(scenario)
    assert (reply["verb"], reply["arguments"]) == ("answer", {"scene": "adult"})
    assert reply["thread"] != threading.current_thread().name


def test_the_event_loop_runs_while_a_request_is_answered(tmp_path):
    async def scenario(solver, ask, session):
        task = asyncio.create_task(ask(f"slow:{tmp_path / 'go'}"))
        await until((tmp_path / "go.started").exists)
        for _ in range(5):
            await asyncio.sleep(0.01)
            assert not task.done()
        (tmp_path / "go").touch()
        return await task

    assert with_solver(scenario, time_limit=30.0)["verb"] == "answer"


def test_mistakes_and_internal_errors_are_raised(capsys):
    async def scenario(solver, ask, session):
        with pytest.raises(CounterleafError, match=r"^no such scene: 'unknown'$"):
            await ask("unknown")
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
def test_an_answer_that_json_cannot_represent_is_an_internal_error(scene, line, capsys):
    async def scenario(solver, ask, session):
        with pytest.raises(InternalError, match=line):
            await ask(scene)

    with_solver(scenario)
    assert "Traceback" in capsys.readouterr().err


def test_requests_are_answered_one_at_a_time_in_order():
    async def scenario(solver, ask, session):
        done = []

        async def numbered(number):
            await ask("slow:0.02")
            done.append(number)

        await asyncio.gather(*map(numbered, range(6)))
        return done

    assert with_solver(scenario) == list(range(6))


def test_a_bounded_number_of_requests_waits(tmp_path):
    async def scenario(solver, ask, session):
        tasks = [asyncio.create_task(ask(f"slow:{tmp_path / 'go'}"))]
        await until(lambda: session.started)  # the first request is running
        tasks += [asyncio.create_task(ask("adult")) for _ in range(Limits().waiting)]
        await asyncio.sleep(0)
        with pytest.raises(UnavailableError, match=r"^busy: 64 requests are waiting already; try again in a moment$"):
            await ask("adult")
        (tmp_path / "go").touch()
        return await asyncio.gather(*tasks)

    assert len(with_solver(scenario, time_limit=30.0)) == 65


def test_a_request_waits_for_a_bounded_time_and_then_leaves_the_queue(tmp_path):
    async def scenario(solver, ask, session):
        first = asyncio.create_task(ask(f"slow:{tmp_path / 'go'}"))
        await until(lambda: session.started)
        with pytest.raises(UnavailableError, match=r"^busy: no turn within 0\.2 s; try again in a moment$"):
            await ask("waited")
        (tmp_path / "go").touch()
        await first
        await ask("adult")
        return session.started

    assert with_solver(scenario, Limits(turn=0.2), 30.0) == [f"slow:{tmp_path / 'go'}", "adult"]


def test_only_the_latest_of_several_replaced_requests_is_answered():
    """Like the page, cancel a request before sending the next one."""

    async def scenario(solver, ask, session):
        start = time.monotonic()
        for number in range(20):
            task = asyncio.create_task(ask("slow:30", number=number))
            await asyncio.sleep(0.01)
            task.cancel()
        reply = await ask("latest")
        return reply["arguments"]["scene"], time.monotonic() - start, len(session.started), len(session.stopped)

    latest, seconds, started, stopped = with_solver(scenario)
    assert latest == "latest"
    assert seconds < patient(5)
    assert started == stopped + 1


def test_a_cancelled_request_leaves_the_queue(tmp_path):
    async def scenario(solver, ask, session):
        first = asyncio.create_task(ask(f"slow:{tmp_path / 'go'}"))
        await until(lambda: session.started)
        others = [asyncio.create_task(ask("cancelled")) for _ in range(8)]
        await asyncio.sleep(0)
        for task in others:
            task.cancel()
        await asyncio.sleep(0)
        last = asyncio.create_task(ask("adult"))
        (tmp_path / "go").touch()
        await asyncio.gather(first, last)
        return session.started

    assert with_solver(scenario, time_limit=30.0) == [f"slow:{tmp_path / 'go'}", "adult"]


def test_a_cancelled_search_ends_soon_and_the_next_request_is_answered(capsys):
    async def scenario(solver, ask, session):
        task = asyncio.create_task(ask("slow:30"))
        await until(lambda: session.started)
        start = time.monotonic()
        task.cancel()
        await ask("adult")
        return time.monotonic() - start, session.stopped

    seconds, stopped = with_solver(scenario)
    assert seconds < patient(1)
    assert stopped == ["slow:30"]
    assert capsys.readouterr().err == ""


def test_a_request_that_takes_too_long_is_stopped_and_the_next_one_is_answered():
    async def scenario(solver, ask, session):
        start = time.monotonic()
        message = r"^no answer within 1 s; simplify the question or set a longer --time-limit$"
        with pytest.raises(UnavailableError, match=message):
            await ask("slow:30")
        seconds = time.monotonic() - start
        return seconds, await ask("adult"), session.stopped

    seconds, reply, stopped = with_solver(scenario, Limits(grace=0.5))
    assert 1.0 <= seconds < patient(5.0)
    assert reply["verb"] == "answer"
    assert stopped == ["slow:30"]


def test_a_request_with_several_questions_has_the_time_of_each():
    unit = patient(0.5)

    async def scenario(solver, ask, session):
        return await ask(f"slow:{2.4 * unit}", questions=[{}, {}])

    assert with_solver(scenario, Limits(grace=unit), time_limit=unit)["verb"] == "answer"


def test_work_that_cannot_be_stopped_delays_the_next_request_only(tmp_path):
    async def scenario(solver, ask, session):
        with pytest.raises(UnavailableError, match=r"^no answer within 0\.2 s"):
            await ask(f"stubborn:{tmp_path / 'go'}")
        task = asyncio.create_task(ask("adult"))
        await asyncio.sleep(0.3)  # its time starts when the thread is free
        assert not task.done()
        (tmp_path / "go").touch()
        return await task

    assert with_solver(scenario, Limits(grace=0.1), time_limit=0.1)["verb"] == "answer"


def test_stopping_refuses_all_waiting_requests():
    async def scenario(solver, ask, session):
        tasks = [asyncio.create_task(ask("slow:30")) for _ in range(3)]
        await until(lambda: session.started)
        start = time.monotonic()
        await solver.stop()
        errors = await asyncio.gather(*tasks, return_exceptions=True)
        seconds = time.monotonic() - start
        with pytest.raises(UnavailableError, match=f"^{ENDED}$"):
            await ask("adult")
        return seconds, {type(error) for error in errors}, {str(error) for error in errors}, session.started

    seconds, kinds, messages, started = with_solver(scenario)
    assert seconds < patient(1)
    assert (kinds, messages) == ({UnavailableError}, {ENDED})
    assert started == ["slow:30"]


def test_stopping_does_not_wait_for_work_that_cannot_be_stopped():
    async def scenario(solver, ask, session):
        task = asyncio.create_task(ask(f"stubborn:{patient(4)}"))
        await until(lambda: session.started)
        start = time.monotonic()
        await solver.stop()
        task.cancel()
        return time.monotonic() - start

    assert with_solver(scenario) < patient(3)
