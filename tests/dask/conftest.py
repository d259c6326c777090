"""A cluster of two processes for the tests of this room, and one of threads; no process outlives its test module."""

from __future__ import annotations

import dask
import psutil
import pytest
from distributed import Client, LocalCluster

from cusubmatch.cli.batch import CLUSTER_SETTINGS

dask.config.set(CLUSTER_SETTINGS)


def start(folder, workers=2, **options):
    """A cluster of processes with one thread each, which keeps its files in a folder, and a client."""
    with dask.config.set({"temporary-directory": str(folder)}):
        cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0", **options)
    return cluster, Client(cluster)


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """A client of two worker processes of one thread each."""
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    cluster, connected = start(tmp_path_factory.mktemp("cluster"))
    with dask.config.set({"temporary-directory": str(tmp_path_factory.mktemp("scratch"))}):
        yield connected
    connected.close()
    stuck = False
    try:
        cluster.close(timeout=60)
    except TimeoutError:  # a nanny waits for a worker that was killed as it started: see cusubmatch.cli.batch
        stuck = True
    left = [child for child in psutil.Process().children(recursive=True) if child.pid not in before]
    left = [child for child in left if "resource_tracker" not in " ".join(child.cmdline())]
    for child in left:
        child.kill()
    assert stuck or left == []


@pytest.fixture(scope="module")
def thread_client():
    """A client of one worker in this process."""
    with (
        LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as connected,
    ):
        yield connected
