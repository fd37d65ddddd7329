"""Measure audits on Spark, Dask and Ray against the local engine, on this machine; prints Markdown tables.

A tree of 20 leaves over 20 columns answers every row of a Parquet file that is made here. Every engine does the same parts with
the same number of cores. The local engine runs before each run of another engine, and the ratio is the median of these pairs,
since machines are noisy. Where other programs use the same cores, compare the processor time, which is that of this process and
all that it has started. Start-up is apart: the time to start the engine and to do an audit of a few rows, for which every
worker starts. The last lines have the functions of ``cl.distributed``, from a Parquet file to Parquet files.
"""

import argparse
import contextlib
import logging
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pyarrow as pa
from pyarrow import parquet
from sklearn.tree import DecisionTreeClassifier

import counterleaf as cl
from counterleaf.audit.engines.work import ENVIRONMENT
from counterleaf.audit.run import RunOptions, run_audit
from counterleaf_experiments.benchmark.tables import machine, table_head, table_row

COLUMNS, LEAVES, GROUP = 20, 20, 1 << 17  # the last: rows of a row group
NAMES = [f"x{k}" for k in range(COLUMNS)]
QUESTION = {"target": "granted"}
PRICE = 0.04  # dollars for an hour of one core: an assumption, pass --price
PACKAGES = ("counterleaf", "pyarrow", "pyspark", "dask", "ray")


