"""A count of induced matches by independent sets: at each match of a core, the sets of leaves without an edge inside.

`plan/independent_leaves.py` says which patterns have such leaves. The engine lists the core's matches. What is left is
done on the host, in Python's integers. Where too many candidates of the leaves are joined, the pattern is walked.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Iterator, Mapping
from typing import TypeAlias

import numpy as np

from cusubmatch.engines.base import Engine
from cusubmatch.engines.prepared import Prepared
from cusubmatch.engines.runs import ProgressCallback, RunOptions, TaskRange
from cusubmatch.errors import DeadlinePassed
from cusubmatch.execution.planning import plan_of
from cusubmatch.execution.results.expand_orbits import expand_orbits
from cusubmatch.execution.strategies.independence_polynomials import independent_sets, power, times, without_branches
from cusubmatch.execution.strategies.walk import Walk
from cusubmatch.graph import Relation
from cusubmatch.plan import Plan
from cusubmatch.plan.independent_leaves import IndependentPlan

__all__ = ["IndependentCount", "IndependentSets"]

MAX_BRANCHED_COMPONENT = 300  # vertices of a component with branches
STEPS_BETWEEN_POLLS = 64  # of the clock
GIVE_UP_SHARE = 0.1  # the part of the estimate of walking that may be spent before the pattern is walked, or
MIN_GIVE_UP_S = 0.1  # this many seconds, if they are more


Rows: TypeAlias = tuple[np.ndarray, np.ndarray]  # offsets and targets


class TooDenseError(Exception):
    """Too many candidates of the leaves are joined by edges."""


class IndependentSets:
    """Counting the leaves at each match of a core.

    Parameters
    ----------
    engine, plan, prepared
        The engine, the plan of walking the pattern, and what it is walked on.
    leaves : IndependentPlan
    """

    number_of_tasks = 1  # where it is given up, the pattern is walked: parts could go different ways

    def __init__(self, engine: Engine, plan: Plan, prepared: Prepared, leaves: IndependentPlan):
        self.engine, self.plan, self.prepared, self.leaves = engine, plan, prepared, leaves

    @property
    def estimate(self) -> float:
        """Nanoseconds."""
        return self.leaves.cost

    def run(
        self, deadline: float | None, progress: ProgressCallback | None, tasks: TaskRange | None = None
    ) -> IndependentCount:
        """One count, or nothing of it."""
        return IndependentCount(self, deadline, progress, tasks is None or tasks.end > tasks.begin)

    def matches_of(self, total: int) -> int:
        """The number of matches."""
        return total

    def core_blocks(self, deadline: float | None) -> Iterator[np.ndarray]:
        """Blocks of the induced embeddings of the core, int32 (core vertices, rows), in host memory."""
        graph, core = self.prepared.graph, self.leaves.core
        plan, prepared = plan_of(graph, self.engine, core, "induced", unique=False, counting=False)
        if len(core) == 1:
            yield self.engine.to_host(prepared.candidates.of(0)[None])
            return
        blocks = self.engine.run(plan, prepared, RunOptions(deadline=deadline)).blocks()
        for block in expand_orbits(blocks, plan, graph.xp):
            yield self.engine.to_host(block)


class IndependentCount:
    """One count of induced matches by independent sets.

    Parameters
    ----------
    strategy : IndependentSets
    deadline, progress
        As for an engine's run.
    whole : bool
        Whether anything is to be counted.

    Attributes
    ----------
    matches : int or None
        Nothing is known before the end, unless the pattern is walked.
    """

    def __init__(
        self,
        strategy: IndependentSets,
        deadline: float | None,
        progress: ProgressCallback | None,
        whole: bool = True,
    ):
        self.strategy, self.plan, self.leaves = strategy, strategy.plan, strategy.leaves
        self.graph = strategy.prepared.graph.host
        self.deadline, self.progress, self._whole = deadline, progress, whole
        self.matches: int | None = None
        self._steps = 0

    def count(self) -> int:
        """The number of matches.

        Raises
        ------
        DeadlinePassed
        """
        if not self._whole:
            return 0
        self._give_up = time.monotonic() + max(MIN_GIVE_UP_S, GIVE_UP_SHARE * self.leaves.walking / 1e9)
        try:
            sets = self._sets()
        except TooDenseError:
            walk = Walk(self.strategy.engine, self.plan, self.strategy.prepared).run(self.deadline, self.progress)
            try:
                return walk.count()
            finally:
                self.matches = walk.matches
        total = sets * math.factorial(len(self.leaves.leaves))
        if self.plan.unique:
            total //= self.plan.pattern.automorphisms.order
        if self.progress is not None:
            self.progress(1.0, total)
        return total

    def total(self) -> int:
        """The number of matches."""
        return self.count()

    def _sets(self) -> int:
        """The independent sets of leaves at all matches of the core."""
        from cusubmatch.engines.induced_subgraph import components

        plan, size = self.leaves, len(self.leaves.leaves)
        relations = {relation for _, relation in (*plan.required, *plan.forbidden)}
        adjacencies = {relation: self.graph.adjacency((relation,)) for relation in relations}
        rows = {relation: (rows.offsets.reshape(-1), rows.targets) for relation, rows in adjacencies.items()}
        conflicts = self.graph.adjacency((plan.leaf_relation,))
        conflict_rows = conflicts.offsets.reshape(-1), conflicts.targets
        local_index = np.full(self.graph.n_vertices, -1, np.int32)
        total = 0
        for block in self.strategy.core_blocks(self.deadline):
            enough = np.ones(block.shape[1], bool)
            for u, relation in plan.required:
                enough &= np.diff(rows[relation][0])[block[u]] >= size
            for images in block[:, enough].T:
                self._poll()
                leaves = self._leaf_candidates(rows, images)
                if len(leaves) >= size:
                    conflicts_inside = components(*conflict_rows, leaves, local_index)
                    total += self._independent(conflicts_inside, len(leaves), size)
        return total

    def _leaf_candidates(self, rows: Mapping[Relation, Rows], images: np.ndarray) -> np.ndarray:
        """The candidates of a leaf at a match of the core, ascending."""

        def row(u: int, relation: Relation) -> np.ndarray:
            offsets, targets = rows[relation]
            return targets[offsets[images[u]] : offsets[images[u] + 1]]

        candidates = functools.reduce(
            functools.partial(np.intersect1d, assume_unique=True),
            (row(u, relation) for u, relation in self.leaves.required),
        )
        taken = [images, *(row(u, relation) for u, relation in self.leaves.forbidden)]
        return np.setdiff1d(candidates, np.concatenate(taken), assume_unique=False)

    def _independent(self, inside: tuple[np.ndarray, np.ndarray], vertices: int, degree: int) -> int:
        """The independent sets of `degree` of the vertices; `inside` has their edges and their components."""
        ends, component = inside
        degrees = np.bincount(ends.reshape(-1), minlength=vertices)
        sizes = np.bincount(component, minlength=vertices)
        edges = np.bincount(component[ends[:, 0]], minlength=vertices)
        branched = np.zeros(vertices, bool)
        branched[component[degrees > 2]] = True
        if branched.any() and int(sizes[branched].max()) > MAX_BRANCHED_COMPONENT:
            raise TooDenseError
        isolated = int((sizes == 1).sum())
        product = [math.comb(isolated, j) for j in range(degree + 1)]
        plain = ~branched & (sizes > 1)
        kinds, counts = np.unique(np.stack([sizes[plain], edges[plain]]), axis=1, return_counts=True)
        for (kind_vertices, kind_edges), alike in zip(kinds.T.tolist(), counts.tolist(), strict=True):
            polynomial = without_branches(kind_vertices, kind_edges, degree)
            product = times(product, power(polynomial, alike, degree), degree)
        for neighbours in self._branched(ends, component, branched):
            product = times(product, independent_sets(neighbours, degree, self._poll), degree)
        return product[degree] if len(product) > degree else 0

    @staticmethod
    def _branched(ends: np.ndarray, component: np.ndarray, branched: np.ndarray) -> Iterator[list[int]]:
        """The components with branches, each as sets of neighbours."""
        of_edge = component[ends[:, 0]]
        ends, of_edge = ends[branched[of_edge]], of_edge[branched[of_edge]]
        order = np.argsort(of_edge, kind="stable")
        boundaries = np.flatnonzero(np.diff(of_edge[order])) + 1
        for edges in np.split(ends[order], boundaries) if len(order) else ():
            _, local = np.unique(edges, return_inverse=True)
            neighbours = [0] * (int(local.max()) + 1)
            for a, b in local.reshape(-1, 2).tolist():
                neighbours[a] |= 1 << b
                neighbours[b] |= 1 << a
            yield neighbours

    def _poll(self) -> None:
        """Check the deadline now and then."""
        self._steps += 1
        if self._steps % STEPS_BETWEEN_POLLS:
            return
        now = time.monotonic()
        if self.deadline is not None and now > self.deadline:
            raise DeadlinePassed
        if now > self._give_up:
            raise TooDenseError
        if self.progress is not None:
            self.progress(0.0, 0)
