"""A count by decomposition, carried out: the support graph and the indicators, a bound, and the sums.

Between kernels, and now and then inside them, the deadline is checked and progress reported. Tables are freed when the
count is known.
"""

from __future__ import annotations

import functools
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from cusubmatch.engines.base import Engine
from cusubmatch.engines.prepared import Prepared
from cusubmatch.engines.runs import ProgressCallback, RunOptions, TaskRange
from cusubmatch.errors import DeadlinePassed
from cusubmatch.execution.strategies.strategy import SummedCount
from cusubmatch.execution.strategies.table_evaluation import WORD, Evaluation, moduli
from cusubmatch.execution.walk_planning import walk_plan
from cusubmatch.graph.csr import row_lengths
from cusubmatch.graph.support_graph import SupportGraph, prepared, sources_of, support_graph_of
from cusubmatch.plan import Plan
from cusubmatch.plan.crt import chinese_remainder
from cusubmatch.plan.decomposition.expression import EnumerateTerm, Indicator
from cusubmatch.plan.decomposition.table_plan import TablePlan

__all__ = ["TableCount", "Tables"]

KEPT_BOUNDS = 256  # bounds of counts that are kept with a graph
ARRAYS_A_PATTERN = 8  # the size of a pattern's support graph and indicators, in arrays of an element an arc, about
MAX_COUNT = (1 << 63) - 1  # that an int64 column can hold
REPORT_INTERVAL_S = 0.1  # between two progress reports


class Tables:
    """Counting by decomposition, without walking the pattern itself.

    Parameters
    ----------
    engine, plan, prepared
        The engine, the plan of walking the pattern, and what it is walked on.
    tables : TablePlan
        Its decomposition.
    """

    def __init__(self, engine: Engine, plan: Plan, prepared: Prepared, tables: TablePlan):
        self.engine, self.plan, self.prepared, self.tables = engine, plan, prepared, tables

    @property
    def estimate(self) -> float:
        """Nanoseconds."""
        return self.tables.cost

    @property
    def number_of_tasks(self) -> int:
        """Terms of the sum."""
        return len(self.tables.decompositions[0].terms)

    def run(
        self, deadline: float | None, progress: ProgressCallback | None, tasks: TaskRange | None = None
    ) -> TableCount:
        """One count, or some terms of its sum."""
        return TableCount(self, deadline, progress, tasks)

    def matches_of(self, total: int) -> int:
        """The number of matches, from the sum of the totals of all terms."""
        embeddings = total % TableCount(self, None, None).modulus
        return embeddings // (self.plan.pattern.automorphisms.order if self.plan.unique else 1)


