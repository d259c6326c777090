"""The text of a pattern: what `repr` and notebooks show."""

from __future__ import annotations

__all__ = ["pattern_texts"]


def pattern_texts(pattern) -> tuple[list[str], str]:
    """The text of each edge, or of the only vertex, and that of the pairs that must differ."""
    vertices = [_vertex_text(name, labels) for name, labels in zip(pattern.names, pattern.labels, strict=True)]
    if not pattern.edges:
        return vertices, ""
    parts = []
    for source, target, directed, labels, name in pattern.edges:
        inside = f"{name or ''}{_labels_text(labels)}"
        line = f"-[{inside}]-" if inside else "--"
        parts.append(f"{vertices[source]}{line}{'>' if directed else ''}{vertices[target]}")
    pairs = (f"{pattern.names[a]}, {pattern.names[b]}" for a, b in sorted(pattern.distinct))
    return parts, f"; distinct {', '.join(pairs)}" if pattern.distinct else ""


def _vertex_text(name, labels):
    return f"({'' if name is None else name}{_labels_text(labels)})"


def _labels_text(labels):
    return "" if labels is None else ":" + "|".join(sorted(map(str, labels)))
