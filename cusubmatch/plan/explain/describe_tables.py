"""A count by decomposition in words: what each table says, what is added up in the end, and what it all costs."""

from __future__ import annotations

from itertools import pairwise

from cusubmatch.plan.decomposition.expression import (
    BRIDGE,
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

__all__ = ["lines_of_tables"]

COLUMN = 84  # where costs stand
MOST_TERMS = 12  # written out
WAYS = {2: "z", 3: "w, z"}
OVER_ONE = ("xz", "zy")  # the links between x and y by way of a vertex,
OVER_TWO = ("xw", "xz", "wz", "wy", "zy")  # and of two that are adjacent


def lines_of_tables(plan) -> list[str]:
    """Lines about the tables of a plan, from the method to the cost."""
    return _Text(plan).lines()


class _Text:
    def __init__(self, plan):
        self.plan, self.tables = plan, plan.tables
        self.names = {node: f"T{i}" for i, node in enumerate(self.tables.used(), 1)}

    def lines(self):
        tables, order = self.tables, self.plan.pattern.automorphisms.order
        terms = tables.decompositions[0].terms
        lines = [
            "method: what hangs at a vertex or at an edge becomes a table and is folded into the rest; where that lets",
            "        vertices coincide that must differ, smaller patterns are taken off again; cycles are counted from",
            "        their vertex of highest degree",
            "",
        ]
        lines += [self._row(self._table(node), tables.costs[tables.nodes[node]]) for node in self.names]
        lines += [""] if self.names else []
        unique = self.plan.unique and order > 1
        sign = f"embeddings, {order:,} a match" if unique else "matches"
        lines.append(f"{sign}: the sum of")
        shown = sorted(terms.items(), key=lambda term: -abs(term[1]))[:MOST_TERMS]
        lines += [self._row(f"  {many:+,} x {self._term(term)}", tables.costs[term]) for term, many in shown]
        if len(terms) > len(shown):
            lines.append(f"  and {len(terms) - len(shown)} more terms of this kind")
        times = f"{tables.cost / 1e9:,.3g} s {self.plan.where}, against {tables.walking / 1e9:,.3g} s by walking"
        return [*lines, "", f"estimated work: {times}"]

    def _row(self, text, cost):
        return f"{text:<{COLUMN}} ~{cost / 1e6:,.3g} ms"

    def _table(self, node):
        name = self.names[node]
        match self.tables.nodes[node]:
            case Indicator(key):
                return f"{name}(x, y) = 1 where {self._asked(key)}"
            case RowSums(link) if link.plain:
                return f"{name}(x) = the neighbours of x"
            case RowSums(link):
                return f"{name}(x) = sum over neighbours y of {self._link(link, 'x', 'y')}"
            case CliqueTable(links) if all(link.plain for link in links):
                return f"{name}(x, y) = the w, z that make a clique with x and y, in both orders"
            case CliqueTable(links):
                return (
                    f"{name}(x, y) = sum over w, z that make a clique with x and y of {self._product(links, OVER_TWO)}"
                )
            case ApexTree(tree):
                stops = self._stops(tree)
                return f"{name}(x) = sum over {', '.join(stops.values())} of {self._tree(tree, stops)}"
            case PathTable(links) if all(link.plain for link in links):
                return f"{name}(x, y) = the {WAYS[len(links)]} with {self._path(len(links))}, all different"
            case PathTable(links):
                stops = ["x", *WAYS[len(links)].split(", "), "y"]
                product = self._product(links, pairwise(stops)) or "1"
                return f"{name}(x, y) = sum over {WAYS[len(links)]} with {self._path(len(links))} of {product}"

    @staticmethod
    def _stops(tree):
        """The names of a tree's vertices, by their places in it."""
        return {place: f"y{place + 1}" for place in range(len(tree.below()))}

    def _tree(self, tree, stops):
        """The edges of a tree and of its apex, and what is multiplied along them."""
        ways, parts, place = [], [], -1

        def visit(branch, parent):
            nonlocal place
            place += 1
            here = stops[place]
            if parent is not None:
                ways.append(f"{parent}--{here}")
            parts.append(self._link(branch.link, parent, here))
            for chord in branch.chord:
                ways.append(f"x--{here}")
                parts.append(self._link(Link(chord), "x", here))
            for child in branch.branches:
                visit(child, here)

        visit(tree, None)
        return " ".join(filter(None, [f"[{', '.join(ways)}]", *parts]))

    @staticmethod
    def _path(steps):
        return "--".join(["x", *WAYS[steps].split(", "), "y"])

    def _asked(self, key):
        sides = [
            ", ".join([*(self._relation(relation) for relation in relations), *self._filter(tested)]) or "any"
            for relations, tested in key
        ]
        return f"y to x is {sides[0]}; x to y is {sides[1]}"

    def _filter(self, tested):
        if tested is None:
            return []
        name = self.plan.pattern.names[tested]
        return [f"in the filter of {name if name is not None else f'()#{tested + 1}'}"]

    @staticmethod
    def _relation(relation):
        marks = [
            {"any": "a neighbour", "out": "at the head of an edge", "in": "at the tail of an edge"}[relation.direction]
        ]
        if relation.edge_labels is not None:
            marks.append(f"edge label {sorted(relation.edge_labels)}")
        if relation.target_labels is not None:
            marks.append(f"label {sorted(relation.target_labels)}")
        return " ".join(marks)

    def _link(self, link: Link, p, q):
        parts = [
            f"{self.names[node]}({q}, {p})" if transposed else f"{self.names[node]}({p}, {q})"
            for node, transposed in link.factors
        ]
        return " ".join([*parts, *(f"{self.names[node]}({q})" for node in link.weights)])

    def _product(self, links, ways):
        """What links from p to q are multiplied to; nothing if that is 1."""
        return " ".join(filter(None, (self._link(link, p, q) for link, (p, q) in zip(links, ways, strict=True))))

    def _term(self, term):
        match term:
            case Product(weights):
                product = " ".join(
                    f"{self.names[node]}(x){_power(weights.count(node))}" for node in dict.fromkeys(weights)
                )
                return f"sum over x of {product or '1'}"
            case CycleTerm(links):
                stops = "abcde"[: len(links)]
                product = self._product(links, zip(stops, stops[1:] + stops[:1], strict=True)) or "1"
                return f"sum over cycles {'--'.join(stops)}--a of {product}"
            case EnumerateTerm(members):
                names = [
                    str(name) if name is not None else f"()#{i}" for i, name in enumerate(self.plan.pattern.names, 1)
                ]
                return f"all walks with {', '.join('='.join(names[v] for v in some) for some in members)}"
            case Pairs(ends, paths, apart):
                parts = [f"{self.names[node]}(x)" for node in ends[0]] + [f"{self.names[node]}(y)" for node in ends[1]]
                for path in dict.fromkeys(paths):
                    ways, middle = (OVER_TWO, "edges w--z") if len(path) == BRIDGE else (OVER_ONE, "z")
                    both = ", both ways" if ways is OVER_TWO else ""
                    product = self._product(path, ways) or "the"
                    parts.append(f"({product} {middle} between{both}){_power(paths.count(path))}")
                return f"sum over {'different ' if apart else ''}x, y of {' '.join(parts)}"


def _power(many):
    return f"^{many}" if many > 1 else ""
