"""Subgraph matching for dataframes: find every copy of a small pattern in a large graph.

>>> import cusubmatch as csm
>>> csm.count_matches(csm.Graph.from_edgelist(edges), "(a)--(b)--(c)--(a)")  # doctest: +SKIP
"""

from importlib import import_module

__version__ = "0.1.0"

_HOME = {
    "AbsentLabelWarning": "errors",
    "Graph": "graph",
    "GraphError": "errors",
    "Pattern": "pattern",
    "PatternError": "pattern",
    "EngineUnavailable": "errors",
    "ResultTooLarge": "errors",
    "TimeLimitExceeded": "errors",
    "count_many": "api",
    "count_matches": "api",
    "explain": "api",
    "has_match": "api",
    "iter_matches": "rows",
    "motif_census": "census",
    "sample_matches": "sample",
    "subgraph_match": "rows",
    "vertex_counts": "participation",
    "write_matches": "output",
    "attach_edges": "attach",
    "subgraph_monomorphism": "monomorphism",
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
