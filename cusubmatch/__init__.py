"""Subgraph matching for dataframes: find every copy of a small pattern in a large graph.

>>> import cusubmatch as csm
>>> csm.count_matches(csm.Graph.from_edgelist(edges), "(a)--(b)--(c)--(a)")  # doctest: +SKIP
"""

from importlib import import_module

__version__ = "0.1.0"

_HOME = {
    "AbsentIdWarning": "errors",
    "AbsentLabelWarning": "errors",
    "CusubmatchError": "errors",
    "Graph": "graph",
    "GraphError": "errors",
    "Pattern": "pattern",
    "PatternError": "errors",
    "EngineUnavailable": "errors",
    "ResultTooLarge": "errors",
    "TimeLimitExceeded": "errors",
    "count_by": "api.count_by",
    "count_many": "api.count_many",
    "count_matches": "api.count_matches",
    "explain": "api.explain",
    "has_match": "api.count_matches",
    "iter_matches": "api.iter_matches",
    "motif_census": "api.motif_census",
    "sample_matches": "api.sample_matches",
    "subgraph_match": "api.subgraph_match",
    "vertex_counts": "api.vertex_counts",
    "write_matches": "api.write_matches",
    "attach_edges": "api.attach_edges",
    "iter_attached_edges": "api.attach_edges",
    "subgraph_monomorphism": "compat.cugraph",
    "datasets": None,
    "generators": None,
}

__all__ = [*_HOME, "__version__"]


def __getattr__(name):
    """Load a public name, and what it needs, when it is first used."""
    if name not in _HOME:
        raise AttributeError(f"module 'cusubmatch' has no attribute {name!r}")
    module = import_module(f"cusubmatch.{_HOME[name] or name}")
    value = module if _HOME[name] is None else getattr(module, name)
    globals()[name] = value
    return value


def __dir__():
    return sorted(__all__)
