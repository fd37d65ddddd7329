"""The words of the project: phrases that read as translated are not used, in code, page and docs alike."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
KINDS = {".py", ".pyi", ".md", ".js", ".html", ".cpp", ".hpp", ".toml", ".yml", ".yaml", ".cff"}
FOLDERS = ("src", "cpp", "docs", "examples", "scripts", "bench", ".github")
SKIPPED = ("_build", "auto_examples", "__pycache__")
FINE = (
    "longer",
    "more",
    "less",
    "fewer",
    "cheaper",
    "larger",
    "smaller",
    "dearer",
    "wider",
    "finer",
    "other",
    "such",
    "way",
    "need",
)
BANNED = {
    "comes along": r"\bcomes? along\b|\bcame along\b",
    "is no X": rf"(?<!there )\b(is|are|was) no (?!({'|'.join(FINE)})\b)\w+",
    "beside": r"\bbeside\b",
    "so many": r"\bso many\b",
    "whatever": r"\b(whatever|whoever|lest)\b",
    "had better": r"\bhad better\b",
    "for ever": r"\bfor ever\b",
    "own word": r"\bmodel's own word\b",
    "wishes": r"\bwish(es)?\b",
    "told": r"\btold\b",
    "asked": r"(?<!\")\basked\b",
    "stands": r"\b(stands|stood)\b(?! for\b)",
}


def files():
    found = [*ROOT.glob("*.md"), ROOT / "Makefile", ROOT / "pyproject.toml"]
    for folder in FOLDERS:
        found += [path for path in (ROOT / folder).rglob("*") if path.suffix in KINDS]
    return [path for path in found if path.is_file() and not any(part in SKIPPED for part in path.parts)]


@pytest.mark.parametrize("phrase", BANNED)
def test_phrases_that_are_not_english(phrase):
    pattern = re.compile(BANNED[phrase], re.IGNORECASE)
    hits = []
    for path in files():
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if pattern.search(line):
                hits.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:140]}")
    assert hits == []
