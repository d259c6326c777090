"""One walk over rows of the edge table on several devices: ranges of what the first step visits.

The rows and masks lie in host memory, and each device has copies of its own, kept with its copy of the graph. What a
first row leads to is not estimated: work is taken to be in proportion to the first rows, large ranges first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.device_engine import Brought, Landing
from cusubmatch.engines.prepared import PreparedRows, RowBlock
from cusubmatch.engines.runs import RunOptions, TaskRange
from cusubmatch.execution.devices.shared_run import SharedRun
from cusubmatch.execution.work_ranges import WorkRange, cell_edges

__all__ = ["SharedRowRun"]


class SharedRowRun(SharedRun):
    """A run of a row plan that several devices share: a `SharedRun` of a `RowPlan` and `PreparedRows`."""

    def _cut(self) -> list[WorkRange]:
        tasks = self._devices.home.number_of_row_tasks(self._plan, self._prepared)
        edges = cell_edges(tasks, self._devices.cutting.cells)
        return self._devices.cut(self._plan.cost, edges, np.diff(edges).tolist())

    def _prepared_on(self, number: int) -> PreparedRows:
        if number == 0:
            return self._prepared
        return self._prepared._replace(graph=self._devices.engines[number].place(self._prepared.graph))

    def _run_on(self, number: int, prepared: PreparedRows, options: RunOptions, tasks: TaskRange) -> Any:
        return self._devices.engines[number].walk_rows(self._plan, prepared, options, tasks)

    def _sent_blocks(
        self, run: Callable[[RunOptions], Any], options: RunOptions, landing: Landing
    ) -> Iterator[tuple[int, BroughtRows]]:
        blocks = run(options).blocks()
        try:
            for block in blocks:
                yield block.vertices.shape[1], BroughtRows(landing.bring(block.vertices), landing.bring(block.rows))
        finally:
            blocks.close()

    def _matches_of(self, total: int) -> int:
        return total

    def _so_far(self) -> int:
        runs, totals = self._runs.copy(), self._totals.copy()
        return sum(totals.values()) + sum(run.matches or 0 for index, run in runs.items() if index not in totals)


class BroughtRows(NamedTuple):
    """A block of vertices and rows on its way."""

    vertices: Brought
    rows: Brought

    def settled(self) -> RowBlock:
        """Wait until both are there."""
        return RowBlock(self.vertices.settled(), self.rows.settled())
