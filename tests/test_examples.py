"""Every page of the gallery runs as its reader would run it, without a warning, and shows what its text says."""

import runpy
from pathlib import Path

import matplotlib
import pytest

pytestmark = pytest.mark.slow  # the whole file takes many seconds

FOLDER = Path(__file__).parents[1] / "examples"
SHOWN = {  # by page: lines without which its text would be wrong
    "01_quickstart.py": [
        "If mean concave points were 0.0708 instead of 0.1043, the model would say benign instead of malignant.",
        "Proved: no allowed change costs less than #1",
        "the model says benign - confirmed: True",
        "optimal - proof holds: True",
    ],
    "02_adult_story.py": [
        "If Capital gain were ",
        "with everything locked: infeasible",
        "These constraints cannot all hold: ",
        "proved: True",
    ],
    "03_images.py": ["confirmed: True", "\nTrue\n"],
    "04_constraints.py": ["male: married/widowed", "infeasible - proved: True", "  freeze('savings')"],
    "05_costs.py": ["to be a Barolo costs 0.0: Barolo", "to be a Barolo costs 0.2: Barbera", "'cook'), 'hours': (20, "],
    "06_pipelines.py": [
        "inferred from the data",
        ">50K - confirmed: True",
        "(PolynomialFeatures) cannot be folded: it mixes columns",
        "no class '>50k'",
        "proof holds: True",
    ],
    "07_learning.py": [
        "TAO: 95% right with 32 leaves",
        "chosen: ",
        "class: malignant",
        "Proved: no allowed change costs less than this one",
    ],
    "08_batches.py": [
        "confirmed by the model: True",
        "infeasible    3012",
        "invalid - feature 'education' is 'Night school'",
        "the nearest row is never cheaper: True",
    ],
    "09_forests.py": ["checked: True", "'optimal': "],
}


def test_each_page_is_known_here():
    assert sorted(path.name for path in FOLDER.glob("[0-9]*.py")) == sorted(SHOWN)


@pytest.fixture
def no_window():
    """Figures are drawn for nobody, and closed."""
    from matplotlib import pyplot as plt

    before = matplotlib.get_backend()
    plt.switch_backend("Agg")
    yield
    plt.close("all")
    plt.switch_backend(before)


@pytest.mark.usefixtures("no_window")
@pytest.mark.parametrize("page", SHOWN)
def test_a_page_runs_without_a_warning_and_shows_what_it_says(page, capsys):
    runpy.run_path(str(FOLDER / page), run_name="__main__")  # a warning is an error
    shown = capsys.readouterr()
    assert shown.err == ""
    assert [words for words in SHOWN[page] if words not in shown.out] == []


@pytest.mark.parametrize("page", SHOWN)
def test_a_page_can_be_read_in_one_sitting(page):
    lines = (FOLDER / page).read_text().splitlines()
    assert len(lines) <= 160
    assert lines[0] == '"""'
    assert set(lines[2]) == {"="}
    assert len(lines[2]) == len(lines[1])