def make_explainer():
    """A tree of 20 leaves that grants about a third of the rows."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(20_000, COLUMNS)), columns=NAMES)
    points = frame.to_numpy()[:, :5] @ rng.normal(size=5) + frame["x5"] * frame["x6"]
    model = DecisionTreeClassifier(max_leaf_nodes=LEAVES, random_state=0).fit(
        frame, np.where(points > 0.5, "granted", "refused")
    )
    return cl.Explainer(model, data=frame)


def write_rows(path, rows):
    """A Parquet file with an id and 20 columns of random numbers."""
    rng = np.random.default_rng(1)
    schema = pa.schema([("id", pa.int64()), *((name, pa.float64()) for name in NAMES)])
    with parquet.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, GROUP):
            n = min(GROUP, rows - start)
            columns = [np.arange(start, start + n), *(rng.normal(size=n) for _ in NAMES)]
            writer.write_table(pa.Table.from_arrays([pa.array(one) for one in columns], schema=schema), row_group_size=GROUP)


@contextlib.contextmanager
def started_spark(cores):
    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local[{cores},4]").config("spark.ui.enabled", "false")
    for name, value in ENVIRONMENT.items():
        builder = builder.config(f"spark.executorEnv.{name}", value)
    builder = builder.config("spark.ui.showConsoleProgress", "false").config("spark.driver.memory", "4g")
    session = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", 65_536).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    gateway = session.sparkContext._gateway
    yield session
    session.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()


@contextlib.contextmanager
def started_dask(cores):
    from dask import config
    from dask.distributed import Client, LocalCluster

    config.set({"distributed.nanny.pre-spawn-environ": {**config.get("distributed.nanny.pre-spawn-environ"), **ENVIRONMENT}})
    options = {"n_workers": cores, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        yield client


@contextlib.contextmanager
def started_ray(cores):
    import ray

    quiet = {"logging_level": logging.ERROR, "log_to_driver": False, "include_dashboard": False}
    ray.init(num_cpus=cores, object_store_memory=2 << 30, **quiet)
    ray.data.DataContext.get_current().enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    yield ray
    ray.shutdown()


STARTED = {"spark": started_spark, "dask": started_dask, "ray": started_ray}


def convert(engine, session, explainer, source, out):
    """Parquet to Parquet with the function of ``cl.distributed``."""
    if engine == "spark":
        cl.distributed.spark(session.read.parquet(str(source)), explainer, keep=["id"], **QUESTION).write.parquet(str(out))
    elif engine == "dask":
        import dask.dataframe as dd

        rows = dd.read_parquet(source, split_row_groups=1)
        cl.distributed.dask(rows, explainer, keep=["id"], **QUESTION).to_parquet(out, write_index=False)
    else:
        rows = session.data.read_parquet(str(source))
        cl.distributed.ray(rows, explainer, keep=["id"], **QUESTION).write_parquet(str(out))


class Bench:
    """The files and settings of one run."""

    def __init__(self, folder, rows, cores, repeats):
        self.folder, self.rows, self.cores, self.repeats = Path(folder), rows, cores, repeats
        self.explainer = make_explainer()
        write_rows(self.folder / "rows.parquet", rows)
        write_rows(self.folder / "few.parquet", 1000)

    def audit(self, engine, name="rows", **options):
        """Seconds, and seconds of the processor, of an audit; its start and its sample are not counted."""
        out = self.folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        used = []

        def advance(total, done):
            if done in (0, total):
                used.append(processor_time())

        options["options"] = RunOptions(engine, self.cores, advance=advance)
        found = run_audit(self.explainer, [self.folder / f"{name}.parquet"], out, cl.Question(**QUESTION), **options)
        return np.array([found.seconds, used[-1] - used[0]])

    def measure(self, engine):
        """(start-up; the seconds of the local engine and of this one, in pairs; the seconds of the function)"""
        begin = time.perf_counter()
        with STARTED[engine](self.cores) as session:
            self.audit(engine, "few", part_rows=100)
            start = time.perf_counter() - begin
            pairs = [(self.audit("local"), self.audit(engine)) for _ in range(self.repeats)]
            frames = []
            for source in ("few", *["rows"] * self.repeats):
                shutil.rmtree(self.folder / "frames", ignore_errors=True)
                begin = np.array([time.perf_counter(), processor_time()])
                convert(engine, session, self.explainer, self.folder / f"{source}.parquet", self.folder / "frames")
                frames.append(np.array([time.perf_counter(), processor_time()]) - begin)
        return start, pairs, frames[1:]

    def rate(self, seconds):
        """Rows per second and core."""
        return self.rows / seconds / self.cores


def processor_time():
    """Seconds that this process and those that it has started have computed."""
    total = 0.0
    for process in (psutil.Process(), *psutil.Process().children(recursive=True)):
        with contextlib.suppress(psutil.Error):  # it has ended meanwhile
            times = process.cpu_times()
            total += times.user + times.system
    return total


def worker_start(explainer):
    """(bytes of the pickle, milliseconds to import, to unpickle, for the first batch) in a new process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "step"
        path.write_bytes(pickle.dumps(explainer.arrow(**QUESTION)))
        code = (
            "import pickle, sys, time; import pyarrow as pa; t0 = time.perf_counter();"
            "import counterleaf.audit.parts, sklearn.tree;"
            f"t1 = time.perf_counter(); step = pickle.load(open({str(path)!r}, 'rb')); t2 = time.perf_counter();"
            f"step(pa.RecordBatch.from_pydict({{f'x{{k}}': [0.0] for k in range({COLUMNS})}})); t3 = time.perf_counter();"
            "print(t1 - t0, t2 - t1, t3 - t2)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        return path.stat().st_size, *(1000 * float(one) for one in done.stdout.split())


def main():
    """Parse the options and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--price", type=float, default=PRICE, help="dollars for an hour of one core")
    parser.add_argument("--engines", nargs="+", default=list(STARTED), choices=list(STARTED))
    options = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)
    print(f"{machine(PACKAGES)}\n")
    print(f"{options.rows:,} rows, {options.cores} cores, {options.repeats} pairs of runs.\n")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder, options.rows, options.cores, options.repeats)
        size, *times = worker_start(bench.explainer)
        print("A worker: {} bytes of pickle; {:.0f} ms to import, {:.1f} ms to unpickle, {:.1f} ms for the first row.\n".format(
            f"{size:,}", *times))  # fmt: skip
        head = ("engine", "start-up, s", "rows/s and core", "times local", "rows per processor second", "times local")
        print(table_head((*head, "billion rows, core hours", "dollars")))
        found = {engine: bench.measure(engine) for engine in options.engines}

        def line(name, start, seconds, ratio):
            wall, used = np.median(seconds, axis=0)
            hours = 1e9 / bench.rate(wall) / 3600
            cells = [f"{bench.rate(wall):,.0f}", f"{ratio[0]:.2f}", f"{bench.rows / used:,.0f}", f"{ratio[1]:.2f}"]
            return table_row([name, start, *cells, f"{hours:.2f}", f"{hours * options.price:.3f}"])

        print(line("local", "", [here for _, pairs, _ in found.values() for here, _ in pairs], (1, 1)))
        for engine, (start, pairs, _) in found.items():
            ratio = np.median([other / here for here, other in pairs], axis=0)
            print(line(f"--engine {engine}", f"{start:.1f}", [other for _, other in pairs], ratio))
        for engine, (_, pairs, frames) in found.items():
            ratio = np.median(frames, axis=0) / np.median([here for here, _ in pairs], axis=0)
            print(line(f"cl.distributed.{engine}", "", frames, ratio))


if __name__ == "__main__":
    main()
