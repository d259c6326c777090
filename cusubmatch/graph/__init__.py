"""The data graph: an edge list as compressed sparse rows, and what is measured of it and kept with it."""

from cusubmatch.graph.graph import Graph
from cusubmatch.graph.relations import Adjacency, Relation

__all__ = ["Adjacency", "Graph", "Relation"]
