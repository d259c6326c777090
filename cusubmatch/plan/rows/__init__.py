"""Plans that walk rows of the edge table."""

from cusubmatch.plan.rows.row_plan import NO_BOUND, RowCondition, RowEdge, RowPattern, RowPlan, RowStep
from cusubmatch.plan.rows.row_planner import plan_rows
from cusubmatch.plan.rows.row_statistics import RowStatistics

__all__ = [
    "NO_BOUND",
    "RowCondition",
    "RowEdge",
    "RowPattern",
    "RowPlan",
    "RowStatistics",
    "RowStep",
    "plan_rows",
]
