"""Files are hostile: reading any of them ends in one line, soon, and in little memory."""

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from support.hostile_cases import KINDS, honest, seal
from support.seeds import share
from support.waiting import patient

import counterleaf as cl
from counterleaf.sparse import CSR

TREE = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])


def tree(**changes):
    return json.dumps({**json.loads(TREE.to_json()), **changes})


def refused(text, message, read=cl.Tree.from_json):
    with pytest.raises(cl.CounterleafError, match=message) as error:
        read(text)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 2000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (tree(weights={"indptr": 3, "indices": [0, 1], "data": [1, 1]}), "indptr holds something other than integers"),
        (tree(weights=[1, 2]), "the tree's JSON lacks 'indptr'"),
        (tree(features=2**70), "features is 1180591620717411303424; expected the number of columns, up to 1,000,000"),
        (tree(features=10**9), "features is 1000000000; expected the number of columns, up to 1,000,000"),
        (tree(features=True), "features is True; expected the number of columns"),
        (tree(classes=[{}, 1]), "classes are not a list of labels"),
        (tree(classes=[["no"], ["yes"]]), "classes are not a list of labels"),
        (tree(classes={"no": 0, "yes": 1}), "classes are not a list of labels"),
        (tree(classes=["\ud800", "yes"]), "classes holds half a character"),
        (tree(classes=[0, 10**400]), "a class is 10+.*; JSON holds text and numbers of 64 bits"),
        (tree(classes=[0, 1.5]).replace("1.5", "1e400"), "classes holds infinity"),
        (tree(left=["1", "-1", "-1"]), "left holds something other than integers"),
        (tree(left=[2**70, -1, -1]), "left holds something other than integers"),
        (tree(left=[1.5, -1, -1]), "left holds something other than integers"),
        (tree(left=[True, -1, -1]), "left holds something other than integers"),
        (tree(left=[0, -1, -1]), "node 0 is the child of another node"),
        (tree(left=[1, 2, -1], right=[2, 1, -1]), "several parents|node 0"),
        (tree(left=[], right=[], bias=[], value=[]), "left has shape"),
        (tree(bias=["1.0", 0, 0]), "bias holds something other than numbers"),
        (tree(bias=[10**400, 0, 0]), r"^bias is \[10{17}\.\.\.0{19}, 0, 0\]; expected finite numbers$"),
        (tree(bias=[[[]]]), "bias holds something other than numbers"),
        (tree(bias=[1.5, 0, 0]).replace("1.5", "-1e400"), "bias holds NaN or infinity"),
        (tree(version=True), "tree format version True"),
        (tree(version=[[[["deep"] * 9] * 9] * 9] * 9), "tree format version"),
        (tree(closed=["right"]), r"closed is \['right'\]"),
        (tree(dtype="x" * 10_000), "dtype is 'xxx"),
        (tree().replace('"features"', '"left": [1, -1, -1], "features"'), "an object has the same name twice"),
        (tree().replace("[-1.0", "[NaN"), "NaN is not valid in JSON"),
        (tree().replace("[-1.0", "[" + "9" * 5000), "not valid JSON"),
        ("[" * 990 + "]" * 990, "not valid JSON|not a counterleaf tree"),
        (b"\xff\xfe\x00", "not valid JSON"),
    ],
)
def test_a_garbled_tree_is_refused_in_one_line(text, message):
    refused(text, message)


def test_a_leaf_by_any_negative_number_is_a_leaf():
    """Compiled code holds children in 32 bits, in which this one would be node 0: a way without an end."""
    low = cl.Tree.from_json(tree(left=[1, -(2**63), -7], right=[2, -1, -(2**32)]))
    assert low.left.tolist() == [1, -1, -1]
    assert low.predict([[0.0, 0.0], [1.0, 1.0]]).tolist() == ["no", "yes"]


def test_row_starts_that_overflow_are_refused():
    starts = [0, 2**63 - 1, -5, 2]
    refused(tree(weights={"indptr": starts, "indices": [0, 1], "data": [1, 1]}), "weights that do not fit together")
    with pytest.raises(ValueError, match="do not describe a matrix"):
        CSR(starts, [0, 1], [1.0, 1.0], (3, 2))


def explainer(**changes):
    return json.dumps({**json.loads(cl.Explainer(TREE).to_json()), **changes})


