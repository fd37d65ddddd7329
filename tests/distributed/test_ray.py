"""cl.distributed.ray on workers of this machine: the answers of one process, bit for bit."""

import logging

import pyarrow as pa
import pytest
from support.engine_audits import check_audit, check_command, check_killed_audit
<<<<<<< HEAD
from support.engine_cases import CASES, engine_case, expected, killing_case, posix, same_bits, worker_path
from support.waiting import patient, until
=======
from support.engine_cases import CASES, check_mistakes, engine_case, expected, killing_case, posix, same_bits, worker_path
>>>>>>> main

import counterleaf as cl

pytestmark = [
    pytest.mark.slow,
    pytest.mark.cluster,
    pytest.mark.skipif(**posix),
    # Ray sets these attributes itself when it makes its settings
    pytest.mark.filterwarnings("ignore:`use_(push_based_shuffle|polars|arrow_tensor_v2)` is deprecated:DeprecationWarning"),
]


@pytest.fixture(scope="module")
def cluster():
    """A Ray of two workers without a dashboard."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", worker_path())
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        import ray

        until(lambda: is_started(ray), patient(90))
        ray.data.DataContext.get_current().enable_progress_bars = False
        yield ray
        ray.shutdown()


def is_started(ray):
    """Start Ray; false if its processes do not find each other in time: it gives them seconds, however busy the machine is."""
    options = {"num_cpus": 2, "include_dashboard": False, "object_store_memory": 200 * 2**20}
    try:
        ray.init("local", logging_level=logging.ERROR, log_to_driver=False, **options)
    except Exception as error:
        ray.shutdown()
        if "timed out during startup" not in str(error):
            raise
    return ray.is_initialized()


def ray_dataset(ray, rows, blocks=4):
    table = pa.Table.from_pandas(rows, preserve_index=False)
    size = -(-len(rows) // blocks)
    return ray.data.from_arrow([table.slice(k * size, size) for k in range(blocks)])


def collected(ray, dataset):
    return pa.concat_tables(ray.get(dataset.to_arrow_refs()))


@pytest.mark.parametrize("name", CASES)
def test_the_answers_of_one_process(cluster, name):
    explainer, rows, question = engine_case(name)
    answers = cl.distributed.ray(ray_dataset(cluster, rows), explainer, keep=["id"], **question)
    same_bits(collected(cluster, answers), expected(explainer, rows, question))


def test_columns_and_types(cluster):
    explainer, rows, question = engine_case("pipeline")
    ds = ray_dataset(cluster, rows)
    answers = cl.distributed.ray(ds, explainer, **question)
    assert answers.columns()[:7] == ["age", "pay", "job", "zone", "owner", "id", "status"]
    assert answers.count() == len(rows)
    found = collected(cluster, answers)
    assert found.schema.field("leaf").type == pa.int64()
    assert cl.distributed.ray(ds, explainer, keep=None, **question).columns()[0] == "status"


def test_mistakes_are_reported_before_a_task_starts(cluster):
    _, rows, _ = engine_case("pipeline")
    ds = ray_dataset(cluster, rows)
    check_mistakes(cl.distributed.ray, (ds, ds.drop_columns(["age"]), ds.rename_columns({"id": "cost"})), "a ray.data.Dataset")


def test_a_worker_that_dies_costs_time_only(cluster, tmp_path):
    explainer, rows, question = killing_case(tmp_path / "kill")
    answers = expected(explainer, rows, question)
    (tmp_path / "kill").touch()
    found = cl.distributed.ray(ray_dataset(cluster, rows, 20), explainer, keep=["id"], **question)
    same_bits(collected(cluster, found), answers)
    assert not (tmp_path / "kill").exists()


@pytest.mark.parametrize("name", CASES)
def test_an_audit_leaves_the_bits_of_the_local_engine(cluster, name, tmp_path):
    check_audit("ray", name, tmp_path)


def test_an_audit_survives_a_worker_that_is_killed(cluster, tmp_path):
    check_killed_audit("ray", tmp_path, lambda process: process.cmdline()[0].startswith("ray::work"))


def test_the_command_starts_ray_and_ends_it(tmp_path):
    check_command("ray", tmp_path)
