"""The joins that attach the columns of edges to matches: checked arguments, how many rows they make, and the rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.api.options import as_pattern
from cusubmatch.errors import GraphError
from cusubmatch.frames import Family, as_frame, family_of
from cusubmatch.graph.edge_list import check_ids, checked_name, edge_columns, label_codes
from cusubmatch.graph.labels import absent, codes_of_labels, labels_by_code, warn_absent
from cusubmatch.pattern import Pattern, PatternError

__all__ = ["Attachment", "EdgeJoin", "attachment_of"]

JOIN_KEYS = ("_source_", "_destination_")
CELL_BYTES = 8  # of a row in a column, about
COPIES = 3  # of a row that exist while rows are joined


class EdgeJoin(NamedTuple):
    """The rows that one pattern edge is joined with, and the columns of matches that are its ends."""

    ends: tuple[Hashable, Hashable]
    right: Any


class Attachment(NamedTuple):
    """Checked arguments: the joins, one for each pattern edge."""

    family: Family
    matches: Any
    joins: list[EdgeJoin]

    @property
    def width(self) -> int:
        """Columns of the result."""
        added = sum(len(self.family.column_names(join.right)) - len(JOIN_KEYS) for join in self.joins)
        return len(self.family.column_names(self.matches)) + added

    @property
    def row_bytes(self) -> int:
        """Bytes of a row while it is made, about."""
        return COPIES * CELL_BYTES * self.width

    def rows_of_matches(self) -> np.ndarray:
        """How many rows each match becomes: float64, so that no product is too large."""
        rows = np.ones(self.family.length(self.matches))
        for join in self.joins:
            partners = self.family.partners(self.matches, join.right, list(zip(join.ends, JOIN_KEYS, strict=True)))
            rows *= partners.get() if hasattr(partners, "get") else partners
        return rows

    def joined(self, matches: Any) -> Any:
        """Some matches with all columns."""
        for join in self.joins:
            matches = self.family.join(matches, join.right, list(zip(join.ends, JOIN_KEYS, strict=True)))
        return matches

    def batches(self, matches: Any, batch_rows: int) -> Iterator[Any]:
        """Ranges of matches that become at most so many rows, joined."""
        sums, begin, xp = np.cumsum(self.rows_of_matches()), 0, self.family.xp()
        names = self.family.column_names(matches)
        while begin < len(sums):
            reached = sums[begin - 1] if begin else 0.0
            end = max(begin + 1, int(np.searchsorted(sums, reached + batch_rows, "right")))
            if sums[end - 1] > reached:
                places = xp.arange(begin, end)
                part = {name: self.family.take(self.family.column(matches, name), places) for name in names}
                yield self.joined(self.family.frame(part))
            begin = end


def attachment_of(
    matches: Any,
    P: Pattern | str,
    edges: Any,
    columns: Sequence[Hashable] | None,
    source: Hashable | None,
    destination: Hashable | None,
    edge_label: Hashable | None,
) -> Attachment:
    """Check the arguments, and select what each pattern edge is joined with."""
    pattern = as_pattern(P, "pattern")
    family = family_of(matches)
    if family is None:
        raise TypeError(f"matches: expected a dataframe, got {type(matches).__name__}")
    edges = as_frame(edges)
    if family_of(edges) is not family:
        raise TypeError(f"edges: expected a {family.name} dataframe as matches is, got {type(edges).__name__}")
    table = _edge_table(edges, columns, source, destination, edge_label)
    for name in family.column_names(matches):
        checked_name(family, matches, name, "matches")
    labels, joins, taken = None, list[EdgeJoin](), set(family.column_names(matches))
    for edge in pattern.edges:
        first, second = pattern.names[edge.source], pattern.names[edge.target]
        if first is None or second is None:
            continue
        ends = (str(first), str(second)) if family.strings_only else (first, second)
        if missing := [end for end in ends if end not in family.column_names(matches)]:
            raise PatternError(f"matches: no column {missing[0]!r}; were they made with this pattern?")
        check_ids(family, table.ids | {"matches": family.column(matches, ends[0])})
        rows = table.frame
        if edge.labels is not None:
            labels = labels or _labels_of(table, pattern)
            rows = family.filter_equal(rows, edge_label, labels.those_of(edge.labels))
        titles = {f"{edge.name or f'{ends[0]}_{ends[1]}'}_{name}": name for name in table.columns}
        if clash := [title for title in titles if title in taken]:
            raise PatternError(f"pattern: two columns would be named {clash[0]!r}; name the edges, as in -[e1]->")
        taken.update(titles)
        joins.append(EdgeJoin(ends, _right_side(table, rows, titles, edge.directed)))
    return Attachment(family, matches, joins)


class _EdgeTable(NamedTuple):
    """The columns of the edge table that are used, and their names; `ids` holds both columns of ids."""

    family: Family
    frame: Any
    source: Hashable
    destination: Hashable
    label: Hashable | None
    columns: list[Hashable]
    ids: dict[str, Any]


def _edge_table(
    edges: Any,
    columns: Sequence[Hashable] | None,
    source: Hashable | None,
    destination: Hashable | None,
    edge_label: Hashable | None,
) -> _EdgeTable:
    """Check the names of columns, and select these."""
    family, edges, source, destination = edge_columns(edges, source, destination)
    if columns is not None and (isinstance(columns, str) or not isinstance(columns, Iterable)):
        raise TypeError(f"columns: expected a list of column names, got the {type(columns).__name__} {columns!r}")
    ids = {"source": family.column(edges, source), "destination": family.column(edges, destination)}
    check_ids(family, ids)
    if edge_label is not None:
        checked_name(family, edges, edge_label, "edge_label")
    keys = [source, destination, *([] if edge_label is None else [edge_label])]
    joined = [name for name in family.column_names(edges) if name not in keys] if columns is None else list(columns)
    for name in joined:
        checked_name(family, edges, name, "columns")
    frame = family.select(edges, {name: name for name in dict.fromkeys([*keys, *joined])})
    return _EdgeTable(family, frame, source, destination, edge_label, joined, ids)


class _EdgeLabels(NamedTuple):
    """The labels of an edge table: all values, and the number of each."""

    values: list[Any]
    codes: dict[Hashable, int]

    def those_of(self, wanted: Iterable[Hashable]) -> list[Any]:
        """The values that a pattern edge asks for."""
        return [self.values[code] for code in codes_of_labels(self.codes, wanted)]


def _labels_of(table: _EdgeTable, pattern: Pattern) -> _EdgeLabels:
    """The labels of the table; warns of those of the pattern that it lacks."""
    if table.label is None:
        raise GraphError("edge_label: the pattern has edge labels; name the column of edges that holds them")
    values = label_codes(table.family, table.frame, table.label, "edge_label")[1]
    labels = _EdgeLabels(values, labels_by_code(values))
    lacking = absent("edge", (edge.labels for edge in pattern.edges), labels.codes, values)
    warn_absent({"pattern": f"the column {table.label!r} has {', '.join(lacking)}" if lacking else None})
    return labels


def _right_side(table: _EdgeTable, rows: Any, titles: dict[str, Hashable], directed: bool) -> Any:
    """Rows of the edge table with their ends and, under new titles, their columns; both ways if undirected."""
    family = table.family
    sides = [(table.source, table.destination)]
    if not directed:
        sides.append((table.destination, table.source))
    parts = [family.select(rows, dict(zip(JOIN_KEYS, side, strict=True)) | titles) for side in sides]
    return family.concat(parts) if len(parts) > 1 else parts[0]
