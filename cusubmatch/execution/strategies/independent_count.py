"""A count of induced matches by independent sets: the matches of a core, and at each of them the leaves that fit.

`plan/independent_leaves.py` says which patterns have such leaves. The engine lists the core's matches. What is left is
done on the host, in Python's integers. Where too many candidates of the leaves touch each other, the pattern is walked.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Iterator

import numpy as np

from cusubmatch.engines.base import Engine, Prepared, ProgressCallback, RunOptions, TaskRange
from cusubmatch.engines.cpu.primitives.induced_subgraph import components
from cusubmatch.errors import DeadlinePassed
from cusubmatch.execution.expand_orbits import expand_orbits
from cusubmatch.execution.planning import plan_of
from cusubmatch.execution.strategies.independence_polynomials import independent_sets, power, times, without_branches
from cusubmatch.execution.strategies.walk import Walk
from cusubmatch.plan import Plan
from cusubmatch.plan.independent_leaves import IndependentPlan

__all__ = ["IndependentCount", "IndependentSets"]

LARGEST_COMPONENT = 300  # with branches
TICKS = 64  # between two looks at the clock
SHARE = 0.1  # of the estimate of walking, which may be spent before walking begins, or
LEAST_SECONDS = 0.1  # so much


class TooDenseError(Exception):
    """Too many candidates of the leaves touch each other."""


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
        self._ticks = 0

    def count(self) -> int:
        """The number of matches.

        Raises
        ------
        DeadlinePassed
        """
        if not self._whole:
            return 0
        self._give_up = time.monotonic() + max(LEAST_SECONDS, SHARE * self.leaves.walking / 1e9)
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

    def _sets(self):
        """The independent sets of leaves at all matches of the core."""
        plan, many = self.leaves, len(self.leaves.leaves)
        rows = {relation: self.graph.adjacency((relation,)) for _, relation in (*plan.required, *plan.forbidden)}
        rows = {relation: (found.offsets.reshape(-1), found.targets) for relation, found in rows.items()}
        apart = self.graph.adjacency((plan.leaf_relation,))
        apart_rows = apart.offsets.reshape(-1), apart.targets
        place = np.full(self.graph.n_vertices, -1, np.int32)
        total = 0
        for block in self.strategy.core_blocks(self.deadline):
            fit = np.ones(block.shape[1], bool)
            for u, relation in plan.required:
                fit &= np.diff(rows[relation][0])[block[u]] >= many
            for images in block[:, fit].T:
                self._tick()
                members = self._members(rows, images)
                if len(members) >= many:
                    total += self._independent(components(*apart_rows, members, place), len(members), many)
        return total

    def _members(self, rows, images):
        """The candidates of a leaf at a match of the core, ascending."""

        def row(u, relation):
            offsets, targets = rows[relation]
            return targets[offsets[images[u]] : offsets[images[u] + 1]]

        members = functools.reduce(
            functools.partial(np.intersect1d, assume_unique=True),
            (row(u, relation) for u, relation in self.leaves.required),
        )
        taken = [images, *(row(u, relation) for u, relation in self.leaves.forbidden)]
        return np.setdiff1d(members, np.concatenate(taken), assume_unique=False)

    def _independent(self, inner, size, many):
        """The independent sets of so many vertices."""
        ends, component = inner
        degrees = np.bincount(ends.reshape(-1), minlength=size)
        sizes = np.bincount(component, minlength=size)
        edges = np.bincount(component[ends[:, 0]], minlength=size)
        branched = np.zeros(size, bool)
        branched[component[degrees > 2]] = True
        if branched.any() and int(sizes[branched].max()) > LARGEST_COMPONENT:
            raise TooDenseError
        found = [math.comb(int((sizes == 1).sum()), j) for j in range(many + 1)]  # if edges touch no other member
        plain = ~branched & (sizes > 1)
        kinds, counts = np.unique(np.stack([sizes[plain], edges[plain]]), axis=1, return_counts=True)
        for (vertices, inside), times_seen in zip(kinds.T.tolist(), counts.tolist(), strict=True):
            found = times(found, power(without_branches(vertices, inside, many), times_seen, many), many)
        for one in self._branched(ends, component, branched):
            found = times(found, independent_sets(one, many, self._tick), many)
        return found[many] if len(found) > many else 0

    @staticmethod
    def _branched(ends, component, branched):
        """The components with branches, each as sets of neighbours."""
        which = component[ends[:, 0]]
        ends, which = ends[branched[which]], which[branched[which]]
        order = np.argsort(which, kind="stable")
        for some in np.split(ends[order], np.flatnonzero(np.diff(which[order])) + 1) if len(order) else ():
            _, local = np.unique(some, return_inverse=True)
            neighbours = [0] * (int(local.max()) + 1)
            for a, b in local.reshape(-1, 2).tolist():
                neighbours[a] |= 1 << b
                neighbours[b] |= 1 << a
            yield neighbours

    def _tick(self):
        """Look at the clock now and then."""
        self._ticks += 1
        if self._ticks % TICKS:
            return
        now = time.monotonic()
        if self.deadline is not None and now > self.deadline:
            raise DeadlinePassed
        if now > self._give_up:
            raise TooDenseError
        if self.progress is not None:
            self.progress(0.0, 0)