class TableCount(SummedCount):
    """One count by decomposition.

    Parameters
    ----------
    strategy : Tables
    deadline, progress
        As for an engine's run.
    tasks : TaskRange, optional
        Terms of the sum; default all.
    """

    strategy: Tables

    def __init__(
        self,
        strategy: Tables,
        deadline: float | None = None,
        progress: ProgressCallback | None = None,
        tasks: TaskRange | None = None,
    ):
        self.strategy, self.engine, self.plan, self.tables = strategy, strategy.engine, strategy.plan, strategy.tables
        self.graph, self.candidates = strategy.prepared.graph, strategy.prepared.candidates
        self.decompositions = self.tables.decompositions
        if tasks is not None:
            terms = list(self.decompositions[0].terms.items())[tasks.begin : tasks.end]
            self.decompositions = (self.decompositions[0]._replace(terms=Counter(dict(terms))),)
        self.deadline, self.progress = deadline, progress
        self._done = self._reported = 0.0
        self._cost = 1.0  # nanoseconds of all residues, once their number is known

    def total(self) -> int:
        """The sum of the terms, modulo `modulus`.

        Raises
        ------
        DeadlinePassed
        """
        return self._evaluated(Evaluation.totals)[0] if self.decompositions[0].terms else 0

    @property
    def modulus(self) -> int:
        """More than all embeddings can be: totals are known up to multiples of it."""
        primes = self._primes(self._prepared)
        return 1 << WORD if primes == [0] else math.prod(primes)

    def embeddings_by_vertex(self) -> list[Any]:
        """For each decomposition the embeddings by the image of its root: integers, of any size where objects.

        Raises
        ------
        DeadlinePassed
        """
        return self._evaluated(Evaluation.vectors)

    def orbit_counts(self) -> list[Any]:
        """The matches in which each vertex stands in each orbit that the plan has a decomposition for, int64 arrays.

        The decomposition is by one vertex of the orbit. A match has as many embeddings that take this one there as the
        pattern has automorphisms that fix it.

        Raises
        ------
        DeadlinePassed
        OverflowError
            If a vertex is in 2^63 matches or more.
        """
        xp, orbits = self.graph.xp, self.plan.pattern.automorphisms.orbits()
        stabilisers = [self.plan.pattern.automorphisms.order // orbits.count(orbit) for orbit in sorted(set(orbits))]
        vectors = zip(self.embeddings_by_vertex(), stabilisers, strict=True)
        counts = [embeddings // stabiliser for embeddings, stabiliser in vectors]
        if any(len(count) and int(count.max()) > MAX_COUNT for count in counts):
            raise OverflowError("a vertex is in 2**63 matches or more, and columns of counts are int64")
        return [xp.asarray(count.tolist() if count.dtype == object else count, dtype=xp.int64) for count in counts]

    def _evaluated(self, evaluate: Callable[[Evaluation], list[Any]]) -> list[Any]:
        """The sums of all decompositions, or their vectors over vertices."""
        self._check_deadline(0.0)
        support, indicators = self._prepared()
        self._check_deadline(0.0)
        primes = self._primes(lambda: (support, indicators))
        self._cost = self.tables.cost * len(primes)
        residues = []
        walk = functools.cache(self._walk)
        for prime in primes:
            kernels = self.engine.table_kernels(support, self._check_deadline)
            evaluation = Evaluation(self.decompositions, support, indicators, kernels, walk, prime, self._finished)
            residues.append(evaluate(evaluation))
        if primes == [0]:
            return residues[0]
        by_decomposition = zip(*residues, strict=True)
        return [chinese_remainder(list(map(_on_host, parts)), primes) for parts in by_decomposition]

    def _primes(self, prepare: Callable[[], tuple[SupportGraph, Mapping[tuple, Any]]]) -> list[int]:
        """What to compute modulo: [0] for 2^64, or primes. Only a bound that is not yet kept takes what is prepared."""
        key = self.plan.pattern, self.plan.semantics
        return moduli(self.graph.cache.get("bounds", key, lambda: self._bound(*prepare()), KEPT_BOUNDS))

    def _prepared(self) -> tuple[SupportGraph, Mapping[tuple, Any]]:
        """The support graph and the indicators of the pattern; those of it alone are kept with a small graph."""
        whole, nodes = support_graph_of(self.graph, self.engine.reverse_arcs), self.tables.nodes
        plain = not all(self.tables.decompositions[0].edges.values())
        keys = tuple(_key_of(nodes[node]) for node in self._indicators())
        make = functools.partial(prepared, self.graph, whole, keys, self.candidates.masks, plain=plain)
        keep = self.graph.keep(0) // ARRAYS_A_PATTERN if keys else 0
        call = self.plan.pattern, self.plan.semantics, keys, plain
        return self.graph.cache.get("prepared", call, make, keep) if keep else make()

    def _walk(self, term: EnumerateTerm) -> int:
        """The embeddings of a quotient of the pattern, by walking."""
        plan, walked = walk_plan(self.graph, self.engine, self.plan.pattern, term)
        progress = None if self.progress is None else lambda share, _: self._check_deadline(share)
        return self.engine.run(plan, walked, RunOptions(deadline=self.deadline, progress=progress)).count()

    def _indicators(self) -> list[int]:
        """The indicators of the pattern's own pairs."""
        nodes = self.tables.nodes
        return sorted(
            {
                node
                for factors in self.tables.decompositions[0].edges.values()
                for node, _ in factors
                if isinstance(nodes[node], Indicator)
            }
        )

    def _bound(self, support: SupportGraph, indicators: Mapping[tuple, Any]) -> float:
        """An upper bound of the embeddings: the mappings that keep the edges of a spanning tree of the pattern."""
        xp, edges, nodes = self.graph.xp, self.tables.decompositions[0].edges, self.tables.nodes
        size = 1 + max(b for _, b in edges)
        neighbours: list[list[int]] = [[] for _ in range(size)]
        for a, b in edges:
            neighbours[a].append(b)
            neighbours[b].append(a)
        seen: set[int] = set()

        def below(vertex: int) -> Any:
            """Mappings of the branch at a vertex, by its image; a long branch before a wide one bounds best."""
            seen.add(vertex)
            product = None
            for other in neighbours[vertex]:
                if other not in seen:
                    values = below(other)
                    values = xp.ones(len(support.targets)) if values is None else values[support.targets]
                    a, b = min(vertex, other), max(vertex, other)
                    for node, transposed in edges[a, b]:
                        indicator = indicators[_key_of(nodes[node])]
                        values *= indicator[support.reverse_arc] if transposed != (a != vertex) else indicator
                    sums = xp.bincount(sources, values, minlength=support.vertices)  # differences of sums lose much
                    product = sums if product is None else product * sums
            return product

        lengths = row_lengths(support.near.offsets)
        longest = support.keep("longest", lambda: float(lengths.max()) if len(lengths) else 0.0)
        rough = len(support.targets) * max(longest, 1.0) ** (size - 2)
        if moduli(rough) == [0]:
            return rough
        sources = sources_of(xp, support.offsets)
        return min(rough, float(below(0).sum()))

    def _finished(self, expression: Any) -> None:
        self._done += self.tables.costs.get(expression, 0.0)
        self._check_deadline(0.0)

    def _check_deadline(self, _share: float) -> None:
        """Raise if the deadline has passed; report progress now and then."""
        now = time.monotonic()
        if self.deadline is not None and now > self.deadline:
            raise DeadlinePassed
        if self.progress is not None and now > self._reported + REPORT_INTERVAL_S:
            self._reported = now
            self.progress(min(self._done / self._cost, 1.0), 0)


def _key_of(indicator: Any) -> tuple:
    return indicator.key


def _on_host(residue: Any) -> Any:
    """A number, or an array in host memory."""
    return residue.get() if hasattr(residue, "get") else residue
