"""Walking rows of the edge table, edge by edge, with time windows."""

from cusubmatch.engines.cpu.row_walk.row_run import RowRun, number_of_row_tasks

__all__ = ["RowRun", "number_of_row_tasks"]
