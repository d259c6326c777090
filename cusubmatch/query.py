"""A checked call: what every public function does before and after the engine runs.

The arguments are checked, the graph and the pattern are made of whatever was given, the plan and the candidates are
taken from the graph's cache or made, and blocks of internal vertices become dataframes of the caller's family.
"""

from __future__ import annotations

import dataclasses
import time
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.errors import EngineUnavailable
from cusubmatch.frames import family_of
from cusubmatch.graph import Graph
from cusubmatch.pattern import Pattern, PatternError
from cusubmatch.plan import SEMANTICS, Plan, constraints_of, make_plan

__all__ = ["Query", "as_graph", "as_pattern", "check_options", "make_query"]

ENGINES = ("auto", "cpu", "gpu")
KEPT_PLANS = 16
BLOCK_ROWS = 1 << 16


class Query(NamedTuple):
    """A checked call: the graph, its plan and what the engine prepared."""

    graph: Graph
    plan: Plan
    candidates: Any
    deadline: float | None
    late: type[Exception]

    def run(self, **options):
        from cusubmatch.cpu import Run

        return Run(self.graph.host, self.plan, self.candidates, deadline=self.deadline, **options)

    def columns(self):
        """Names of the result's columns."""
        names = self.plan.pattern.columns
        if not names:
            raise PatternError("pattern: all its vertices are anonymous, so a match has no columns; name at least one")
        if self.graph.family.strings_only:
            names = [str(name) for name in names]
            if len(set(names)) < len(names):
                raise PatternError(
                    f"pattern: vertex names must differ as text to become {self.graph.family.name} columns"
                )
        return names

    def blocks(self, limit, progress, batch_rows=BLOCK_ROWS):
        """Blocks of rows, at most `limit` rows together."""
        if limit == 0:
            return
        block_rows = max(1, min(BLOCK_ROWS, batch_rows, BLOCK_ROWS if limit is None else limit))
        blocks = self.run(progress=progress, block_rows=block_rows).blocks()
        try:
            for block in blocks:
                yield block[:, :limit]
                if limit is not None:
                    limit = max(0, limit - block.shape[1])
                if limit == 0:
                    return
        finally:
            blocks.close()

    def frame(self, blocks):
        """A dataframe of the caller's family from blocks of internal vertices."""
        xp, names = self.graph.xp, self.columns()
        empty = np.empty(0, np.int32)
        columns = ([block[i] for block in blocks] for i in range(len(names)))
        arrays = (np.concatenate(parts) if parts else empty for parts in columns)
        return self.graph.family.frame(
            {name: self.graph.to_ids(xp.asarray(array)) for name, array in zip(names, arrays, strict=True)}
        )


def make_query(G, P, semantics, unique, engine, time_limit, *, counting, limit=None, progress=None):
    pattern = as_pattern(P, "pattern")
    why = check_options(semantics, unique, engine, time_limit)
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, (int, np.integer))):
        raise TypeError(f"limit: expected an int or None, got {type(limit).__name__}")
    if limit is not None and limit < 0:
        raise ValueError(f"limit: expected 0 or more, got {limit}")
    if progress is not None and not callable(progress):
        raise TypeError(f"progress: expected a callable or None, got {progress!r}")
    deadline = None if time_limit is None else time.monotonic() + float(time_limit)
    unique = semantics != "homomorphism" if unique is None else bool(unique)
    graph = as_graph(G, pattern.directed)
    plan, candidates = _plan_of(graph, pattern, semantics, unique, counting, why)
    from cusubmatch.cpu import DeadlinePassed

    return Query(graph, plan, candidates, deadline, DeadlinePassed)


def check_options(semantics, unique, engine, time_limit):
    """Refuse options that no call can take; why the engine is the one that runs."""
    if semantics not in SEMANTICS:
        raise ValueError(f"semantics: expected one of {', '.join(SEMANTICS)}, got {semantics!r}")
    if unique is not None and not isinstance(unique, (bool, np.bool_)):
        raise TypeError(f"unique: expected True, False or None, got {unique!r}")
    if semantics == "homomorphism" and unique:
        raise ValueError("unique: homomorphisms have no orbits to choose from; leave unique out or False")
    if time_limit is not None and (isinstance(time_limit, bool) or not isinstance(time_limit, (Real, np.number))):
        raise TypeError(f"time_limit: expected seconds or None, got {time_limit!r}")
    if time_limit is not None and not time_limit >= 0:
        raise ValueError(f"time_limit: expected seconds, 0 or more, got {time_limit!r}")
    return _choose_engine(engine)


def _plan_of(graph, pattern, semantics, unique, counting, why):
    """The plan and the candidates, kept with the graph for the next call."""
    from cusubmatch.cpu import prepare

    def make():
        constraints = constraints_of(pattern, graph, semantics)
        candidates = prepare(graph.host, pattern, constraints, semantics != "homomorphism")
        plan = make_plan(
            pattern,
            constraints,
            candidates.shape,
            candidates.tested,
            graph.host.statistics,
            semantics=semantics,
            unique=unique,
            counting=counting,
        )
        return plan, candidates

    plan, candidates = graph.host.cache.get("plans", (pattern, semantics, unique, counting), make, KEPT_PLANS)
    return dataclasses.replace(plan, engine="cpu", why=why), candidates


def as_pattern(P, argument):
    if isinstance(P, Pattern):
        return P
    if isinstance(P, str):
        return Pattern.parse(P)
    raise TypeError(f"{argument}: expected a Pattern or a text such as '(a)-->(b)', got {type(P).__name__}")


def as_graph(G, directed):
    """The Graph that G is or describes; a bare dataframe is directed if the pattern is."""
    if isinstance(G, Graph):
        return G
    if isinstance(G, type):
        raise TypeError(f"G: expected a graph or a dataframe, got the class {G.__name__}")
    if family_of(G) is not None:
        return Graph.from_edgelist(G, directed=directed)
    package = type(G).__module__.partition(".")[0]
    if package == "cugraph":
        return Graph.from_cugraph(G)
    if package == "networkx" or hasattr(G, "adj"):
        return Graph.from_networkx(G)
    raise TypeError(
        "G: expected a cusubmatch.Graph, a dataframe with columns source, destination or src, dst, "
        f"a cugraph.Graph or a networkx graph, got {type(G).__name__}"
    )


def _choose_engine(engine):
    """Why the CPU engine runs; an error if it is not what was asked for."""
    if engine not in ENGINES:
        raise ValueError(f"engine: expected one of {', '.join(ENGINES)}, got {engine!r}")
    if engine == "gpu":
        raise EngineUnavailable(
            "engine='gpu': this version has no GPU engine; use engine='cpu' or 'auto' "
            "(a GPU engine will need an NVIDIA GPU and pip install 'cusubmatch[cu13]')"
        )
    return "asked for" if engine == "cpu" else "the only engine of this version"
