"""The folders of cpp/ against the table in cpp/README.md: every file is listed, and includes follow its order."""

import re
from collections import Counter
from graphlib import TopologicalSorter
from pathlib import Path

CPP = Path(__file__).parents[2] / "cpp"
ROOMS = {
    room: re.findall(r"`(\w+)`", files)
    for room, files in re.findall(r"^\| `(\w+)/` \|[^|]*\|([^|]*)\|$", (CPP / "README.md").read_text(), re.MULTILINE)
}
FILES = sorted(path.relative_to(CPP).as_posix() for path in CPP.rglob("*.?pp"))


def included(file):
    return re.findall(r'^#include "([^"]+)"', (CPP / file).read_text(), re.MULTILINE)


def test_every_file_is_in_a_room_and_listed_once():
    listed = Counter(f"{room}/{name}" for room, names in ROOMS.items() for name in names)
    assert set(listed) == {file.rsplit(".", 1)[0] for file in FILES}
    assert max(listed.values()) == 1


def test_a_room_has_four_to_nine_files():
    assert {room: len(names) for room, names in ROOMS.items() if not 4 <= len(names) <= 9} == {}


def test_includes_name_files_by_room():
    assert [(file, name) for file in FILES for name in included(file) if name not in FILES] == []


def test_includes_follow_the_order_of_the_rooms():
    order = {room: place for place, room in enumerate(ROOMS)}
    room_of = {file: file.split("/")[0] for file in FILES}
    backwards = [(f, name) for f in FILES for name in included(f) if order[room_of[name]] > order[room_of[f]]]
    assert backwards == []


def test_headers_do_not_include_each_other_in_circles():
    TopologicalSorter({file: included(file) for file in FILES}).prepare()
