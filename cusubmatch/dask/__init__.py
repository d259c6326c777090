"""The public functions on a Dask cluster: query sets, long queries and rows, shared by workers that may be lost.

>>> import cusubmatch.dask as dcsm
>>> G = dcsm.Graph.from_parquet("edges.parquet")  # doctest: +SKIP
>>> dcsm.count_many(G, ["(a)--(b)--(c)--(a)", "(a)--(b)--(c)--(d)--(a)"])  # doctest: +SKIP
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

_HOME = {
    "ClusterError": "cusubmatch.errors",
    "Graph": "cusubmatch.dask.cluster_graph",
    "count_many": "cusubmatch.dask.counts",
    "count_matches": "cusubmatch.dask.counts",
    "match_many": "cusubmatch.dask.query_files",
    "subgraph_match": "cusubmatch.dask.partitions",
    "write_matches": "cusubmatch.dask.files",
}

__all__ = [*_HOME]  # noqa: PLE0604 - names are loaded when first used

if find_spec("distributed") is None:
    raise ModuleNotFoundError("cusubmatch.dask needs Dask: pip install 'cusubmatch[dask]'", name="distributed")


def __getattr__(name: str) -> Any:
    """Load a public name, and Dask, when it is first used."""
    if name not in _HOME:
        raise AttributeError(f"module 'cusubmatch.dask' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
