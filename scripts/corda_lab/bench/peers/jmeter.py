"""Runs Apache JMeter with the lab's sampler in a container, and reads its results file.

``loadgen/peers`` has the sampler, the test plan and the image. JMeter opens a connection for each of its threads before
the load. All threads begin together; each has one flow in flight.
"""

from pathlib import Path

import polars as pl

from corda_lab.errors import LabError
from corda_lab.lab.settings import Settings

SERVICE = "jmeter"
IMAGE = "jmeter"
RESULTS_FILE = "/var/lib/corda-lab/jmeter/flows.jtl"
COLUMNS = {
    "timeStamp": pl.Int64,
    "elapsed": pl.Int64,
    "label": pl.String,
    "responseMessage": pl.String,
    "success": pl.Boolean,
}
"""Columns of the results file: start and duration in milliseconds, name of the sampler, error, success."""


def require_possible(settings: Settings) -> None:
    """Check that JMeter's sampler can connect to the nodes. Raises LabError."""
    if settings["CORDA_VERSION"].startswith("3"):
        raise LabError(
            f"CORDA_VERSION: JMeter's sampler cannot connect to nodes of Corda {settings['CORDA_VERSION']}",
            "Start a lab of Corda 4 with `scripts/lab up --corda 4.10`.",
        )


def read_results(path: Path) -> pl.DataFrame:
    """Read a results file: a row for every sample, with the columns of ``COLUMNS``. Raises LabError."""
    try:
        return pl.read_csv(path, columns=list(COLUMNS), schema_overrides=COLUMNS)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise LabError(f"JMeter's results file cannot be read ({error})", exit_code=1) from None


def flows(results: pl.DataFrame) -> pl.DataFrame:
    """Return the flows among the samples, with the columns ``ended_at`` (Unix seconds), ``latency_ms`` and ``error``.

    ``error`` is null for a flow that succeeded.
    """
    return results.filter(pl.col("label") == "flow").select(
        ((pl.col("timeStamp") + pl.col("elapsed")) / 1000).alias("ended_at"),
        pl.col("elapsed").cast(pl.Float64).alias("latency_ms"),
        pl.when(pl.col("success")).then(None).otherwise(pl.col("responseMessage").fill_null("")).alias("error"),
    )


def connect_error(results: pl.DataFrame) -> str | None:
    """Return why a connection could not be opened; None if all are open."""
    failed = results.filter((pl.col("label") == "connect") & ~pl.col("success"))
    return None if failed.is_empty() else str(failed["responseMessage"][0])
