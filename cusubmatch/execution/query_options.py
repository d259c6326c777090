"""What a call asks for beside its graph and its pattern, as one value.

The public functions make it of their arguments, and `api/options.py` checks it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["QueryOptions"]

FEW_ROWS = 1 << 20  # rows that take milliseconds to find


@dataclass(frozen=True, slots=True)
class QueryOptions:
    """The options of a call.

    Attributes
    ----------
    semantics : str
        One of `plan.SEMANTICS`.
    unique : bool or None
        One match per orbit rather than every embedding; None: the default of the semantics.
    engine : str
        "auto", "cpu" or "gpu".
    time_limit : float or None
        Seconds.
    counting : bool
        Whether matches are counted rather than listed.
    limit : int or None
        Most rows.
    memory_limit : int or None
        Bytes for rows.
    progress : callable, bool or None
        What is told how far the work is; True: a line on stderr.
    sort : bool
        Whether rows come in the order of the ids.
    suffix : int or None
        The length of the suffix that is counted by inclusion-exclusion; None: the cheapest.
    by_trial : bool
        Whether plans may be chosen by timing samples; without, each call has the same plan, by estimates alone.
    warn_of_absent_labels : bool
        Whether a label that occurs nowhere in the graph, or an id that is not in it, gives a warning.
    params : mapping or None
        The values of the pattern's parameters.
    candidates : mapping or None
        Ids that the image of a vertex must be among, by its name; `api/options.py` makes it a mapping of pattern
        vertices to arrays of internal vertices.
    touching : ids or None
        Ids at least one of which each match must have; likewise made an array of internal vertices.
    edges : {"any", "each"}
        Whether a match is its vertices, or has a row of the edge table for each named edge.
    edge_id : str or None
        The column of the edge table that names a row in the result; None: its position.
    devices : str, int, sequence of int or None
        The GPUs that share the search: "all", how many, or their numbers; None: the current one.
    """

    semantics: str = "monomorphism"
    unique: bool | None = None
    engine: str = "auto"
    time_limit: float | None = None
    counting: bool = True
    limit: int | None = None
    memory_limit: int | None = None
    progress: Callable[[float, int], object] | bool | None = None
    sort: bool = False
    suffix: int | None = None
    by_trial: bool = True
    warn_of_absent_labels: bool = True
    params: Mapping[str, Any] | None = None
    candidates: Mapping[Any, Any] | None = None
    touching: Any = None
    edges: str = "any"
    edge_id: Any = None
    devices: Any = None

    @property
    def few_rows(self) -> bool:
        """Whether any few rows are wanted, which a search for a better plan would take longer than."""
        some = self.limit is not None and self.limit <= FEW_ROWS
        return some and not self.counting and not self.sort and self.touching is None

    @property
    def one_per_orbit(self) -> bool:
        """Whether a match stands for its orbit."""
        return self.semantics != "homomorphism" if self.unique is None else bool(self.unique)
