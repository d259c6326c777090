"""A count by decomposition, carried out: the skeleton and the indicators, a bound, and the sums.

Between kernels, and now and then inside them, the clock is looked at and progress reported. All tables are gone when
the count is there.
"""

from __future__ import annotations

import functools
import math
import time
from collections import Counter

from cusubmatch.engines.base import Engine, Prepared, ProgressCallback, RunOptions, TaskRange
from cusubmatch.errors import DeadlinePassed
from cusubmatch.execution.planning import walk_plan
from cusubmatch.execution.strategies.table_evaluation import WORD, Evaluation, moduli
from cusubmatch.graph.csr import row_lengths
from cusubmatch.graph.support_graph import prepared, sources_of, support_graph_of
from cusubmatch.plan import Plan, TablePlan
from cusubmatch.plan.crt import chinese_remainder
from cusubmatch.plan.decomposition.expression import Indicator

__all__ = ["TableCount", "Tables"]

KEPT_BOUNDS = 256  # of counts, with a graph
PREPARED = 8  # arrays of an element an entry, about, that a pattern's skeleton and indicators are as large as
LARGEST = (1 << 63) - 1  # that a column of counts can hold
REPORT_SECONDS = 0.1  # between two reports of progress


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


class TableCount:
    """One count by decomposition.

    Parameters
    ----------
    strategy : Tables
    deadline, progress
        As for an engine's run.
    tasks : TaskRange, optional
        Terms of the sum; default all.

    Attributes
    ----------
    matches : None
        Nothing is known before the end.
    """

    matches: int | None = None

    def __init__(
        self,
        strategy: Tables,
        deadline: float | None = None,
        progress: ProgressCallback | None = None,
        tasks: TaskRange | None = None,
    ):
        self.strategy, self.engine, self.plan, self.tables = strategy, strategy.engine, strategy.plan, strategy.tables
        self.graph, self.candidates, _ = strategy.prepared
        self.decompositions = self.tables.decompositions
        if tasks is not None:
            terms = list(self.decompositions[0].terms.items())[tasks.begin : tasks.end]
            self.decompositions = (self.decompositions[0]._replace(terms=Counter(dict(terms))),)
        self.deadline, self.progress = deadline, progress
        self._done = self._reported = 0.0
        self._whole = 1.0  # cost of all residues, once their number is known

    def count(self) -> int:
        """The number of matches.

        Raises
        ------
        DeadlinePassed
        """
        matches = self.strategy.matches_of(self.total())
        if self.progress is not None:
            self.progress(1.0, matches)
        return matches

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
        primes = self._primes(*self._prepared())
        return 1 << WORD if primes == [0] else math.prod(primes)

    def counts(self) -> list:
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
        fixing = [self.plan.pattern.automorphisms.order // orbits.count(orbit) for orbit in sorted(set(orbits))]
        vectors = zip(self._evaluated(Evaluation.vectors), fixing, strict=True)
        counts = [embeddings // many for embeddings, many in vectors]
        if any(len(count) and int(count.max()) > LARGEST for count in counts):
            raise OverflowError("a vertex is in 2**63 matches or more, and columns of counts are int64")
        return [xp.asarray(count.tolist() if count.dtype == object else count, dtype=xp.int64) for count in counts]

    def _evaluated(self, what):
        self._check_deadline(0.0)
        support, indicators = self._prepared()
        self._check_deadline(0.0)
        primes = self._primes(support, indicators)
        self._whole = self.tables.cost * len(primes)
        residues = []
        walk = functools.cache(self._walk)
        for prime in primes:
            kernels = self.engine.table_kernels(support, self._check_deadline)
            one = Evaluation(
                self.graph.xp, self.decompositions, support, indicators, kernels, walk, prime, self._finished
            )
            residues.append(what(one))
        if primes == [0]:
            return residues[0]
        there = (map(_on_host, some) for some in zip(*residues, strict=True))
        return [chinese_remainder(list(some), primes) for some in there]

    def _primes(self, support, indicators):
        """What to compute modulo: [0] for 2^64, or primes."""
        key = self.plan.pattern, self.plan.semantics
        return moduli(self.graph.cache.get("bounds", key, lambda: self._bound(support, indicators), KEPT_BOUNDS))

    def _prepared(self):
        """The skeleton and the indicators of the pattern; what was made for it alone is kept with a small graph."""
        whole, nodes = support_graph_of(self.graph, self.engine.reverse_arcs), self.tables.nodes
        plain = not all(self.tables.decompositions[0].edges.values())
        keys = tuple(nodes[node].key for node in self._indicators())
        make = functools.partial(prepared, self.graph, whole, keys, self.candidates.masks, plain=plain)
        keep = self.graph.keep(0) // PREPARED if keys else 0
        asked = self.plan.pattern, self.plan.semantics, keys, plain
        return self.graph.cache.get("prepared", asked, make, keep) if keep else make()

    def _walk(self, term):
        """The embeddings of a quotient of the pattern, by walking."""
        plan, walked = walk_plan(self.graph, self.engine, self.plan.pattern, term)
        pulse = None if self.progress is None else lambda share, _: self._check_deadline(share)
        return self.engine.run(plan, walked, RunOptions(deadline=self.deadline, progress=pulse)).count()

    def _indicators(self):
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

    def _bound(self, support, indicators):
        """At most so many embeddings: mappings that keep the edges of a tree in the pattern."""
        xp, edges, nodes = self.graph.xp, self.tables.decompositions[0].edges, self.tables.nodes
        size = 1 + max(b for _, b in edges)
        near: list[list[int]] = [[] for _ in range(size)]
        for a, b in edges:
            near[a].append(b)
            near[b].append(a)
        seen: set[int] = set()

        def below(vertex):
            """Mappings of the branch at a vertex, by its image; a long branch before a wide one bounds best."""
            seen.add(vertex)
            product = None
            for other in near[vertex]:
                if other not in seen:
                    values = below(other)
                    values = xp.ones(len(support.targets)) if values is None else values[support.targets]
                    a, b = min(vertex, other), max(vertex, other)
                    for node, transposed in edges[a, b]:
                        indicator = indicators[nodes[node].key]
                        values *= indicator[support.reverse_arc] if transposed != (a != vertex) else indicator
                    sums = xp.bincount(sources, values, minlength=support.vertices)  # differences of sums lose much
                    product = sums if product is None else product * sums
            return product

        lengths = row_lengths(support.offsets)
        longest = support.keep("longest", lambda: float(lengths.max()) if len(lengths) else 0.0)
        rough = len(support.targets) * max(longest, 1.0) ** (size - 2)
        if moduli(rough) == [0]:
            return rough
        sources = sources_of(xp, support.offsets)
        return min(rough, float(below(0).sum()))

    def _finished(self, expression):
        self._done += self.tables.costs.get(expression, 0.0)
        self._check_deadline(0.0)

    def _check_deadline(self, _share):
        """Look at the clock."""
        now = time.monotonic()
        if self.deadline is not None and now > self.deadline:
            raise DeadlinePassed
        if self.progress is not None and now > self._reported + REPORT_SECONDS:
            self._reported = now
            self.progress(min(self._done / self._whole, 1.0), 0)


def _on_host(residue):
    """A number, or an array in host memory."""
    return residue.get() if hasattr(residue, "get") else residue
