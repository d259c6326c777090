"""What a job knows of its questions: the tasks on the cluster, the questions that are shared, and the results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cusubmatch.dask.workers.questions import NOTHING, Absent, Answer, Question, Shard
from cusubmatch.execution.shared_plan import SharedPlan

__all__ = ["JobTask", "Result", "Sharing", "result_of"]


@dataclass(frozen=True)
class Result:
    """What came of a question: a count or rows, or why there is none."""

    number: int
    value: int | None
    seconds: float
    worker: str
    attempts: int
    status: str
    reason: str
    absent: Absent = NOTHING
    lost: bool = False


@dataclass
class Sharing:
    """A question that the workers share."""

    question: Question
    shared: SharedPlan
    begun: float
    total: Any = 0  # an int, or Totals
    seconds: float = 0.0
    open: dict[Any, float] = field(default_factory=dict)  # weights of the shards that are not done, by key
    given_up: bool = False  # the walk, for another strategy
    absent: Absent = NOTHING


@dataclass
class JobTask:
    """A task on the cluster: what is asked, and how often its workers were lost when it was alone.

    A batch of questions, as a tuple, is one task; `question` is its first.
    """

    work: Question | Shard | tuple[Question, ...]
    question: Question
    kind: Callable[..., Any]
    arguments: tuple = ()
    alone: bool = False
    tries_alone: int = 0


def result_of(number: int, found: Answer, seconds: float, absent: Absent) -> Result:
    """The result of a question from its answer."""
    return Result(number, found.value, seconds, found.worker, 1, found.status, found.reason, absent)
