"""Print pip constraints that pin every dependency to the oldest version that pyproject.toml allows.

The constraints cover what users install: the dependencies and the optional groups named below, not the tools of the tests.

    python scripts/oldest_versions.py > oldest.txt
    python -m pip install --constraint oldest.txt ".[test]"
"""

import re
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
GROUPS = ("plots", "parquet", "polars", "skops", "explorer")
LOWER_BOUND = re.compile(r"([A-Za-z0-9._-]+)\s*>=\s*([0-9][0-9a-z.]*)")


def pin(requirement: str) -> str:
    """Turn a requirement with a lower bound into the constraint on exactly that version.

    >>> pin("numpy>=2.0")
    'numpy==2.0'
    >>> pin("scipy")
    Traceback (most recent call last):
        ...
    SystemExit: requirement 'scipy' has no lower bound; write it as name>=version
    """
    match = LOWER_BOUND.match(requirement)
    if match is None:
        raise SystemExit(f"requirement {requirement!r} has no lower bound; write it as name>=version")
    return f"{match[1]}=={match[2]}"


def constraints(project: dict) -> list[str]:
    """Return one constraint per dependency of a project table.

    >>> constraints({"dependencies": ["rich>=13"], "optional-dependencies": dict.fromkeys(GROUPS, ["uvicorn>=0.30"])})
    ['rich==13', 'uvicorn==0.30']
    """
    groups = [project["dependencies"], *(project["optional-dependencies"][name] for name in GROUPS)]
    return sorted({pin(requirement) for group in groups for requirement in group})


if __name__ == "__main__":
    print(*constraints(tomllib.loads(PYPROJECT.read_text())["project"]), sep="\n")
