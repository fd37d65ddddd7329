import json
import subprocess
import time

import fake_desk
import pytest

ARGUMENTS = {"model": None, "data": None, "row": 0, "shape": None, "mnist": None, "time_limit": 1.0}


class Talk:
    def __init__(self, **arguments):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(fake_desk.COMMAND, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        self.first = self.say(ARGUMENTS | arguments)

    def say(self, value):
        self.process.stdin.write(json.dumps(value) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def ask(self, scene):
        return self.say({"id": scene, "verb": "answer", "given": {"scene": scene}})

    def end(self):
        _, errors = self.process.communicate(timeout=10)  # closes stdin
        return errors


@pytest.fixture
def talk():
    talk = Talk()
    yield talk
    talk.end()


def test_it_is_ready_and_answers_each_by_its_id(talk):
    assert talk.first == {"ready": True}
    reply = talk.ask("adult")
    assert reply["id"] == "adult"
    assert reply["ok"]["given"] == {"scene": "adult"}
    assert reply["ok"]["by"] == "compiled"


def test_a_mistake_is_one_line_and_no_traceback():
    talk = Talk()
    assert talk.ask("mistaken") == {"id": "mistaken", "error": "no such scene: 'mistaken'", "kind": "mistake"}
    assert talk.end() == ""


def test_a_bug_is_one_line_with_its_traceback_on_stderr_and_the_next_question_is_answered():
    talk = Talk()
    assert talk.ask("bug") == {"id": "bug", "error": "RuntimeError: a bug", "kind": "internal"}
    assert "ok" in talk.ask("adult")
    assert "Traceback" in talk.end()


@pytest.mark.parametrize(
    ("scene", "line"),
    [
        ("nan", "ValueError: Out of range float values are not JSON compliant"),
        ("object", "TypeError: Object of type object is not JSON serializable"),
    ],
)
def test_what_json_cannot_hold_is_an_internal_error(talk, scene, line):
    reply = talk.ask(scene)
    assert reply["kind"] == "internal"
    assert reply["error"].startswith(line)


def test_stray_prints_go_to_stderr():
    talk = Talk()
    assert talk.ask("prints")["ok"]["verb"] == "answer"
    errors = talk.end()
    assert "a stray line\n" in errors
    assert "a stray line from C\n" in errors


def test_a_desk_that_does_not_open_is_told_in_the_first_line():
    talk = Talk(model="absent")
    assert talk.first == {"error": "there is no file 'absent'", "kind": "mistake"}
    assert talk.process.wait(10) == 1
    talk.end()


def test_it_ends_at_once_when_stdin_closes_also_in_the_middle_of_a_question(talk):
    talk.process.stdin.write(json.dumps({"id": 1, "verb": "answer", "given": {"scene": "slow:60"}}) + "\n")
    talk.process.stdin.flush()
    time.sleep(0.3)
    talk.process.stdin.close()
    assert talk.process.wait(5) == 0
    talk.process.stdin = None
