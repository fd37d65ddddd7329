import asyncio
import os
import sys
import time

import fake_desk
import pytest
from running_explorer import alive

from counterleaf.errors import CounterleafError
from counterleaf.explorer.child import InternalError
from counterleaf.explorer.crew import Crew, Limits, UnavailableError

ARGUMENTS = {"model": None, "data": None, "row": 0, "shape": None, "mnist": None, "time_limit": 0.5}
QUICK = Limits(grace=0.5, interim_grace=1.5, pause=0.1, patience=0.3)


def with_crew(scenario, limits=QUICK, command=fake_desk.COMMAND, **arguments):
    async def go():
        crew = Crew(ARGUMENTS | arguments, command, limits)
        crew.start()
        try:
            return await asyncio.wait_for(scenario(crew), 40)
        finally:
            await crew.stop()

    return asyncio.run(go())


async def ready(crew):
    while not crew.status()["ready"]:
        await asyncio.sleep(0.02)


async def compiled(crew):
    while crew.status() != {"ready": True, "note": ""}:
        await asyncio.sleep(0.02)


def test_a_question_waits_for_the_first_worker_and_is_answered():
    async def scenario(crew):
        assert crew.status() == {"ready": False, "note": "starting: a few seconds"}
        return await crew.ask("answer", {"scene": "adult"})

    reply = with_crew(scenario)
    assert (reply["verb"], reply["given"]) == ("answer", {"scene": "adult"})


def test_the_interim_worker_serves_until_the_compiled_one_is_ready_and_is_ended(tmp_path):
    async def scenario(crew):
        await ready(crew)
        assert crew.status()["note"] == "the search is being compiled, once on this machine; answers are slower until then"
        first = await crew.ask("answer", {})
        (tmp_path / "compiled").touch()
        await compiled(crew)
        second = await crew.ask("answer", {})
        while alive(first["process"]):
            await asyncio.sleep(0.02)
        return first["by"], second["by"]

    assert with_crew(scenario, model=f"compiling:{tmp_path / 'compiled'}") == ("interim", "compiled")


def test_a_question_that_the_interim_worker_is_at_is_finished_by_it(tmp_path):
    async def scenario(crew):
        await ready(crew)
        asked = asyncio.create_task(crew.ask("answer", {"scene": f"slow:{tmp_path / 'asked'}"}))
        await asyncio.sleep(0.1)
        (tmp_path / "compiled").touch()
        await compiled(crew)
        meanwhile = await crew.ask("answer", {})
        (tmp_path / "asked").touch()
        return meanwhile["by"], (await asked)["by"]

    limits = Limits(patience=0.3)
    assert with_crew(scenario, limits, model=f"compiling:{tmp_path / 'compiled'}") == ("compiled", "interim")


def test_a_mistake_and_an_internal_error_come_back_as_what_they_are():
    async def scenario(crew):
        with pytest.raises(CounterleafError, match=r"^no such scene: 'mistaken'$"):
            await crew.ask("answer", {"scene": "mistaken"})
        with pytest.raises(InternalError, match=r"^RuntimeError: a bug$"):
            await crew.ask("answer", {"scene": "bug"})

    with_crew(scenario)


def test_questions_are_answered_one_at_a_time_in_their_order():
    async def scenario(crew):
        done = []

        async def ask(number):
            await crew.ask("answer", {"scene": "slow:0.05"})
            done.append(number)

        await compiled(crew)
        await asyncio.gather(*map(ask, range(6)))
        return done

    assert with_crew(scenario) == list(range(6))


def test_beyond_eight_that_wait_a_question_is_turned_away():
    async def scenario(crew):
        await compiled(crew)
        asked = [asyncio.create_task(crew.ask("answer", {"scene": "slow:0.3"}))]
        await asyncio.sleep(0.1)  # this one is being answered
        asked += [asyncio.create_task(crew.ask("answer", {})) for _ in range(8)]
        await asyncio.sleep(0)
        with pytest.raises(UnavailableError, match=r"^busy: 8 questions are waiting already; try again in a moment$"):
            await crew.ask("answer", {})
        return await asyncio.gather(*asked)

    assert len(with_crew(scenario)) == 9


def test_a_question_whose_client_has_gone_is_never_asked():
    async def scenario(crew):
        await compiled(crew)
        first = asyncio.create_task(crew.ask("answer", {"scene": "slow:0.3"}))
        await asyncio.sleep(0.1)
        fatal = [asyncio.create_task(crew.ask("answer", {"scene": "dies"})) for _ in range(8)]
        await asyncio.sleep(0.05)
        for task in fatal:
            task.cancel()
        last = await crew.ask("answer", {})  # there is room again
        return (await first)["process"], last["process"]

    first, last = with_crew(scenario)
    assert first == last


