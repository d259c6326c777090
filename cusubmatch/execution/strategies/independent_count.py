"""A count of induced matches by independent sets: the matches of a core, and at each of them the leaves that fit.

`plan/independent_leaves.py` says which patterns have such leaves. The engine lists the core's matches. What is left is
done on the host, in Python's integers. Where too many candidates of the leaves touch each other, the pattern is walked.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from cusubmatch.engines.cpu.primitives.induced_subgraph import components
from cusubmatch.errors import DeadlinePassed
from cusubmatch.execution.strategies.independence_polynomials import independent_sets, power, times, without_branches
from cusubmatch.graph import Graph
from cusubmatch.plan import Plan

__all__ = ["IndependentRun"]

LARGEST_COMPONENT = 300  # with branches
TICKS = 64  # between two looks at the clock
SHARE = 0.1  # of the estimate of walking, which may be spent before walking begins, or
LEAST_SECONDS = 0.1  # so much


class TooDenseError(Exception):
    """Too many candidates of the leaves touch each other."""


class IndependentRun:
    """One count of induced matches by independent sets.

    Parameters
    ----------
    graph : Graph
        In host memory.
    plan : Plan
        A plan with `independent`.
    core_blocks : callable
        Gives blocks of all induced embeddings of the core, arrays (core vertices, rows) in host memory.
    walk : callable
        Makes a run that walks the pattern.
    deadline, progress
        As for an engine's `Run`.

    Attributes
    ----------
    matches : int or None
        Nothing is known before the end, unless the pattern is walked.
    """

    def __init__(
        self,
        graph: Graph,
        plan: Plan,
        core_blocks: Callable[[], Iterable[np.ndarray]],
        walk: Callable[[], Any],
        *,
        deadline: float | None = None,
        progress: Callable[[float, int], None] | None = None,
    ):
        self.graph, self.plan, self.core_blocks, self.walk = graph, plan, core_blocks, walk
        self.deadline, self.progress = deadline, progress
        self.expected: Any = plan.independent
        self.matches: Any = None
        self._ticks = 0

    def count(self) -> int:
        """The number of matches.

        Raises
        ------
        DeadlinePassed
        """
        self._give_up = time.monotonic() + max(LEAST_SECONDS, SHARE * self.expected.walking / 1e9)
        try:
            sets = self._sets()
        except TooDenseError:
            run = self.walk()
            try:
                return run.count()
            finally:
                self.matches = run.matches
        total = sets * math.factorial(len(self.expected.leaves))
        if self.plan.unique:
            total //= self.plan.pattern.automorphisms.order
        if self.progress is not None:
            self.progress(1.0, total)
        return total

    def _sets(self):
        """The independent sets of leaves at all matches of the core."""
        plan, many = self.expected, len(self.expected.leaves)
        rows = {relation: self.graph.adjacency((relation,)) for _, relation in (*plan.required, *plan.forbidden)}
        rows = {relation: (found.offsets.reshape(-1), found.targets) for relation, found in rows.items()}
        apart = self.graph.adjacency((plan.apart,))
        apart_rows = apart.offsets.reshape(-1), apart.targets
        place = np.full(self.graph.n_vertices, -1, np.int32)
        total = 0
        for block in self.core_blocks():
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
            (row(u, relation) for u, relation in self.expected.required),
        )
        taken = [images, *(row(u, relation) for u, relation in self.expected.forbidden)]
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
