"""Answers whose JSON was changed and sealed again."""

import hashlib
import json

import counterleaf as cl


def seal(content):
    """The text of an answer whose digest was made anew."""
    content = {name: part for name, part in content.items() if name != "digest"}
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return json.dumps({**content, "digest": hashlib.sha256(canonical.encode()).hexdigest()})


def holds(content):
    """Whether a forged answer is accepted."""
    try:
        answer = cl.Explanation.from_json(seal(content))
    except cl.CounterleafError:
        return False
    if not answer.certificate.check():
        assert "NOT proved" in str(answer)
        return False
    return True


def keep_only(content, k):
    """Leave one answer of several, as if the others did not exist."""
    content["counterfactuals"] = content["counterfactuals"][k : k + 1]
    for name in ("leaves", "points", "costs", "bounds"):
        content["certificate"][name] = content["certificate"][name][k : k + 1]
    content["lower_bound"] = content["counterfactuals"][0]["lower_bound"]
    return content
