"""The Dask client of a call, and its workers: checked before any work, with one clear sentence for what is wrong."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from distributed import Client, default_client

from cusubmatch.errors import ClusterError

__all__ = ["client_of", "on_all_workers", "threads_of"]

SECONDS_FOR_WORKERS = 3.0  # in which a worker that is being restarted comes back
SECONDS_BETWEEN_LOOKS = 0.1


def client_of(client: Client | None) -> Client:
    """The client that was given, or the current one, with at least one worker behind it."""
    if client is None:
        try:
            client = default_client()
        except ValueError:
            raise ClusterError(
                "client: there is no Dask client; make one, as dask.distributed.Client(n_workers=2), or pass client="
            ) from None
    if not isinstance(client, Client):
        raise TypeError(f"client: expected a dask.distributed.Client, got {type(client).__name__}")
    if client.asynchronous:
        raise ClusterError("client: it is asynchronous; make one with asynchronous=False")
    if client.status != "running":
        raise ClusterError(f"client: it is {client.status}; connect a new one to the scheduler")
    deadline = time.monotonic() + SECONDS_FOR_WORKERS
    while not client.nthreads():
        if time.monotonic() > deadline:
            raise ClusterError(
                "client: the cluster has no workers; start some, as cluster.scale(2), and client.wait_for_workers(1)"
            )
        time.sleep(SECONDS_BETWEEN_LOOKS)
    return client


def threads_of(client: Client) -> int:
    """Tasks that the workers run at the same time."""
    return max(1, sum(client.nthreads().values()))


def on_all_workers(client: Client, function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
    """What a function returns on each worker, by its address; a worker that is lost meanwhile is left out.

    What the function raises is raised here.
    """
    results = client.run(function, *arguments, on_error="return")
    for result in results.values():
        if isinstance(result, Exception) and not isinstance(result, OSError):
            raise result
    return {address: result for address, result in results.items() if not isinstance(result, Exception)}