def many(n, costs):
    features = [["number", "a", 0.0, 1.0, False, None], ["categorical", "c", [str(k) for k in range(n)], costs, False]]
    schema = {"inferred": False, "features": features, "fills": {}, "columns": []}
    weights = {"indptr": [0, 1, 1, 1], "indices": [0], "data": [1.0]}
    return explainer(schema=schema, tree=json.loads(tree(features=n + 1, weights=weights)))


def test_numbers_that_share_a_hash_are_refused_at_once():
    """2**61 - 1 is the modulus of Python's hashes of numbers: a table of such keys is searched from end to end."""
    alike = [k * (2**61 - 1) for k in range(1, 40_000)]
    start = time.process_time()
    refused(tree(classes=alike), "a class is 115.*; JSON holds text and numbers of 64 bits")
    features = [["number", "a", 0.0, 1.0, False, None], ["categorical", "c", alike, None, False]]
    schema = {"inferred": False, "features": features, "fills": {}, "columns": []}
    refused(explainer(schema=schema), "a value of feature 'c' is 115", cl.Explainer.from_json)
    assert time.process_time() - start < 2


BOMBS = {  # files of at most a few megabytes that used to ask for gigabytes
    "a long label among many": ("Tree", tree(classes=["x" * 2_000_000, *map(str, range(3000))])),
    "a long word among numbers": ("Tree", tree(left=["x" * 2_000_000, *range(3000)])),
    "columns by claim": ("Tree", tree(features=10**12)),
    "row starts that overflow": ("Tree", tree(weights={"indptr": [0, 2**63 - 1, -5, 2], "indices": [0, 1], "data": [1, 1]})),
    "a table of costs by claim": ("Explainer", many(20_000, {})),
    "a table of costs by half": ("Explainer", many(20_000, [[0.0]])),
}


@pytest.mark.parametrize("name", BOMBS)
def test_memory_is_not_taken_on_a_file_s_word(name, tmp_path):
    reader, text = BOMBS[name]
    (tmp_path / "file.json").write_text(text)
    code = (
        "import resource, sys\nimport counterleaf as cl, pandas\n"
        "text, before = open(sys.argv[1]).read(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32))\n"
        "try:\n    cl." + reader + ".from_json(text)\nexcept cl.CounterleafError as error:\n"
        "    assert 'Memory' not in str(error) and 'allocate' not in str(error) and chr(10) not in str(error), error\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "file.json")], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-500:]
    assert int(done.stdout) / 1024 < 150


def test_a_tree_as_deep_as_its_file_is_long_is_read():
    n = 20_000
    left, right = np.full(2 * n + 1, -1), np.full(2 * n + 1, -1)
    left[: 2 * n : 2], right[: 2 * n : 2] = np.arange(2, 2 * n + 1, 2), np.arange(1, 2 * n, 2)
    inner = left >= 0
    weights = {"indptr": np.append(0, np.cumsum(inner)).tolist(), "indices": [0] * n, "data": [1.0] * n}
    bias, value = np.where(inner, -np.arange(2 * n + 1.0), 0.0), np.where(inner, -1, np.arange(2 * n + 1) % 2)
    deep = tree(left=left.tolist(), right=right.tolist(), weights=weights, bias=bias.tolist(), value=value.tolist())
    read = cl.Tree.from_json(deep)
    assert read.depth == n
    assert cl.Explainer(read).explain([0.5, 0.0], max_nodes=100).status in ("optimal", "limit")


def test_honest_files_are_read():
    reads = {"tree": cl.Tree.from_json, "explainer": cl.Explainer.from_json, "answer": cl.Explanation.from_json}
    for kind, read in reads.items():
        for text in honest()[kind]:
            assert read(text).to_json() == text
    for text in honest()["answer"]:
        assert seal(json.loads(text)) == text
        assert cl.Explanation.from_json(text).certificate.check()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [101, 102])
def test_files_changed_at_random_are_refused_or_read(seed):
    """In a separate process, since a finding may be a crash."""
    command = [sys.executable, "-m", "support.mutate_files", "--count", str(share(1500)), "--seed", str(seed)]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, timeout=patient(600))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    for kind in KINDS:
        assert f"{kind} refused" in done.stdout
        assert f"{kind} read" in done.stdout
