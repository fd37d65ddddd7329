"""Steps of an exploration as files: a CSV table, JSON with proofs, or an HTML page to print."""

from __future__ import annotations

from counterleaf.explorer.session.receipts.page import write_page
from counterleaf.explorer.session.receipts.step import Step
from counterleaf.explorer.session.receipts.table import write_table


def write_file(format: str, steps: list[Step]) -> dict[str, str]:
    """The name, the media type and the text of a file."""
    name = f"counterleaf-{steps[0].scene.key}"
    if format == "csv":
        return {"name": f"{name}.csv", "type": "text/csv", "text": write_table(steps)}
    if format == "html":
        return {"name": f"{name}.html", "type": "text/html", "text": write_page(steps, name)}
    if len(steps) == 1:
        return {"name": f"{name}.json", "type": "application/json", "text": steps[0].answer.to_json()}
    text = "".join(f"{step.answer.to_json()}\n" for step in steps)
    return {"name": f"{name}.jsonl", "type": "application/jsonl", "text": text}
