"""What a worker is asked, and what it answers, as values that can be sent."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, NamedTuple

from cusubmatch.dask.workers.sources import Source
from cusubmatch.engines.runs import TaskRange
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.execution.shared_plan import SharedPlan
from cusubmatch.execution.shared_rows import RowOutline
from cusubmatch.execution.shared_sums import SumOutline
from cusubmatch.pattern import Pattern
from cusubmatch.plan import Plan

__all__ = ["NOTHING", "Absent", "Answer", "Question", "RowsShard", "Shard"]

NO_TASKS = TaskRange(0, 0)


@dataclass(frozen=True)
class Question:
    """What is asked about a pattern.

    Attributes
    ----------
    source : Source
    number : int
        Its place in the query set.
    pattern : Pattern
    options : QueryOptions
    topic : str
        Where the worker tells the scheduler that it begins.
    path : str or None
        The file that the matches are written to; None: they are counted.
    whole_s : float
        A count that is expected to take longer is planned only, to be shared by the workers.
    """

    source: Source
    number: int
    pattern: Pattern
    options: QueryOptions
    topic: str = ""
    path: str | None = None
    whole_s: float = float("inf")


@dataclass(frozen=True)
class Shard:
    """Some first-level tasks of a question, or, with no range, the strategy that a walk is given up for.

    Attributes
    ----------
    question : Question
    plan : Plan, RowOutline or SumOutline
        That another worker has made.
    tasks : TaskRange or None
    number_of_tasks : int
        Of all shards, where they were planned.
    limit_s : float or None
        Seconds that are left.
    """

    question: Question
    plan: Plan | RowOutline | SumOutline
    tasks: TaskRange | None
    number_of_tasks: int
    limit_s: float | None = None


@dataclass(frozen=True)
class RowsShard(Question):
    """A question for the rows of some first-level tasks of a plan that another worker has made.

    Attributes
    ----------
    plan : Plan, RowOutline or SumOutline
    tasks : TaskRange
    number_of_tasks : int
        Of all shards, where they were planned.
    """

    plan: Plan | RowOutline | SumOutline | None = None
    tasks: TaskRange = NO_TASKS
    number_of_tasks: int = 0

    @classmethod
    def of_plan(cls, question: Question, shared: SharedPlan) -> RowsShard:
        """The question by a plan, for no tasks yet."""
        asked = {field.name: getattr(question, field.name) for field in dataclasses.fields(Question)}
        return cls(**asked, plan=shared.plan, number_of_tasks=shared.number_of_tasks)

    def of(self, tasks: TaskRange, number: int = 0, path: str | None = None) -> RowsShard:
        """The same question for other tasks, to be written to a file if there is one."""
        return dataclasses.replace(self, tasks=tasks, number=number, path=path)


class Absent(NamedTuple):
    """What the graph lacks of a question, in words.

    Attributes
    ----------
    labels : str or None
        Those of the pattern.
    ids : str or None
        Those of the arguments.
    """

    labels: str | None = None
    ids: str | None = None


NOTHING = Absent()


@dataclass(frozen=True)
class Answer:
    """What came of a question or of a shard.

    Attributes
    ----------
    value : int, Totals or None
        A count, what a shard adds up to, or the rows written; None where the status is not "done", or there is a plan.
    status, reason : str
    seconds : float
    worker : str
        Its address.
    absent : Absent
        What the graph lacks.
    shared : SharedPlan or None
        The plan of a question that is to be shared.
    """

    value: Any
    status: str
    reason: str
    seconds: float
    worker: str
    absent: Absent = NOTHING
    shared: SharedPlan | None = None
