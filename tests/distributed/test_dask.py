"""cl.distributed.dask on workers of this machine: the answers of one process, bit for bit."""

import os
import pickle

import cloudpickle
import pandas as pd
import pyarrow as pa
import pytest
from support.engine_audits import check_audit, check_command, check_killed_audit
from support.engine_cases import CASES, check_mistakes, engine_case, expected, killing_case, posix, same_bits, worker_path

import counterleaf as cl

pytestmark = [pytest.mark.slow, pytest.mark.cluster]


@pytest.fixture(scope="module")
def client():
    """A scheduler and two worker processes; a nanny starts each again if it dies."""
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",
            env={"PYTHONPATH": worker_path()},
            silence_logs=50,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def dask_frame(rows, partitions=4):
    import dask.dataframe as dd

    return dd.from_pandas(rows, npartitions=partitions, sort=False)


@pytest.mark.parametrize("name", CASES)
def test_the_answers_of_one_process(client, name):
    explainer, rows, question = engine_case(name)
    answers = cl.distributed.dask(dask_frame(rows), explainer, keep=["id"], **question)
    found = answers.compute()
    assert found.dtypes.equals(answers.dtypes)
    same_bits(pa.Table.from_pandas(found, preserve_index=False), expected(explainer, rows, question))


def test_columns_types_and_index(client):
    explainer, rows, question = engine_case("pipeline")
    ddf = dask_frame(rows.set_index("id"))
    answers = cl.distributed.dask(ddf, explainer, **question)
    assert list(answers.columns[:6]) == ["age", "pay", "job", "zone", "owner", "status"]
    assert answers.dtypes[:5].equals(ddf.dtypes)
    assert str(answers.dtypes["leaf"]) == "int64[pyarrow]"
    found = answers.compute()
    assert found.index.equals(ddf.compute().index)
    assert found.loc[found["status"] == "invalid", "problem"].str.startswith("feature ").all()
    assert cl.distributed.dask(ddf, explainer, keep=None, **question).columns[0] == "status"


def test_the_model_is_in_the_graph_once():
    explainer, rows, question = engine_case("pipeline")
    answers = cl.distributed.dask(dask_frame(rows, 20), explainer, keep=["id"], **question)
    payload = len(pickle.dumps(explainer.arrow(**question)))
    sizes = sorted(len(cloudpickle.dumps(one)) for one in dict(answers.optimize().__dask_graph__()).values())
    assert sizes[-1] > payload > 3 * sizes[-2]


def test_mistakes_are_reported_before_a_task_starts():
    _, rows, _ = engine_case("pipeline")
    ddf = dask_frame(rows)
    frames = ddf, ddf.drop(columns="age"), ddf.rename(columns={"id": "cost"})
    check_mistakes(cl.distributed.dask, frames, "a dask.dataframe.DataFrame")


def test_columns_of_several_types_are_refused(client):
    explainer, rows, _ = engine_case("pipeline")
    mixed = pd.concat([rows.iloc[:2].assign(job=1), rows.iloc[:2]]).astype({"job": object})
    import dask

    with dask.config.set({"dataframe.convert-string": False}):
        answers = cl.distributed.dask(dask_frame(mixed, 1), explainer, target="granted")
    with pytest.raises(cl.CounterleafError, match="a column holds values of several types"):
        answers.compute()


@pytest.mark.skipif(**posix)
def test_a_worker_that_dies_costs_time_only(client, tmp_path):
    explainer, rows, question = killing_case(tmp_path / "kill")
    answers = expected(explainer, rows, question)
    (tmp_path / "kill").touch()
    found = cl.distributed.dask(dask_frame(rows, 20), explainer, keep=["id"], **question).compute()
    assert not (tmp_path / "kill").exists()
    same_bits(pa.Table.from_pandas(found, preserve_index=False), answers)


@pytest.mark.parametrize("name", CASES)
def test_an_audit_leaves_the_bits_of_the_local_engine(client, name, tmp_path):
    check_audit("dask", name, tmp_path)


@pytest.mark.skipif(**posix)
def test_an_audit_survives_a_worker_that_is_killed(client, tmp_path):
    workers = set(client.run(os.getpid).values())
    check_killed_audit("dask", tmp_path, lambda process: process.pid in workers)


def test_the_command_starts_dask_and_ends_it(tmp_path):
    check_command("dask", tmp_path)
