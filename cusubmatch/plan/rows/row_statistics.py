"""Statistics of the rows of relations, for estimates: degrees, their products, and how times lie to one another.

A vertex that a row leads to is met in proportion to its rows, so what follows is estimated by sums of products of
degrees, not by means. Rows come in bursts, so the share of a vertex's rows that a window holds is measured: the
differences between the times of sampled rows and of the other rows at their vertices.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cusubmatch.graph.edge_rows import EdgeRows
from cusubmatch.plan.conditions.bounds import NO_BOUND
from cusubmatch.plan.conditions.evaluate import holds
from cusubmatch.plan.rows.row_plan import RowCondition

__all__ = ["SOURCE", "TARGET", "RowStatistics"]

SOURCE, TARGET = 0, 1  # which end of its rows a vertex is
SAMPLED_ROWS = 256
MOST_DIFFERENCES = 256  # of one sampled row
SAMPLED_COMBINATIONS, SEED = 1024, 7
KEPT_SHARES = 64


class RowStatistics:
    """Statistics of numbered relations, computed when they are first asked for.

    Parameters
    ----------
    relations : sequence of EdgeRows
        In host memory.
    """

    def __init__(self, relations: Sequence[EdgeRows]):
        self._relations = relations
        self._degrees: dict = {}
        self._means: dict = {}
        self._differences: dict = {}
        self._fulfilled: dict = {}  # by the program's id, with the program, so that the id is not given to another one
        self.n_vertices = len(relations[0].arc_offsets) - 1

    def rows(self, relation: int) -> int:
        """The number of rows, in both directions if they serve in both."""
        return len(self._relations[relation].by_source.rows)

    def mean_degree(self, relation: int, end: int, reached: Sequence[tuple[int, int]]) -> float:
        """The expected rows of a relation at a vertex.

        Parameters
        ----------
        relation : int
        end : {SOURCE, TARGET}
            Whether the vertex is their source or their target.
        reached : sequence of (relation, end)
            Rows that the vertex has already; it is met in proportion to its number of each.
        """
        key = relation, end, tuple(sorted(reached))
        if key not in self._means:
            weights = np.ones(self.n_vertices)
            for other in reached:
                weights = weights * self._degree(*other)
            total = float(weights.sum())
            self._means[key] = float(weights @ self._degree(relation, end)) / total if total else 0.0
        return self._means[key]

    def share_in_window(self, relation: int, end: int, low: int, high: int) -> float:
        """The share of the rows at a vertex whose time differs from that of one of them by `low` to `high`."""
        if low <= -NO_BOUND and high >= NO_BOUND:
            return 1.0
        differences = self._sample(relation, end)
        if len(differences) == 0:
            return 1.0
        first = 0 if low <= -NO_BOUND else np.searchsorted(differences, low, side="left")
        last = len(differences) if high >= NO_BOUND else np.searchsorted(differences, high, side="right")
        return float(max(last - first, 1)) / len(differences)

    def share_fulfilled(self, condition: RowCondition) -> float:
        """The share of random vertices and rows of which a condition is true."""
        key = id(condition.program)
        if key not in self._fulfilled:
            if len(self._fulfilled) >= KEPT_SHARES:
                self._fulfilled.clear()
            random, program = np.random.default_rng(SEED), condition.program
            sizes = {column.element: len(column.values) for column in program.columns}
            positions = [
                random.integers(0, max(sizes.get(element, 1), 1), SAMPLED_COMBINATIONS)
                for element in range(len(program.elements))
            ]
            true = (
                holds(program, np, positions, SAMPLED_COMBINATIONS) if min(sizes.values(), default=1) else np.zeros(1)
            )
            self._fulfilled[key] = program, (float(true.sum()) + 0.5) / (SAMPLED_COMBINATIONS + 1)
        return self._fulfilled[key][1]

    def _degree(self, relation, end):
        if (relation, end) not in self._degrees:
            self._degrees[relation, end] = np.diff(self._index(relation, end).offsets).astype(np.float64)
        return self._degrees[relation, end]

    def _index(self, relation, end):
        rows = self._relations[relation]
        return rows.by_source if end == SOURCE else rows.by_target

    def _sample(self, relation, end):
        """Sorted differences of time between sampled rows and other rows at the same vertex; none without times."""
        if (relation, end) not in self._differences:
            index = self._index(relation, end)
            found = []
            if index.times is not None and len(index.rows):
                sample = np.linspace(0, len(index.rows) - 1, min(len(index.rows), SAMPLED_ROWS)).astype(np.int64)
                groups = np.searchsorted(index.offsets, sample, side="right") - 1
                for position, group in zip(sample, groups, strict=True):
                    begin, end_of_group = index.offsets[group], index.offsets[group + 1]
                    step = max(1, int(end_of_group - begin) // MOST_DIFFERENCES)
                    others = index.times[begin:end_of_group:step] - index.times[position]
                    found.append(np.repeat(others, min(step, MOST_DIFFERENCES)))
            self._differences[relation, end] = np.sort(np.concatenate(found)) if found else np.empty(0, np.int64)
        return self._differences[relation, end]
