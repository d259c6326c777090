"""Words that the texts about plans share: times, vertex names and labels."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["duration", "labels_text", "vertex_names"]

MS_NS, S_NS = 1e6, 1e9


def duration(nanoseconds: float) -> str:
    """A time in seconds, or in milliseconds if it is shorter than one."""
    if nanoseconds < S_NS:
        return f"{nanoseconds / MS_NS:,.3g} ms"
    return f"{nanoseconds / S_NS:,.3g} s"


def vertex_names(pattern) -> list[str]:
    """The name of each pattern vertex; anonymous ones are numbered from 1."""
    return [str(name) if name is not None else f"()#{number}" for number, name in enumerate(pattern.names, 1)]


def labels_text(labels: Iterable | None) -> str:
    """Label alternatives as a pattern text has them."""
    return "|".join(sorted(map(str, labels))) if labels is not None else "any"