def test_a_question_beyond_its_time_is_stopped_with_its_worker_and_the_next_one_is_answered():
    async def scenario(crew):
        await compiled(crew)
        before = await crew.ask("answer", {})
        start = time.monotonic()
        with pytest.raises(
            UnavailableError, match=r"^stopped after 1 s without an answer; ask for less, or set a longer --time"
        ):
            await crew.ask("answer", {"scene": "slow:30"})
        seconds = time.monotonic() - start
        after = await crew.ask("answer", {})
        return seconds, before["process"], after["process"], alive(before["process"])

    seconds, before, after, still_alive = with_crew(scenario)
    assert 1.0 <= seconds < 10.0
    assert before != after
    assert not still_alive


def test_a_question_of_several_has_the_time_of_each():
    async def scenario(crew):
        await compiled(crew)
        return await crew.ask("export", {"scene": "slow:1.2", "questions": [{}, {}]})

    assert with_crew(scenario)["verb"] == "export"


def test_a_worker_that_dies_is_started_anew():
    async def scenario(crew):
        await compiled(crew)
        with pytest.raises(UnavailableError, match=r"^the solver was lost at this question \(it ended with code 3\) and is st"):
            await crew.ask("answer", {"scene": "dies"})
        return await crew.ask("answer", {})

    assert with_crew(scenario)["verb"] == "answer"


def test_a_worker_that_dies_while_nothing_is_asked_costs_no_answer():
    async def scenario(crew):
        await compiled(crew)
        process = (await crew.ask("answer", {}))["process"]
        os.kill(process, 9)
        await asyncio.sleep(0.1)
        return process, (await crew.ask("answer", {}))["process"]

    before, after = with_crew(scenario)
    assert before != after


def test_the_interim_worker_goes_on_where_the_compiled_one_never_starts(capfd):
    async def scenario(crew):
        while "failed" not in crew.status()["note"]:
            await asyncio.sleep(0.05)
        await ready(crew)
        return crew.status(), await crew.ask("answer", {})

    status, reply = with_crew(scenario, model="compiling:fails")
    assert status["ready"]
    assert status["note"].startswith("the solver failed 3 times in a row (it ended with code 7); the terminal says more")
    assert reply["by"] == "interim"
    assert "counterleaf: the compiled solver failed 3 times in a row: it ended with code 7\n" in capfd.readouterr().err


def test_where_no_worker_starts_everyone_is_told_in_one_line(capfd):
    async def scenario(crew):
        line = r"^the solver failed \d times in a row \(there is no file 'absent'\); the terminal says more$"
        with pytest.raises(UnavailableError, match=line):
            await crew.ask("answer", {})
        with pytest.raises(UnavailableError, match=line):  # at once
            await asyncio.wait_for(crew.ask("answer", {}), 0.05)
        assert not crew.status()["ready"]

    with_crew(scenario, model="absent")
    assert "3 times in a row" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("print('hello'); input(); input()", "it said something that is no reply"),
        ("print('{}'); input(); input()", "it began with something else than that it is ready"),
        ("print('[]'); input(); input()", "it said something that is no reply"),
    ],
)
def test_a_program_that_is_no_worker_is_told_apart(code, why, capfd):
    async def scenario(crew):
        with pytest.raises(UnavailableError, match=why):
            await crew.ask("answer", {})

    with_crew(scenario, command=(sys.executable, "-u", "-c", code))
    assert why in capfd.readouterr().err


def test_stopping_frees_those_who_wait_and_ends_the_workers():
    async def scenario(crew):
        await compiled(crew)
        process = (await crew.ask("answer", {}))["process"]
        asked = [asyncio.create_task(crew.ask("answer", {"scene": "slow:30"})) for _ in range(3)]
        await asyncio.sleep(0.1)
        await crew.stop()
        errors = await asyncio.gather(*asked, return_exceptions=True)
        with pytest.raises(
            UnavailableError, match=r"^the explorer has been stopped; start it again with: counterleaf explore$"
        ):
            await crew.ask("answer", {})
        return process, errors

    process, errors = with_crew(scenario, limits=Limits())
    assert not alive(process)
    assert {str(error) for error in errors} == {"the explorer has been stopped; start it again with: counterleaf explore"}
