"""An audit that is killed at random moments and started again has the same bits as an undisturbed one."""

import importlib.util
import multiprocessing
import random
import subprocess
import sys
from pathlib import Path

import pytest
from support.audit_cases import TARGET, audit, contents, write_model, write_rows
from support.cli_cases import rows_of
from support.seeds import share
from support.waiting import until

pytestmark = pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")


def kill_often():
    path = Path(__file__).parents[2] / "experiments/measurements/audit_kills.py"
    spec = importlib.util.spec_from_file_location("audit_kills", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.ROWS, module.PART_ROWS = 8000, 100
    return module.kill_often


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_kills_at_random_moments(tmp_path):
    found = kill_often()(share(25), 3, tmp_path)
    assert found["kills"] == share(25)
    assert found["finished"] >= 1
    assert found["differing"] == found["rows_lost_or_doubled"] == 0


def wait_for_parts(process, folder, count):
    """Wait until an audit has written that many parts, or has ended."""
    until(lambda: process.poll() is not None or len(list(folder.glob("part*"))) >= count, 120)


@pytest.mark.slow
def test_the_command_is_killed(tmp_path):
    write_model(tmp_path)
    rows = write_rows(tmp_path / "rows.csv.gz", rows_of(1500))
    command = [sys.executable, "-m", "counterleaf", "audit", tmp_path / "model.json", rows, *TARGET, "--part-rows", "20"]
    chance, killed = random.Random(0), 0
    for _ in range(3):
        process = subprocess.Popen(
            [*map(str, command), "--out", tmp_path / "audit"], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        parts = tmp_path / "audit/parts"
        wait_for_parts(process, parts, len(list(parts.glob("part*"))) + chance.randint(1, 30))
        killed += process.poll() is None
        process.kill()
        process.wait()
    assert killed >= 2
    audit(tmp_path, rows, *TARGET, "--part-rows", 20)
    audit(tmp_path, rows, *TARGET, "--part-rows", 20, out="whole")
    assert contents(tmp_path / "audit") == contents(tmp_path / "whole")
