"""What runs of an engine are to `execution`: their limits, what they count, the rows and samples that they give.

A run may take a range of the first-level tasks of its plan; the ranges of a partition, run anywhere and in any order,
add up to the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from cusubmatch.engines.factors.device_factors import MakeDeviceFactors

if TYPE_CHECKING:
    from cusubmatch.plan import Plan

__all__ = [
    "COPIED_S",
    "DEFAULT_OPTIONS",
    "ConditionedCount",
    "CopiedCount",
    "CopiedWay",
    "Count",
    "EliminatedCount",
    "ProgressCallback",
    "Run",
    "RunOptions",
    "Sampler",
    "StepsSpent",
    "TaskRange",
]

ProgressCallback = Callable[[float, int], None]

COPIED_S = 0.3  # that a copy is counted, at the most: others may wait for a device that they use in another way then


class CopiedWay(Enum):
    """How a copy of a candidate graph is counted on a device."""

    CONDITIONING = "by conditioning, on the whole device"
    CUTSETS = "on cutsets, in short launches"
    LONG_CONDITIONING = "by conditioning, on a part of the device"


class TaskRange(NamedTuple):
    """First-level tasks `begin` to `end` (exclusive) of a plan; see `Engine.number_of_tasks`."""

    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Limits and output of a run.

    Attributes
    ----------
    deadline : float or None
        Time (`time.monotonic`) after which the run raises `DeadlinePassed`.
    progress : callable or None
        Called as progress(fraction done, matches so far) a few times a second.
    block_rows : int or None
        Most rows of an output block; the engine has a limit of its own.
    first_rows : int or None
        Rows of the first blocks, if those are wanted soon; later ones are longer.
    ahead_rows : int
        Rows, about, that are found while the caller works on a block.
    enough : int or None
        The run stops when so many matches exist.
    then : callable or None
        `blocks` yields then(block) instead of a block. It is called before more work is launched.
    max_work : int or None
        Units of work after which a count on a candidate graph raises `StepsSpent`; sooner if these seem to be
        far too few, and after twice as many where half is done by then.
    watches : bool
        Whether a run on a device calls this thread's check (`system.deadlines`) while it waits for that.
    rivals : callable or None
        rivals() gives other plans for the same rows, where `enough` is set: the run may go over to one of them.
    ids : int64 (n,) or None
        By internal vertex what rows on a candidate graph hold instead of it. The blocks, as few as can be, are int64.
    """

    deadline: float | None = None
    progress: ProgressCallback | None = None
    block_rows: int | None = None
    first_rows: int | None = None
    ahead_rows: int = 0
    enough: int | None = None
    then: Callable[[Any], Any] | None = None
    max_work: int | None = None
    watches: bool = False
    rivals: Callable[[], Iterable[Plan]] | None = None
    ids: Any = None


DEFAULT_OPTIONS = RunOptions()


class Count(Protocol):
    """One count, by any strategy.

    Attributes
    ----------
    matches : int or None
        Matches found so far; None where they are counted in parts.
    """

    matches: int | None

    def count(self) -> int:
        """The number of matches, of all tasks; raises `DeadlinePassed`."""
        ...

    def total(self) -> int:
        """What a range of tasks adds up to; raises `DeadlinePassed`. Totals of ranges add."""
        ...


class Run(Count, Protocol):
    """One execution of a plan on a range of its first-level tasks; `Plan.matches_of` makes a count of its total."""

    def blocks(self) -> Iterator[Any]:
        """Blocks of matches, int32 (named pattern vertices, rows), internal vertices; closing it stops the run."""
        ...

    @property
    def ready(self) -> bool:
        """Whether the next of `blocks` is there without a wait."""
        ...


class Sampler(Protocol):
    """Counts of tasks, and the matches at given ranks of tasks."""

    def counts(self) -> list[int]:
        """The number of matches of each task; raises `DeadlinePassed`."""
        ...

    def rows(self, ranks: Mapping[int, Sequence[int]]) -> Any:
        """The matches at ranks of tasks: int32 (pattern vertices, ranks), internal vertices, in host memory."""
        ...


class StepsSpent(Exception):
    """A count takes more steps than it was allowed.

    Attributes
    ----------
    times : float
        How many times as many it takes, about, as far as that is known.
    """

    def __init__(self, times: float = 1.0):
        super().__init__()
        self.times = times


class ConditionedCount(Count, Protocol):
    """A count by conditioning.

    Attributes
    ----------
    steps : int
        Candidates tried so far, about.
    threads : int
        That count, about.
    yields : bool
        Whether most of the cores are left to what else counts; it may be set at any time.
    between_turns : callable or None
        Called with this count by the thread that counts, now and then, while other threads go on; not once all that is
        left is to be done a second time. After an exception of it, `total` goes on where it has stopped.
    """

    steps: int
    threads: int
    yields: bool
    between_turns: Callable[[ConditionedCount], None] | None

    @property
    def steps_left(self) -> int:
        """Candidates that are left to try, about, if they go on like those so far."""
        ...


class CopiedCount(Protocol):
    """A count on a copy of a candidate graph, which has begun.

    Attributes
    ----------
    remaining_s : float
        Seconds until the number is known, about; less than 0 if it was expected before, infinite if it is not known.
    """

    @property
    def remaining_s(self) -> float: ...

    @property
    def ended(self) -> bool:
        """Whether nothing goes on any more."""
        ...

    def poll(self) -> int | None:
        """The number of embeddings, once it is known; None for ever if it was ended before, or is too large."""
        ...

    def stop(self) -> None:
        """Let it end soon."""
        ...


class EliminatedCount(Count, Protocol):
    """A count by elimination.

    Attributes
    ----------
    cost, max_cost : float
        Nanoseconds spent so far, about, and the most that may be spent.
    when_spent : callable
        Called when these are spent; it raises `max_cost`, has it raised, or raises an exception.
    preparation : float
        Nanoseconds that it waits for a compiler before it begins, about.
    has_bound : bool
        Whether it knows the number of homomorphisms, about, which comes first.
    beside : bool
        Whether a core is free for it while the caller counts in another way.
    yields : bool
        Whether all cores but one are left to what else counts; it may be set at any time.
    device : callable, optional
        device(fields, kinds, check) begins to use a device for large factors (`Engine.factors`).
    """

    device: MakeDeviceFactors | None
    cost: float
    max_cost: float
    when_spent: Callable[[], None]
    preparation: float
    has_bound: bool
    beside: bool
    yields: bool
