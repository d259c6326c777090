"""Conditions on a graph: typed, bound to parameters, split by the elements that they name, and compiled."""
