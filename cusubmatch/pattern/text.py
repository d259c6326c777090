"""The text of a pattern: what `repr` and notebooks show, and the canonical text, which can be parsed again."""

from __future__ import annotations

import html

from cusubmatch.pattern.elements import Element, generated_name
from cusubmatch.pattern.names import edge_text, labels_text, name_text

__all__ = ["PatternTexts", "canonical_text", "pattern_texts"]


class PatternTexts:
    """How a pattern is shown."""

    def __repr__(self) -> str:
        edges, rest = pattern_texts(self)
        return f"Pattern({', '.join(edges)}{rest})"

    def __str__(self) -> str:
        """The canonical text: `Pattern.parse` makes an equal pattern of it, if all vertices have names."""
        return canonical_text(self)

    def _repr_pretty_(self, printer, _cycle) -> None:
        """Print the same text as `repr` in IPython, broken into lines."""
        edges, rest = pattern_texts(self)
        with printer.group(len("Pattern("), "Pattern(", f"{rest})"):
            for index, edge in enumerate(edges):
                if index:
                    printer.text(",")
                    printer.breakable()
                printer.text(edge)

    def _repr_html_(self) -> str:
        return f"<code>{html.escape(repr(self))}</code>"


def pattern_texts(pattern) -> tuple[list[str], str]:
    """The text of each edge, or of the only vertex, and that of the conditions and the pairs that must differ."""
    parts, conditions = _parts(pattern)
    pairs = (f"{pattern.names[a]}, {pattern.names[b]}" for a, b in sorted(pattern.distinct))
    optional = "".join(f" OPTIONAL {part}" for part in pattern.optional)
    return parts, _where_text(conditions, pattern.exists) + optional + (
        f"; distinct {', '.join(pairs)}" if pattern.distinct else ""
    )


def canonical_text(pattern) -> str:
    """The text that `Pattern.parse` makes an equal pattern of, if all vertices have names."""
    parts, conditions = _parts(pattern)
    mentioned = dict.fromkeys(vertex for edge in pattern.edges for vertex in edge[:2])
    if list(mentioned) != sorted(mentioned):  # vertices are numbered in order of first mention
        parts = [*(f"({_name_text(name)})" for name in pattern.names if name is not None), *parts]
    optional = "".join(f" OPTIONAL {part}" for part in pattern.optional)
    return ", ".join(parts) + _where_text([*conditions, *_differences(pattern)], pattern.exists) + optional


def _differences(pattern):
    """The pairs that must differ, as conditions."""
    if not pattern.distinct:
        return []
    from cusubmatch.pattern.expressions import Comparison, VertexId

    names = pattern.names
    return [Comparison("<>", VertexId(str(names[a])), VertexId(str(names[b]))) for a, b in sorted(pattern.distinct)]


def _where_text(conditions, exists):
    if not conditions and not exists:
        return ""
    inner = [f"{'' if wanted else 'NOT '}EXISTS {{ {part} }}" for wanted, part in exists]
    if not conditions:
        return f" WHERE {' AND '.join(inner)}"
    from cusubmatch.pattern.expression_text import expression_text
    from cusubmatch.pattern.expressions import And

    whole = And(tuple(conditions)) if len(conditions) + len(inner) > 1 else conditions[0]
    return f" WHERE {' AND '.join([expression_text(whole), *inner])}"


def _parts(pattern):
    """The texts of the edges, or of the only vertex, and the conditions that do not stand in them."""
    inline, conditions = _inline_texts(pattern) if pattern.conditions else ({}, [])

    def properties(kind, index):
        columns = inline.get(generated_name(Element(kind, index)))
        return f"{{{', '.join(columns)}}}" if columns else ""

    vertices = []
    for index, (name, labels) in enumerate(zip(pattern.names, pattern.labels, strict=True)):
        shown = f"{'' if name is None else _name_text(name)}{labels_text(labels)}"
        vertices.append(f"({' '.join(part for part in (shown, properties('vertex', index)) if part)})")
    if not pattern.edges:
        return vertices, conditions
    bounds = {edge: f"{{{least},{most}}}" for edge, least, most in pattern.quantifiers}
    edges = [
        vertices[source]
        + edge_text(directed, labels, name, properties("edge", index))
        + bounds.get(index, "")
        + vertices[target]
        for index, (source, target, directed, labels, name) in enumerate(pattern.edges)
    ]
    return edges, conditions


def _inline_texts(pattern):
    """The properties of each anonymous element as texts, and all other conditions."""
    from cusubmatch.pattern.expression_text import value_text
    from cusubmatch.pattern.expressions import Comparison, Property

    anonymous = {
        generated_name(Element(kind, index))
        for kind, names in (("vertex", pattern.names), ("edge", [edge.name for edge in pattern.edges]))
        for index, name in enumerate(names)
        if name is None
    }
    inline: dict[str, list[str]] = {}
    conditions = []
    for condition in pattern.conditions:
        match condition:
            case Comparison("=", Property(element, column), value) if element in anonymous:
                inline.setdefault(element, []).append(f"{name_text(column)}: {value_text(value)}")
            case _:
                conditions.append(condition)
    return inline, conditions


def _name_text(name):
    return name_text(str(name))
