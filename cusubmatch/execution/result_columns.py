"""What results have in common: the names of their columns, and the memory that they may take."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from cusubmatch.graph import Graph
from cusubmatch.pattern import Pattern, PatternError
from cusubmatch.system.host_memory import available_memory

__all__ = ["BLOCKS_AT_ONCE", "names_of_columns", "result_budget"]

BLOCKS_AT_ONCE = 32  # blocks of rows that exist at the same time under a memory limit, about


def names_of_columns(graph: Graph, pattern: Pattern) -> list[Hashable]:
    """Names of the columns of a pattern's matches."""
    names = pattern.columns
    if not names:
        raise PatternError("pattern: all its vertices are anonymous, so a match has no columns; name at least one")
    if graph.family.strings_only:
        names = [str(name) for name in names]
        if len(set(names)) < len(names):
            raise PatternError(f"pattern: vertex names must differ as text to become {graph.family.name} columns")
    return names


def free_bytes(xp: Any) -> int:
    """Memory that is left where arrays of `xp` lie."""
    if xp is np:
        return available_memory()
    return xp.cuda.runtime.memGetInfo()[0] + xp.get_default_memory_pool().free_bytes()


def result_budget(memory_limit: int | None, xp: Any) -> int:
    """Bytes that a result may take where arrays of `xp` lie: all but a quarter of what is free, by default."""
    return int(memory_limit) if memory_limit is not None else 3 * free_bytes(xp) // 4
