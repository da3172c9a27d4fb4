"""The job on Spark Connect, whose client has no Java: the rows are those of a run here."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.spark.job import run_job
from tests.effort import SHORT_LIVED_JAVA
from tests.spark.test_job import one_process, options_of, visible
from tests.spark.test_planning import cut

pytestmark = pytest.mark.needs("pyspark", "grpcio")

__all__ = ["one_process"]

_NAMES = ("demo.pcap", "clean_srmp.pcap", "path_cut_file.pcap", "path_gzip.pcap", "structures.pcapng")
_SERVER = """\
import sys

from pyspark import SparkConf, SparkContext

settings = {
    "spark.master": "local[2]",
    "spark.ui.enabled": "false",
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": sys.argv[1],
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}
context = SparkContext(conf=SparkConf().setAll(settings.items()))
print("ready", flush=True)
sys.stdin.read()
context.stop()
"""
_ON_CONNECT = """\
import json, sys, time
from collections import Counter

from msmq_wire.spark.job import run_job
from msmq_wire.spark.read_options import ReadOptions
from msmq_wire.spark.session import session, spark_problem
from msmq_wire.spark.tasks import core_count, finished


def wait(seconds):
    import time
    time.sleep(seconds)
    return 6 // (7 - seconds)


started = time.monotonic()
spark = session()
ready = time.monotonic()
said = {"classic": hasattr(spark, "sparkContext"), "cores": core_count(spark)}
said["zone"] = spark.conf.get("spark.sql.session.timeZone")
lines = []
options = ReadOptions(paths=(sys.argv[1],), split_bytes=20_000)
done = run_job(spark, sys.argv[2], options, tell=lines.append)
said |= {"captures": done.captures, "frames": done.frames, "last": lines[-1]}
ended = time.monotonic()
observed = Counter()
work = finished(spark, [1, 600], wait, measure=lambda result: {"frames": result}, observed=observed)
said["first"], said["observed"] = next(work), observed["frames"]
work.close()
said["patient"] = time.monotonic() - ended > 300
try:
    list(finished(spark, [7], wait))
except Exception as error:
    said["error"] = spark_problem(error)
print(f"session {ready - started:.1f} s, run {ended - ready:.1f} s", file=sys.stderr)
spark.stop()
print(json.dumps(said))
"""


@contextlib.contextmanager
def connect_server(folder: Path) -> Iterator[str]:
    """A server with two cores on loopback; its URL."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    java = f"spark.driver.extraJavaOptions={SHORT_LIVED_JAVA}"
    environment = os.environ | {
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": f"--conf {shlex.quote(java)} pyspark-shell",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-c", _SERVER, str(port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=environment,
            cwd=folder,
        )
        with server:
            assert server.stdin is not None
            assert server.stdout is not None
            try:
                assert server.stdout.readline() == b"ready\n", (folder / "server.log").read_text()
                yield f"sc://127.0.0.1:{port}"
            finally:
                # At the end of its input it ends, and Java with it.
                server.stdin.close()


@pytest.mark.slow
@pytest.mark.spark
def test_the_job_runs_on_connect_as_it_runs_here(captures: Path, tmp_path: Path, one_process: Any) -> None:
    folder, program = tmp_path / "in", tmp_path / "on_connect.py"
    cut(folder, 3)
    for name in _NAMES:
        shutil.copy(captures / name, folder)
    program.write_text(_ON_CONNECT, encoding="utf-8")
    words = [sys.executable, str(program), str(folder), str(tmp_path / "connect")]
    with connect_server(tmp_path) as url:
        environment = os.environ | {
            "SPARK_REMOTE": url,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "PATH": str(tmp_path),
        }
        ended = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    print(ended.stderr.splitlines()[-1])
    said = json.loads(ended.stdout.splitlines()[-1])
    here = run_job(one_process, str(tmp_path / "here"), options_of(folder))
    assert said == {
        "classic": False,
        "cores": 2,
        "zone": "UTC",
        "captures": here.captures,
        "frames": here.frames,
        "last": said["last"],
        "first": 1,
        "observed": 1,
        "patient": False,
        "error": "ZeroDivisionError: integer division or modulo by zero",
    }
    assert f"{here.captures} of {here.captures} captures" in said["last"]
    assert said["last"].endswith(f"{here.frames} frames, 1 error")
    assert visible(tmp_path / "connect", "run") == visible(tmp_path / "here", "run")
