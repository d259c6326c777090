"""The text of a pattern: what `repr` and notebooks show, and the canonical text, which can be parsed again."""

from __future__ import annotations

import html

from cusubmatch.pattern.elements import Element, generated_name
from cusubmatch.pattern.language.names import edge_text, labels_text, name_text

__all__ = ["PatternTexts", "canonical_text", "pattern_texts"]


class PatternTexts:
    """How a pattern is shown."""

    def __repr__(self) -> str:
        edges, rest = pattern_texts(self)
        return f"Pattern({', '.join(edges)}{rest})"

    def __str__(self) -> str:
        """The canonical text: `Pattern.parse` makes an equal pattern of it."""
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
    parts, _, conditions = _parts(pattern)
    pairs = (f"{pattern.names[a]}, {pattern.names[b]}" for a, b in sorted(pattern.distinct))
    optional = "".join(f" OPTIONAL {part}" for part in pattern.optional)
    return parts, _where_text(conditions, pattern.exists) + optional + (
        f"; distinct {', '.join(pairs)}" if pattern.distinct else ""
    )


def canonical_text(pattern) -> str:
    """The text that `Pattern.parse` makes an equal pattern of; anonymous vertices have two edges at most there."""
    parts, order, conditions = _parts(pattern)
    mentioned = dict.fromkeys(order)
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
    from cusubmatch.pattern.expressions import And
    from cusubmatch.pattern.language.expression_text import expression_text

    whole = And(tuple(conditions)) if len(conditions) + len(inner) > 1 else conditions[0]
    return f" WHERE {' AND '.join([expression_text(whole), *inner])}"


def _parts(pattern):
    """The texts of the edges, or of the only vertex, the vertices in their order there, and the other conditions."""
    inline, conditions = _inline_texts(pattern) if pattern.conditions else ({}, [])

    def properties(kind, index):
        columns = inline.get(generated_name(Element(kind, index)))
        return f"{{{', '.join(columns)}}}" if columns else ""

    vertices = []
    for index, (name, labels) in enumerate(zip(pattern.names, pattern.labels, strict=True)):
        shown = f"{'' if name is None else _name_text(name)}{labels_text(labels)}"
        vertices.append(f"({' '.join(part for part in (shown, properties('vertex', index)) if part)})")
    if not pattern.edges:
        return vertices, [0], conditions
    bounds = {edge: f"{{{least},{most}}}" for edge, least, most in pattern.quantifiers}

    def step(index, here):
        """The text of an edge that is left at one of its ends, and the vertex that it leads to."""
        source, target, directed, labels, name = pattern.edges[index]
        text = edge_text(directed, labels, name, properties("edge", index))
        if here != source and directed:
            text = f"<{text.removesuffix('>')}"
        return text + bounds.get(index, ""), target if here == source else source

    texts, order = [], []
    for run, here in _runs(pattern):
        text = vertices[here]
        order.append(here)
        for index in run:
            edge, here = step(index, here)  # noqa: PLW2901
            text += edge + vertices[here]
            order.append(here)
        texts.append(text)
    return texts, order, conditions


def _runs(pattern):
    """The edges as chains, each with the vertex that it begins at: an anonymous vertex is mentioned once."""
    index, edges = 0, pattern.edges
    while index < len(edges):
        run, ends = [index], edges[index][:2]
        anonymous = [vertex for vertex in ends if pattern.names[vertex] is None]
        here = min(ends) if anonymous else edges[index].source
        at = None
        while run[-1] + 1 < len(edges):
            following = edges[run[-1] + 1][:2]
            shared = [v for v in following if v in anonymous and (at is None or v == at)]
            if not shared:
                break
            if at is None:
                here = next(vertex for vertex in ends if vertex != shared[0])
            at = next(vertex for vertex in following if vertex != shared[0])
            anonymous = [at] if pattern.names[at] is None else []
            run.append(run[-1] + 1)
        yield run, here
        index = run[-1] + 1


def _inline_texts(pattern):
    """The properties of each anonymous element as texts, and all other conditions."""
    from cusubmatch.pattern.expressions import Comparison, Property
    from cusubmatch.pattern.language.expression_text import value_text

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
