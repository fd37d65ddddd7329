"""cl.distributed.spark on a Spark of this machine: the answers of one process, bit for bit."""

import os
import sys

import pyarrow as pa
import pytest
from support.engine_audits import check_audit, check_command, check_killed_audit
from support.engine_cases import (
    CASES,
    check_mistakes,
    engine_case,
    expected,
    killing_case,
    posix,
    refusal,
    same_bits,
    worker_path,
)

import counterleaf as cl

pytestmark = [
    pytest.mark.slow,
    pytest.mark.cluster,
    pytest.mark.skipif(**posix),
    # pyspark 4 says so of every session; mapInArrow does not use pandas
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]


@pytest.fixture(scope="module")
def session():
    """A session with two workers, in which a task may fail three times."""
    before = dict(os.environ)
    os.environ.update(PYTHONPATH=worker_path(), PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    os.environ["JDK_JAVA_OPTIONS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # Java would compile for a longer run
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.memory": "1g",
    }
    builder = SparkSession.builder.master("local[2,4]").appName("counterleaf tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    yield spark
    gateway = spark.sparkContext._gateway
    spark.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()  # the Java process ends with its input
    gateway.proc.wait(timeout=60)
    os.environ.clear()
    os.environ.update(before)


def spark_frame(session, rows, partitions=4):
    return session.createDataFrame(pa.Table.from_pandas(rows, preserve_index=False)).repartition(partitions)


@pytest.mark.parametrize("name", CASES)
def test_the_answers_of_one_process(session, name):
    explainer, rows, question = engine_case(name)
    answers = cl.distributed.spark(spark_frame(session, rows), explainer, keep=["id"], **question)
    same_bits(answers.toArrow(), expected(explainer, rows, question))


def test_columns_and_types(session):
    explainer, rows, question = engine_case("pipeline")
    df = spark_frame(session, rows.rename(columns={"id": "the.id`"}))
    answers = cl.distributed.spark(df, explainer, **question)
    assert answers.columns[:7] == ["age", "pay", "job", "zone", "owner", "the.id`", "status"]
    assert answers.schema.fields[:6] == df.schema.fields
    assert answers.schema["leaf"].dataType.simpleString() == "bigint"
    assert answers.count() == len(rows)
    assert answers.where("status = 'invalid'").select("problem").first()[0].startswith("feature ")
    assert cl.distributed.spark(df, explainer, keep=None, **question).columns[0] == "status"
    assert cl.distributed.spark(df.limit(0), explainer, keep=None, **question).toArrow().num_rows == 0


def test_mistakes_are_reported_before_a_job_starts(session):
    explainer, rows, _ = engine_case("pipeline")
    df = spark_frame(session, rows)
    clash = df.withColumnRenamed("id", "cost")
    check_mistakes(cl.distributed.spark, (df, df.drop("age"), clash), "a pyspark.sql.DataFrame")
    message = refusal(cl.distributed.spark, df.withColumnRenamed("id", "Cost"), explainer)
    assert message.startswith("the result would have the columns 'Cost' and 'cost', which Spark does not tell apart")
    assert "cost" in cl.distributed.spark(clash, explainer, keep=["age"]).columns


def test_a_worker_that_dies_costs_time_only(session, tmp_path):
    explainer, rows, question = killing_case(tmp_path / "kill")
    answers = expected(explainer, rows, question)
    before = session.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch")
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", 200)
    df = spark_frame(session, rows)
    (tmp_path / "kill").touch()
    found = cl.distributed.spark(df, explainer, keep=["id"], **question).toArrow()
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", before)
    assert not (tmp_path / "kill").exists()
    same_bits(found, answers)


@pytest.mark.parametrize("name", CASES)
def test_an_audit_leaves_the_bits_of_the_local_engine(session, name, tmp_path):
    check_audit("spark", name, tmp_path)


def test_an_audit_survives_a_worker_that_is_killed(session, tmp_path):
    def is_worker(process):  # a child of the daemon of Python workers
        return all("pyspark.daemon" in one.cmdline() for one in (process, process.parent()))

    check_killed_audit("spark", tmp_path, is_worker)


def test_the_command_starts_spark_and_ends_it(tmp_path):
    check_command("spark", tmp_path)
