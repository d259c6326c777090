"""A checked call: what every public function does before and after the engine runs.

The arguments are checked, the graph and the pattern are made of whatever was given, the plan and the candidates are
taken from the graph's cache or made, and blocks of internal vertices become dataframes of the caller's family.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import time
from numbers import Real
from typing import NamedTuple

import numpy as np

from cusubmatch.engines.base import Count, Engine, Prepared, RunOptions
from cusubmatch.engines.registry import check_engine, choose_engine
from cusubmatch.errors import DeadlinePassed, TimeLimitExceeded
from cusubmatch.execution.expand_orbits import expand_orbits
from cusubmatch.execution.planning import plan_of, tables_of
from cusubmatch.execution.row_order import RowOrder
from cusubmatch.execution.strategies.choose import strategy_of
from cusubmatch.execution.strategies.table_count import Tables
from cusubmatch.frames import as_frame, family_of
from cusubmatch.graph import Graph
from cusubmatch.graph.edge_list import EDGE_TABLES, is_arrays
from cusubmatch.graph.labels import absent_in, warn_absent
from cusubmatch.pattern import Pattern, PatternError
from cusubmatch.plan import SEMANTICS, Plan
from cusubmatch.system.deadlines import each_until, until
from cusubmatch.system.host_memory import available_memory

__all__ = [
    "Query",
    "as_graph",
    "as_pattern",
    "check_options",
    "free_bytes",
    "make_query",
    "no_rows",
    "shown",
    "time_limit_exceeded",
]

BLOCKS = 32  # of rows that exist at once, about
AT_ONCE_BYTES = 1 << 30  # of rows that are turned into ids at once
TRIAL_SECONDS = 1.0  # which choosing a plan by trial may take; a time limit below that does without


class Query(NamedTuple):
    """A checked call: the graph as given, the engine, its plan, and what that is walked on.

    Where rows are to be sorted, `order` says how, and blocks hold what they are sorted by (`RowOrder.keys`).
    """

    graph: Graph
    engine: Engine
    plan: Plan
    prepared: Prepared
    deadline: float | None
    order: RowOrder | None = None

    def in_order(self):
        """The same call with its rows in the order of the ids, and of each orbit its least row."""
        order = RowOrder(self.graph, self.placed, self.plan.pattern, self.plan.unique)
        return self._replace(plan=dataclasses.replace(self.plan, columns=order.columns), order=order)

    @property
    def placed(self) -> Graph:
        """The graph where the engine works."""
        return self.prepared.graph

    def count_run(self, progress) -> Count:
        """A count by the strategy that the plan says is cheapest."""
        return strategy_of(self.engine, self.plan, self.prepared).run(self.deadline, progress)

    def vertex_run(self, progress, row_ns):
        """A run that counts by vertex and orbit without rows, each of which costs `row_ns`; None: rows are cheaper."""
        rows = self.plan.cost + row_ns * self.plan.levels[-1].matches
        if rows < self.engine.table_costs.worth:
            return None
        orbits = sorted(set(self.plan.pattern.automorphisms.orbits()))
        tables = tables_of(self.engine, self.plan, self.prepared, rows, orbits)
        if tables is None or not tables.first:
            return None
        return Tables(self.engine, self.plan, self.prepared, tables).run(self.deadline, progress)

    def run(self, **options):
        return self.engine.run(self.plan, self.prepared, RunOptions(deadline=self.deadline, **options))

    def columns(self):
        """Names of the result's columns."""
        return _columns(self.graph, self.plan.pattern)

    def blocks(self, limit, progress, batch_rows=None, memory_limit=None):
        """Blocks of rows, at most `limit` rows together; with `batch_rows`, as many are found ahead of the caller."""
        if limit == 0:
            return
        most = None if memory_limit is None else max(1, memory_limit // (BLOCKS * self.row_bytes * self.plan.factor))
        run = self.rows_run(limit, progress, first_rows=batch_rows, block_rows=most)
        found = each_until(self.deadline, run.blocks())
        blocks = expand_orbits(found, self.plan, self.placed.xp)
        try:
            for block in blocks:
                rows = block[:, :limit]
                yield rows if self.order is None else self.order.keys(rows)
                if limit is not None:
                    limit -= rows.shape[1]
                if limit == 0:
                    return
        finally:  # by name: of an interrupt while a generator is closed as garbage nobody hears
            blocks.close()
            found.close()

    def rows_run(self, limit, progress, first_rows=None, **options):
        """A run that finds rows: enough to make `limit`, the first block soon enough to make `first_rows`."""
        factor = self.plan.factor
        limit, first_rows = (None if rows is None else -(-rows // factor) for rows in (limit, first_rows))
        if factor > 1:
            progress = progress and _times(factor, progress)
        ahead = {} if first_rows is None else {"first_rows": first_rows, "ahead_rows": first_rows}
        with until(self.deadline):
            return self.run(progress=progress, enough=limit, **(ahead | options))

    @property
    def streams_to_host(self):
        """Whether rows are found on a device and wanted in host memory."""
        return self.graph.xp is np and self.placed.xp is not np

    @property
    def row_bytes(self):
        """Bytes of a row of internal vertices, as it is found."""
        return 4 * max(len(self.plan.columns), 1)

    def budget(self, memory_limit, xp):
        """Bytes that a result may take where arrays of `xp` lie: all but a quarter of what is free, by default."""
        return int(memory_limit) if memory_limit is not None else 3 * free_bytes(xp) // 4

    def sorted(self, blocks, memory_bytes):
        """The rows of all blocks in order, as blocks of internal vertices in host memory."""
        return self.order.blocks(map(self.engine.to_host, blocks), memory_bytes)

    def frame(self, blocks):
        """A dataframe of the caller's family from blocks of internal vertices."""
        names, graph = self.columns(), self.graph
        plain = (
            None
            if graph.xp is np or not blocks or sum(block.nbytes for block in blocks) > AT_ONCE_BYTES
            else graph.plain_ids
        )
        if plain is not None:  # what a dataframe costs a device's library is paid by the batch: few, large steps
            blocks = [self.returned(block) for block in blocks]
            whole = blocks[0] if len(blocks) == 1 else graph.xp.concatenate(blocks, axis=1)
            return graph.family.block(names, plain[whole])
        return graph.family.frame({name: self._ids([block[i] for block in blocks]) for i, name in enumerate(names)})

    def _ids(self, parts):
        """A column of ids from arrays of internal vertices."""
        xp, parts = self.graph.xp, [self.returned(part) for part in parts]
        return self.graph.to_ids(xp.concatenate(parts) if parts else xp.empty(0, np.int32))

    def device_ids(self):
        """The plain ids by internal vertex, where the engine works; kept there."""
        return self.placed.cache.get("ids", None, lambda: self.placed.xp.asarray(self.graph.plain_ids), 1)

    def returned(self, array):
        """An array where the caller's graph lies."""
        return self.engine.to_host(array) if self.graph.xp is np else self.graph.xp.asarray(array)


def no_rows(graph, pattern):
    """A dataframe of the graph's family for no match of a pattern."""
    ids = graph.to_ids(graph.xp.empty(0, np.int32))
    return graph.family.frame(dict.fromkeys(_columns(graph, pattern), ids))


def _columns(graph, pattern):
    """Names of the columns of a pattern's matches."""
    names = pattern.columns
    if not names:
        raise PatternError("pattern: all its vertices are anonymous, so a match has no columns; name at least one")
    if graph.family.strings_only:
        names = [str(name) for name in names]
        if len(set(names)) < len(names):
            raise PatternError(f"pattern: vertex names must differ as text to become {graph.family.name} columns")
    return names


def _times(factor, progress):
    return lambda done, matches: progress(done, factor * matches)


def free_bytes(xp):
    """Memory that is left where arrays of `xp` lie."""
    if xp is np:
        return available_memory()
    return xp.cuda.runtime.memGetInfo()[0] + xp.get_default_memory_pool().free_bytes()


def make_query(
    G,
    P,
    semantics,
    unique,
    engine,
    time_limit,
    *,
    counting,
    limit=None,
    progress=None,
    memory_limit=None,
    suffix=None,
    by_trial=True,
    sort=False,
    warn=True,
    nothing=lambda _graph, _pattern: None,
):
    """Check a call and plan it; without `by_trial` the same plan at each call, by estimates alone.

    `warn`: of labels that the graph has nowhere.
    `nothing(graph, pattern)` is what has been found when the time limit passes meanwhile.
    """
    pattern = as_pattern(P, "pattern")
    check_options(semantics, unique, engine, time_limit)
    if memory_limit is not None and (isinstance(memory_limit, bool) or not isinstance(memory_limit, (int, np.integer))):
        raise TypeError(f"memory_limit: expected bytes as an int or None, got {type(memory_limit).__name__}")
    if memory_limit is not None and memory_limit < 1:
        raise ValueError(f"memory_limit: expected at least 1 byte, got {memory_limit}")
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, (int, np.integer))):
        raise TypeError(f"limit: expected an int or None, got {type(limit).__name__}")
    if limit is not None and limit < 0:
        raise ValueError(f"limit: expected 0 or more, got {limit}")
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise TypeError(f"progress: expected a callable, True, False or None, got {progress!r}")
    deadline = None if time_limit is None else time.monotonic() + float(time_limit)
    unique = semantics != "homomorphism" if unique is None else bool(unique)
    graph = as_graph(G, pattern.directed)
    if warn:
        warn_absent({"pattern": absent_in(graph, pattern)})
    engine_of, why = choose_engine(engine, graph)
    placed = engine_of.place(graph)
    asked = pattern, semantics, unique, counting, suffix
    if time_limit is not None and time_limit < TRIAL_SECONDS:
        by_trial = by_trial and placed.cache.holds("plans", (*asked, True))
    try:
        with until(deadline):
            plan, prepared = plan_of(placed, engine_of, *asked, by_trial)
    except DeadlinePassed:
        raise time_limit_exceeded(time_limit, nothing(graph, pattern)) from None
    plan = dataclasses.replace(plan, engine=engine_of.name, why=why)
    query = Query(graph, engine_of, plan, prepared, deadline)
    return query.in_order() if sort else query


def check_options(semantics, unique, engine, time_limit):
    """Refuse options that no call can take."""
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
    check_engine(engine)


_parsed = functools.lru_cache(maxsize=64)(Pattern.parse)


def as_pattern(P, argument):
    if isinstance(P, Pattern):
        return P
    if isinstance(P, str):
        return _parsed(P)
    raise TypeError(f"{argument}: expected a Pattern or a text such as '(a)-->(b)', got {type(P).__name__}")


def as_graph(G, directed):
    """The Graph that G is or describes; a bare table of edges is directed if the pattern is."""
    if isinstance(G, Graph):
        return G
    if isinstance(G, type):
        raise TypeError(f"G: expected a graph or a dataframe, got the class {G.__name__}")
    G = as_frame(G)
    if family_of(G) is not None or is_arrays(G):
        return Graph.from_edgelist(G, directed=directed)
    package = type(G).__module__.partition(".")[0]
    if package == "cugraph":
        return Graph.from_cugraph(G)
    if package == "networkx" or hasattr(G, "adj"):
        return Graph.from_networkx(G)
    raise TypeError(
        "G: expected a cusubmatch.Graph, a cugraph.Graph, a networkx graph, or edges (columns source, destination or "
        f"src, dst): {EDGE_TABLES}; got {type(G).__name__}"
    )


@contextlib.contextmanager
def shown(progress, what):
    """What a run reports to: the caller's function, a line on stderr or in a notebook for True, or nothing."""
    if progress is not True:
        yield progress or None
        return
    from cusubmatch.display.progress import Progress

    with Progress(True) as line:
        yield line.start(what)


def time_limit_exceeded(seconds, partial):
    """The error of a time limit."""
    return TimeLimitExceeded(f"time_limit: not finished within {seconds} s; .partial holds what was found", partial)
