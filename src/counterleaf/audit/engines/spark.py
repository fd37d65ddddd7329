"""The parts of an audit as tasks of Spark."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from counterleaf.audit.engines.work import AHEAD, ENVIRONMENT, RETRIES, Queue, Report, ship, work
from counterleaf.audit.parts import PartRecord, Task
from counterleaf.audit.plan import Unit
from counterleaf.errors import CounterleafError, flat, not_installed

_JAVA = (
    "Spark needs Java 17 or later; on Debian and Ubuntu: apt-get install default-jre-headless, elsewhere: https://adoptium.net"
)
_POLL = 0.1  # seconds between two looks at what has arrived


def spark(task: Task, queue: Queue, jobs: int, address: str | None) -> Iterator[PartRecord]:
    """Do the parts of an audit as tasks of Spark, and yield the record of each part that is finished."""
    with _context(jobs, address) as context:
        inbox, cores, seen = context.accumulator([], _Inbox()), int(context.defaultParallelism), set[int]()
        call = functools.partial(_call, ship(task), inbox)
        number = AHEAD * max(1, cores)  # of the first job, which measures; the second one does the rest
        while units := list(queue.take(number, cores)):
            for record in _records(_Job(context, context.parallelize(units, len(units)).map(call)), inbox):
                if record.number not in seen:
                    seen.add(record.number)
                    queue.learn([record])
                    yield record
            number = sys.maxsize


def _records(job: _Job, inbox: Any) -> Iterator[PartRecord]:
    """Yield the records of a job as they arrive, some of them several times."""
    try:
        while True:
            over = not job.is_alive()
            for report in [*inbox.value, *job.result()] if over else list(inbox.value):
                yield from report.checked()
            if over:
                return
            job.join(_POLL)
    finally:
        job.cancel()


def _call(payload: bytes, inbox: Any, unit: Unit) -> Report:
    """Do a unit. The accumulator brings its report to the driver at once, the result of the job brings it for certain."""
    report = work(payload, unit)
    inbox.add([report])
    return report


class _Inbox:
    """The sum of an accumulator: the reports so far. It has the methods of an AccumulatorParam of pyspark."""

    def zero(self, value: list[Report]) -> list[Report]:
        return []

    def addInPlace(self, value1: list[Report], value2: list[Report]) -> list[Report]:  # noqa: N802  # the name of pyspark
        value1 += value2
        return value1


class _Job(threading.Thread):
    """A job of Spark in a thread, so that reports can be read and Ctrl-C be noticed meanwhile."""

    def __init__(self, context: Any, rdd: Any) -> None:
        super().__init__(daemon=True)
        self._context, self._rdd, self._reports, self._error = context, rdd, list[Report](), ""
        self._group = f"counterleaf audit {id(self)}"
        self.start()

    def run(self) -> None:
        try:
            self._context.setJobGroup(self._group, "counterleaf audit", interruptOnCancel=True)
            self._reports = self._rdd.collect()
        except Exception as error:  # of Java, or of the connection to it
            self._error = _reason(error)

    def result(self) -> list[Report]:
        """Return the reports of all units."""
        if self._error:
            raise CounterleafError(f"Spark stopped the audit ({self._error}); the same command continues it")
        return self._reports

    def cancel(self) -> None:
        """Stop the tasks that still run."""
        if self.is_alive():
            self._context.cancelJobGroup(self._group)


def _reason(error: Exception) -> str:
    """Return the first line of what Java reports."""
    found = getattr(error, "java_exception", None)
    text = str(found.getMessage() if found is not None else error).strip().splitlines()
    return flat(text[0])[:200] if text else type(error).__name__


@contextlib.contextmanager
def _context(jobs: int, address: str | None) -> Iterator[Any]:
    """Yield the context of the running session, or start one and stop it in the end."""
    try:
        from pyspark import SparkConf, SparkContext
        from pyspark.errors import PySparkRuntimeError
    except ImportError:
        raise not_installed("--engine spark", "pyspark") from None
    running = SparkContext._active_spark_context
    if running is not None:
        yield running
        return
    conf = SparkConf().setAppName("counterleaf audit").set("spark.log.level", "ERROR")
    conf = conf.set("spark.ui.showConsoleProgress", "false")
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ  # spark-submit has chosen the master
    if address is not None:
        conf = conf.setMaster(address)
    elif not submitted:
        conf = conf.setMaster(f"local[{jobs},{RETRIES}]").set("spark.ui.enabled", "false").set("spark.driver.host", "127.0.0.1")
        for name, value in ENVIRONMENT.items():
            conf = conf.set(f"spark.executorEnv.{name}", value)
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    java = Path(os.environ.get("JAVA_HOME") or "none") / "bin" / "java"
    if not submitted and not java.exists() and shutil.which("java") is None:
        raise CounterleafError(_JAVA)
    try:
        with warnings.catch_warnings():  # an audit passes no pandas frame to Spark
            warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
            context = SparkContext(conf=conf)
    except PySparkRuntimeError as error:
        raise CounterleafError(f"Spark did not start ({_reason(error)}); {_JAVA}") from None
    except Exception as error:  # an address that does not answer
        raise CounterleafError(f"Spark did not start ({_reason(error)})") from None
    gateway = context._gateway
    try:
        yield context
    finally:
        context.stop()
        if not submitted:
            _end(gateway)


def _end(gateway: Any) -> None:
    """End the Java process, which otherwise lives as long as this one."""
    from pyspark import SparkContext

    gateway.shutdown()
    process = getattr(gateway, "proc", None)
    if process is not None:
        process.stdin.close()
        process.wait()
    SparkContext._gateway = SparkContext._jvm = None
