"""A count by decomposition in words: the tables, the terms that are summed, and what they cost."""

from __future__ import annotations

from itertools import pairwise

from cusubmatch.plan.decomposition.expression import (
    DIAMOND_LINKS,
    ApexTree,
    CliqueTable,
    CycleTerm,
    EnumerateTerm,
    Indicator,
    Link,
    Pairs,
    PathTable,
    Product,
    RowSums,
)
from cusubmatch.plan.explain.words import duration, labels_text, vertex_names

__all__ = ["lines_of_tables"]

COST_COLUMN = 84  # where times stand
MAX_TERMS = 12  # written out
INNER_VERTICES = {2: "z", 3: "w, z"}  # of a path from x to y, by its links
PATH_ENDS = ("xz", "zy")  # of the links of a path of two between x and y
DIAMOND_ENDS = ("xw", "xz", "wz", "wy", "zy")  # of the links by way of two adjacent vertices
CYCLE_VERTICES = "abcde"


def lines_of_tables(plan) -> list[str]:
    """Lines about the tables of a plan, from the method to the cost."""
    return _TableText(plan).lines()


class _TableText:
    def __init__(self, plan):
        self.plan, self.tables = plan, plan.tables
        self.names = {node: f"T{i}" for i, node in enumerate(self.tables.used(), 1)}
        self.vertices = vertex_names(plan.pattern)

    def lines(self):
        tables, order = self.tables, self.plan.pattern.automorphisms.order
        terms = tables.decompositions[0].terms
        lines = [
            "method: variable elimination. The part of the pattern that is attached to a vertex x or to an edge (x, y)",
            "        becomes a table: a number for every vertex or edge of the graph. Tables let vertices coincide",
            "        that must differ: the quotients of the pattern, in which they coincide, are subtracted",
            "",
        ]
        lines += [self._row(self._table(node), tables.costs[tables.nodes[node]]) for node in self.names]
        lines += [""] if self.names else []
        unique = self.plan.unique and order > 1
        counted = f"embeddings, {order:,} for each match" if unique else "matches"
        lines.append(f"{counted}: the sum of")
        shown = sorted(terms.items(), key=lambda term: -abs(term[1]))[:MAX_TERMS]
        lines += [self._row(f"  {factor:+,} x {self._term(term)}", tables.costs[term]) for term, factor in shown]
        if len(terms) > len(shown):
            lines.append(f"  and {len(terms) - len(shown)} more terms of this kind")
        times = f"{duration(tables.cost)} {self.plan.where}, instead of {duration(tables.walking)} by walking"
        return [*lines, "", f"estimated time: {times}"]

    def _row(self, text, cost):
        return f"{text:<{COST_COLUMN}} ~{duration(cost)}"

    def _table(self, node):
        name = self.names[node]
        match self.tables.nodes[node]:
            case Indicator(key):
                return f"{name}(x, y) = 1 where {self._conditions(key)}, else 0"
            case RowSums(link) if link.plain:
                return f"{name}(x) = number of neighbours of x"
            case RowSums(link):
                return f"{name}(x) = sum over neighbours y of {self._link(link, 'x', 'y')}"
            case CliqueTable(links) if all(link.plain for link in links):
                return f"{name}(x, y) = number of w, z that form a clique with x and y, in both orders"
            case CliqueTable(links):
                product = self._product(links, DIAMOND_ENDS)
                return f"{name}(x, y) = sum over w, z that form a clique with x and y of {product}"
            case ApexTree(tree):
                vertices = [f"y{number}" for number in range(1, len(tree.below()) + 1)]
                return f"{name}(x) = sum over {', '.join(vertices)} of {self._tree(tree, vertices)}"
            case PathTable(links) if all(link.plain for link in links):
                return f"{name}(x, y) = number of paths {self._path(len(links))}"
            case PathTable(links):
                inner = INNER_VERTICES[len(links)]
                product = self._product(links, pairwise(["x", *inner.split(", "), "y"])) or "1"
                return f"{name}(x, y) = sum over paths {self._path(len(links))} of {product}"

    def _tree(self, tree, vertices):
        """The edges of a tree and of its apex, and what is multiplied along them."""
        edges, factors, names = [], [], iter(vertices)

        def visit(branch, parent):
            vertex = next(names)
            if parent is not None:
                edges.append(f"{parent}--{vertex}")
            factors.append(self._link(branch.link, parent, vertex))
            for chord in branch.chord:
                edges.append(f"x--{vertex}")
                factors.append(self._link(Link(chord), "x", vertex))
            for child in branch.branches:
                visit(child, vertex)

        visit(tree, None)
        return " ".join(filter(None, [f"[{', '.join(edges)}]", *factors]))

    @staticmethod
    def _path(links):
        return "--".join(["x", *INNER_VERTICES[links].split(", "), "y"])

    def _conditions(self, key):
        """What an indicator asks of y as seen from x, and of x as seen from y."""
        sides = [
            [text for relation in relations for text in self._relation(relation, *ends)] + self._filter(tested, ends[1])
            for (relations, tested), ends in zip(key, ("xy", "yx"), strict=True)
        ]
        return " and ".join(dict.fromkeys(sides[0] + sides[1])) or "x--y"

    def _filter(self, tested, end):
        return [] if tested is None else [f"{end} is a candidate of {self.vertices[tested]}"]

    def _relation(self, relation, here, there):
        edge_names, vertex_label_names = self.plan.label_names
        label = "" if relation.edge_labels is None else f"[:{labels_text(edge_names.get(relation.edge_labels))}]"
        line = f"-{label}-"
        edge = {"any": f"x{line}y", "out": f"{here}{line}>{there}", "in": f"{there}{line}>{here}"}[relation.direction]
        if relation.target_labels is None:
            return [edge]
        return [edge, f"{there} has label {labels_text(vertex_label_names.get(relation.target_labels))}"]

    def _link(self, link: Link, p, q):
        parts = [
            f"{self.names[node]}({q}, {p})" if transposed else f"{self.names[node]}({p}, {q})"
            for node, transposed in link.factors
        ]
        return " ".join([*parts, *(f"{self.names[node]}({q})" for node in link.weights)])

    def _product(self, links, ends):
        """The product of links from p to q; nothing if it is 1."""
        return " ".join(filter(None, (self._link(link, p, q) for link, (p, q) in zip(links, ends, strict=True))))

    def _term(self, term):
        match term:
            case Product(weights):
                product = " ".join(
                    f"{self.names[node]}(x){_power(weights.count(node))}" for node in dict.fromkeys(weights)
                )
                return f"sum over x of {product or '1'}"
            case CycleTerm(links):
                vertices = CYCLE_VERTICES[: len(links)]
                product = self._product(links, zip(vertices, vertices[1:] + vertices[:1], strict=True)) or "1"
                return f"sum over cycles {'--'.join(vertices)}--a of {product}"
            case EnumerateTerm(members):
                merged = ", ".join("=".join(self.vertices[v] for v in group) for group in members)
                return f"embeddings of the quotient {merged}, by walking"
            case Pairs(ends, paths, distinct):
                parts = [f"{self.names[node]}(x)" for node in ends[0]] + [f"{self.names[node]}(y)" for node in ends[1]]
                parts += [self._between(path) + _power(paths.count(path)) for path in dict.fromkeys(paths)]
                return f"sum over {'different ' if distinct else ''}x, y of {' '.join(parts)}"

    def _between(self, path):
        """The number of ways from x to y over one vertex, or over two adjacent ones."""
        diamond = len(path) == DIAMOND_LINKS
        middle = "edges w--z of common neighbours, both ways" if diamond else "common neighbours z"
        product = self._product(path, DIAMOND_ENDS if diamond else PATH_ENDS)
        return f"(sum over {middle} of {product})" if product else f"(number of {middle})"


def _power(exponent):
    return f"^{exponent}" if exponent > 1 else ""
