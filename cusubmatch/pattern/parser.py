"""The parser of pattern texts: `(a:Account)-[:PAYS]->(b), (b)--(c)` becomes vertices and edges.

The grammar (`grammar.lark`) holds what openCypher, GQL and GraphFrames have in common. An error is one message that
marks the position. Mentions of one variable are one vertex; each `()` is a new one.
"""

from __future__ import annotations

import functools
from importlib import resources
from typing import NamedTuple

from cusubmatch.errors import PatternError

__all__ = ["ParsedMotif", "PatternEdge", "parse_motif"]

MAX_SHOWN_CHARACTERS = 100  # of the line that an error message shows


class PatternEdge(NamedTuple):
    """An edge between vertex indices. `labels` None: any label. In a `Pattern` undirected ones have source < target."""

    source: int
    target: int
    directed: bool
    labels: frozenset | None
    name: str | None


class ParsedMotif(NamedTuple):
    """Vertices in order of first mention (name None: anonymous) with their labels, and the edges."""

    names: list[str | None]
    labels: list[frozenset | None]
    edges: list[PatternEdge]


def parse_motif(text: str) -> ParsedMotif:
    """Parse a pattern text.

    Parameters
    ----------
    text : str
        For example ``"(a:Account)-[:PAYS]->(b)-[:PAYS]->(a)"``.

    Returns
    -------
    ParsedMotif

    Raises
    ------
    PatternError
        If the text is not a motif, is negated or of variable length, or gives one vertex two different labels.
    """
    if not isinstance(text, str):
        raise TypeError(f"text: expected a str such as '(a)-->(b)', got {type(text).__name__}")
    if not text.strip():
        raise PatternError(_mark(text.strip(), 0, "the text is empty; write for example (a)-->(b)"))
    from lark.exceptions import UnexpectedInput

    try:
        tree = _parser().parse(text)
    except UnexpectedInput as error:
        raise PatternError(_explain(text, error)) from None
    return _Reader(text).read(tree)


@functools.cache
def _parser():
    from lark import Lark

    grammar = resources.files("cusubmatch.pattern").joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, start="motif", parser="lalr", propagate_positions=True)


class _Reader:
    """Collects the vertices and edges of one parsed text."""

    def __init__(self, text):
        self.text = text
        self.motif = ParsedMotif([], [], [])
        self.index = {}
        self.edge_names = set()

    def read(self, tree):
        for chain in tree.children:
            parts = chain.children
            previous = self._vertex(parts[0])
            for edge, vertex in zip(parts[1::2], parts[2::2], strict=True):
                here = self._vertex(vertex)
                self._edge(edge, previous, here)
                previous = here
        return self.motif

    def _vertex(self, node):
        name, labels = _variable_and_labels(node)
        names, known = self.motif.names, self.motif.labels
        if name is None or name not in self.index:
            names.append(name)
            known.append(labels)
            if name is not None:
                self.index[name] = len(names) - 1
            return len(names) - 1
        here = self.index[name]
        if labels is not None and known[here] not in (None, labels):
            problem = f"vertex {name!r} is given two labels, {_text(known[here])} and {_text(labels)}"
            raise PatternError(_mark(self.text, node.meta.start_pos, problem))
        known[here] = known[here] or labels
        return here

    def _edge(self, node, before, after):
        name, labels = _variable_and_labels(node.children[0]) if node.children else (None, None)
        if name is not None:
            if name in self.edge_names:
                raise PatternError(_mark(self.text, node.meta.start_pos, f"edge variable {name!r} is used twice"))
            self.edge_names.add(name)
        source, target = (after, before) if node.data == "left" else (before, after)
        if source == target:
            problem = "an edge from a vertex to itself: self loops are not matched"
            raise PatternError(_mark(self.text, node.meta.start_pos, problem))
        self.motif.edges.append(PatternEdge(source, target, node.data != "either", labels, name))


def _variable_and_labels(node):
    name = labels = None
    for part in node.children:
        words = [str(child.children[0] if hasattr(child, "children") else child).strip("`") for child in part.children]
        if part.data == "variable":
            name = words[0]
        else:
            labels = frozenset(words)
    return name, labels


def _text(labels):
    return "|".join(sorted(labels))


def _explain(text, error):
    position = getattr(error, "pos_in_stream", None)
    token = getattr(error, "token", None)
    if position is None or position < 0 or (token is not None and token.type == "$END"):
        position = len(text.rstrip())
    here = text[position : position + 1]
    if here == "!":
        return _mark(text, position, "a negated part (!) is not supported yet")
    if here == "*":
        return _mark(text, position, "a variable-length edge (*) is not supported yet")
    if not here:
        return _mark(text, position, "the pattern ends too early")
    return _mark(text, position, f"cannot read {here!r} here; write for example (a:Label)-[:TYPE]->(b), (b)--(c)")


def _mark(text, position, problem):
    line_start = text.rfind("\n", 0, position) + 1
    line = text[line_start:].split("\n", 1)[0]
    if (cut := position - line_start - MAX_SHOWN_CHARACTERS // 2) > 0:  # of a long line the part around the position
        line, line_start = line[cut:], line_start + cut
    line = line[:MAX_SHOWN_CHARACTERS]
    return f"pattern: {problem} (at character {position + 1})\n  {line}\n  {' ' * (position - line_start)}^"
