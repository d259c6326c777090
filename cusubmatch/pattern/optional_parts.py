"""OPTIONAL and EXISTS parts: patterns of their own that share named vertices with the pattern they belong to.

A match is extended by each match of a part that agrees with it on the shared vertices; where a part has none, its new
columns are null. New vertices differ from those of the match, but for homomorphisms. Parts know nothing of each other:
a match with n1 and n2 extensions becomes max(1, n1) * max(1, n2) rows.

`EXISTS {...}` keeps a match if its part has a match that agrees with it on the shared vertices, `NOT EXISTS {...}` if
it has none. What exists is asked of the graph: new vertices differ from each other and from the shared ones, as the
semantics say, but may be other vertices of the match.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cusubmatch.errors import PatternError

__all__ = ["check_exists_parts", "check_optional_parts", "new_columns"]


def new_columns(names: Sequence, part) -> list:
    """The named vertices that a part adds to those of its pattern."""
    return [name for name in part.names if name is not None and name not in names]


def check_optional_parts(names: Sequence, edges: Sequence, parts: Sequence, largest: int) -> None:
    """Refuse parts that share nothing with their pattern, or names that stand for two things."""
    known = {*names, *(edge.name for edge in edges)} - {None}
    for part in parts:
        if not set(part.names).intersection(names) - {None}:
            own = ", ".join(repr(name) for name in names if name is not None)
            raise PatternError(f"pattern: OPTIONAL {part} is not connected to the rest; begin it with one of {own}")
        added = [*new_columns(names, part), *(edge.name for edge in part.edges if edge.name is not None)]
        for name in added:
            if name in known:
                raise PatternError(
                    f"pattern: the name {name!r} in OPTIONAL {part} has another meaning elsewhere; choose another"
                )
        known.update(added)
    if (size := len(names) + sum(len(part) for part in parts)) > largest:
        raise PatternError(f"pattern: with its OPTIONAL parts it has {size} vertices; at most {largest} are supported")


def check_exists_parts(names: Sequence, edges: Sequence, parts: Sequence[tuple[bool, Any]]) -> None:
    """Refuse parts that share nothing with their pattern, or new vertices that are called as one of its edges."""
    edge_names = {edge.name for edge in edges} - {None}
    for _, part in parts:
        if not set(part.names).intersection(names) - {None}:
            own = ", ".join(repr(name) for name in names if name is not None)
            raise PatternError(f"pattern: EXISTS {{ {part} }} is about nothing in the rest; name one of {own} in it")
        taken = [*new_columns(names, part), *(edge.name for edge in part.edges if edge.name is not None)]
        for name in taken:
            if name in edge_names or (name in names and name not in part.names):
                raise PatternError(
                    f"pattern: the name {name!r} in EXISTS {{ {part} }} has another meaning elsewhere; choose another"
                )
