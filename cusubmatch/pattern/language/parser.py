"""The parser of pattern texts: `(a:Account)-[:PAYS]->(b) WHERE a.risk > 3` becomes vertices, edges and conditions.

The grammar (`grammar.lark`) holds what openCypher, GQL and GraphFrames have in common. An error is one message that
marks the position. Mentions of one variable are one vertex; each `()` is a new one. What conditions need is imported
when a text has some.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Hashable, Mapping, Sequence
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

from cusubmatch.errors import PatternError
from cusubmatch.pattern.elements import Element, elements_of
from cusubmatch.pattern.language.names import quoted_value
from cusubmatch.pattern.language.syntax_errors import explain, mark
from cusubmatch.pattern.quantifiers import Quantifier, bounds_of

if TYPE_CHECKING:
    from cusubmatch.pattern.expressions import Expression

__all__ = ["ColumnValue", "ParsedExists", "ParsedMotif", "PatternEdge", "parse_condition", "parse_motif"]

BEGINNING_OF_CONDITIONS = "// Conditions"  # in the grammar
SIGN_OF_CONDITIONS = re.compile(r"[{*]|where|optional", re.IGNORECASE)


class PatternEdge(NamedTuple):
    """An edge between vertex indices. `labels` None: any label. In a `Pattern` undirected ones have source < target."""

    source: int
    target: int
    directed: bool
    labels: frozenset | None
    name: str | None


class ColumnValue(NamedTuple):
    """An inline property: a column of a vertex or edge, and the value that it must have."""

    element: Element
    column: str
    value: Expression


class ParsedExists(NamedTuple):
    """`EXISTS {...}`, or `NOT EXISTS {...}` if not `wanted`: a pattern of its own."""

    wanted: bool
    motif: ParsedMotif


class ParsedMotif(NamedTuple):
    """Vertices in order of first mention (name None: anonymous) with their labels, the edges, and what WHERE says."""

    names: list[str | None]
    labels: list[frozenset | None]
    edges: list[PatternEdge]
    properties: list[ColumnValue]
    conditions: list[Expression]
    quantifiers: list[Quantifier]
    optional: list[ParsedMotif]
    exists: list[ParsedExists]


def parse_motif(text: str) -> ParsedMotif:
    """Parse a pattern text.

    Parameters
    ----------
    text : str
        For example ``"(a:Account)-[:PAYS]->(b)-[:PAYS]->(a) WHERE a.country <> b.country"``.

    Returns
    -------
    ParsedMotif

    Raises
    ------
    PatternError
        If the text is not a motif, gives one vertex two different labels, or has a condition on what is not in the
        pattern.
    """
    if not isinstance(text, str):
        raise TypeError(f"text: expected a str such as '(a)-->(b)', got {type(text).__name__}")
    if not text.strip():
        raise PatternError(mark(text.strip(), 0, "the text is empty; write for example (a)-->(b)"))
    if SIGN_OF_CONDITIONS.search(text) is None:
        tree = _tree(_motif_parser(), text, "motif", "pattern")
        with contextlib.suppress(PatternError):  # it is raised again below, with its position
            return _MotifReader(text).read(tree)
    return _read_query(text, _tree(_parser(), text, "query", "pattern").children)


def _read_query(text, nodes):
    """The pattern that a motif, its conditions and its optional parts make."""
    motif, *rest = nodes
    parts = [node for node in rest if node.data == "optional"]
    conditions, exists = _without_exists(text, [node for node in rest if node.data != "optional"])
    read = _MotifReader(text).read(motif, conditions)
    read.optional.extend(_read_query(text, part.children) for part in parts)
    read.exists.extend(exists)
    return read


def _without_exists(text, nodes):
    """The conjuncts of conditions that are no EXISTS, and those that are."""
    conditions, exists = [], []
    parts = [part for whole in nodes for part in (whole.children if whole.data == "conjunction" else [whole])]
    for node in parts:
        negated = node.data == "negated" and node.children[0].data == "exists"
        if negated or node.data == "exists":
            inner = node.children[0] if negated else node
            exists.append(ParsedExists(not negated, _read_query(text, inner.children)))
        else:
            conditions.append(node)
    return conditions, exists


def parse_condition(
    text: str, elements: Mapping[Hashable, Sequence[Element]]
) -> tuple[list[Expression], list[ParsedExists]]:
    """Parse the text of a condition, such as ``"p.time < q.time"``, on some elements of a pattern.

    Returns
    -------
    conditions : list of Expression
        All of them must be true.
    exists : list of ParsedExists
    """
    from cusubmatch.pattern.language.expression_reader import ExpressionReader

    if not text.strip():
        raise PatternError(mark(text.strip(), 0, "the text is empty; write for example a.amount > 1000", "where"))
    tree = _tree(_parser(), text, "disjunction", "where")
    conditions, exists = _without_exists(text, [tree])
    reader = ExpressionReader(text, "where", elements)
    return [reader.read(node) for node in conditions], exists


def _tree(parser, text, start, argument):
    from lark.exceptions import UnexpectedInput

    try:
        return parser.parse(text, start)
    except UnexpectedInput as error:
        raise PatternError(explain(text, error, argument)) from None


@functools.cache
def _motif_parser():
    from lark import Lark

    grammar = _grammar().partition(BEGINNING_OF_CONDITIONS)[0]
    return Lark(grammar, start="motif", parser="lalr")  # without positions of nodes, which cost 40% of the time


@functools.cache
def _parser():
    from lark import Lark

    return Lark(_grammar(), start=["query", "disjunction"], parser="lalr", propagate_positions=True)


def _grammar():
    return resources.files("cusubmatch.pattern.language").joinpath("grammar.lark").read_text(encoding="utf-8")


class _MotifReader:
    """Collects the vertices, edges and conditions of one parsed text."""

    def __init__(self, text):
        self.text = text
        self.motif = ParsedMotif([], [], [], [], [], [], [], [])
        self.index = {}
        self.edge_names = set()
        self.quantified = SIGN_OF_CONDITIONS.search(text) is not None
        self.braces = []  # elements and what stands between their braces, to be read when all names are known

    def read(self, motif, conditions=()):
        for chain in motif.children:
            parts = chain.children
            previous = self._vertex(parts[0])
            for edge, vertex in zip(parts[1::2], parts[2::2], strict=True):
                here = self._vertex(vertex)
                self._edge(edge, previous, here)
                previous = here
        if self.braces or conditions:
            from cusubmatch.pattern.language.expression_reader import ExpressionReader

            reader = ExpressionReader(self.text, "pattern", elements_of(self.motif.names, self.motif.edges))
            for element, column, value in self.braces:
                self.motif.properties.append(ColumnValue(element, column, reader.read(value)))
            self.motif.conditions.extend(map(reader.read, conditions))
        return self.motif

    def _vertex(self, node):
        name, labels, properties = _contents(node)
        names, known = self.motif.names, self.motif.labels
        if name is None or name not in self.index:
            here = len(names)
            names.append(name)
            known.append(labels)
            if name is not None:
                self.index[name] = here
        else:
            here = self.index[name]
            if labels is not None and known[here] not in (None, labels):
                problem = f"vertex {name!r} is given two labels, {_text(known[here])} and {_text(labels)}"
                self._refuse(node, problem)
            known[here] = known[here] or labels
        if properties:
            self.braces += [(Element("vertex", here), *pair) for pair in properties]
        return here

    def _edge(self, node, before, after):
        name, labels, properties = None, None, ()
        for part in node.children:
            if part.data == "edge_body":
                name, labels, properties = _contents(part)
        if bounds := [*node.find_data("star"), *node.find_data("quantifier")] if self.quantified else ():
            self._quantifier(bounds, name is not None or properties)
        if name is not None:
            if name in self.edge_names:
                self._refuse(node, f"edge variable {name!r} is used twice")
            self.edge_names.add(name)
        source, target = (after, before) if node.data == "left" else (before, after)
        if source == target:
            self._refuse(node, "an edge from a vertex to itself: self loops are not matched")
        if properties:
            self.braces += [(Element("edge", len(self.motif.edges)), *pair) for pair in properties]
        self.motif.edges.append(PatternEdge(source, target, node.data != "either", labels, name))

    def _refuse(self, node, problem):
        raise PatternError(mark(self.text, getattr(node.meta, "start_pos", 0), problem))

    def _quantifier(self, nodes, has_name_or_properties):
        """The lengths of the path that the next edge stands for."""
        start, end = nodes[-1].meta.start_pos, nodes[-1].meta.end_pos
        if len(nodes) > 1:
            raise PatternError(mark(self.text, start, "the lengths of a path are given twice"))
        if has_name_or_properties:
            problem = "an edge that stands for a path has neither name nor properties"
            raise PatternError(mark(self.text, start, problem))
        try:
            least, most = bounds_of(self.text[start:end])
        except ValueError as error:
            raise PatternError(mark(self.text, start, str(error))) from None
        self.motif.quantifiers.append(Quantifier(len(self.motif.edges), least, most))


def _contents(node):
    """The name, the labels, and the columns with their values that stand between brackets."""
    name, labels, properties = None, None, ()
    for part in node.children:
        if part.data == "variable":
            name = quoted_value(str(part.children[0]))
        elif part.data == "label_part":
            labels = frozenset(quoted_value(str(label.children[0])) for label in part.children)
        elif part.data == "properties":
            pairs = (pair.children for pair in part.children)
            properties = [(quoted_value(str(column.children[0])), value) for column, value in pairs]
    return name, labels, properties


def _text(labels):
    return "|".join(sorted(labels))
