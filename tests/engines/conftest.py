"""Small tables in files, cut into small parts, so that a short table is treated as one that is longer than memory."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from microveil.engines import stored
from microveil.microdata import microdata

RECORDS_OF_PART = 700


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(microdata, "BLOCK", RECORDS_OF_PART)
    monkeypatch.setattr(stored, "BLOCK", RECORDS_OF_PART)


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A cluster of two workers on this machine."""
    pyspark = pytest.importorskip("pyspark", reason="Spark tests need pyspark")
    if shutil.which("java") is None:
        pytest.skip("Spark tests need Java")
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": "512m",
        "spark.task.maxFailures": "8",
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(path for path in sys.path if path),  # the code that is tested
    }
    session = SparkSession.builder.master("local-cluster[2,1,768]").appName("microveil tests").config(map=options)
    made = session.getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    yield made
    made.stop()
