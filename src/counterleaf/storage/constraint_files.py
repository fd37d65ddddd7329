"""Files of constraints, which people write and read: the part of a question that says what may change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from counterleaf.errors import CounterleafError, brief, flat
from counterleaf.question.constraints.kinds import Constraint, listed
from counterleaf.question.question import VERSION, read_question
from counterleaf.storage.files import path_of, write


def load_constraints(path_or_text: str | bytes | Path) -> list[Constraint]:
    """Read the constraints of a file that ``save_constraints`` wrote, or of a question.

    Parameters
    ----------
    path_or_text : str, bytes or Path
        The file, or its text, which begins with ``{``.

    Returns
    -------
    list of Constraint
        For ``constraints=``.

    Raises
    ------
    CounterleafError
        If the text is anything else; the message names the constraint by its position, counted from 1.

    Examples
    --------
    >>> text = '{"version": 1, "constraints": [{"freeze": ["age", "sex"]}, {"only_increase": "income", "at_most": "10%"}]}'
    >>> load_constraints(text)
    [freeze('age', 'sex'), only_increase('income', at_most='10%')]
    """
    if isinstance(path_or_text, bytes) or (isinstance(path_or_text, str) and path_or_text.lstrip().startswith("{")):
        text: Any = path_or_text if isinstance(path_or_text, bytes) else path_or_text.encode("utf-8", "surrogatepass")
        return list(read_question(text, "the text").constraints)
    if not isinstance(path_or_text, (str, Path)):
        raise CounterleafError(f"load_constraints got {brief(path_or_text)}; expected a path or the text of a file")
    try:
        text = Path(path_or_text).read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else flat(error)
        raise CounterleafError(f"cannot read {brief(str(path_or_text))}: {reason}; expected a file of constraints") from None
    return list(read_question(text, Path(path_or_text).name).constraints)


def save_constraints(constraints: Any, path: str | Path) -> None:
    """Write constraints to a file that ``load_constraints`` and ``counterleaf explain --constraints`` read.

    Parameters
    ----------
    constraints : Constraint or list of Constraint
        The constraints.
    path : str or Path
        The file. It is written atomically.

    Raises
    ------
    CounterleafError
        If a constraint has a value that JSON cannot represent.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from counterleaf import freeze, max_changes
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "rules.json")
    ...     save_constraints([freeze("age", "sex"), max_changes(2)], file)
    ...     print(file.read_text(), end="")
    {
      "version": 1,
      "constraints": [
        {"freeze": ["age", "sex"]},
        {"max_changes": 2}
      ]
    }
    """
    lines = []
    for one in listed(constraints):
        try:
            lines.append(f"    {json.dumps(one.to_json(), allow_nan=False, ensure_ascii=False)}")
        except CounterleafError:
            raise
        except (TypeError, ValueError) as error:
            raise CounterleafError(
                f"{one} cannot be written ({flat(error)}); expected names, text and finite numbers"
            ) from None
    body = "[\n" + ",\n".join(lines) + "\n  ]" if lines else "[]"
    write(path_of(path), f'{{\n  "version": {VERSION},\n  "constraints": {body}\n}}\n')
