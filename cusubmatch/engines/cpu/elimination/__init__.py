"""Counting by variable elimination on the candidate graph: sparse tables instead of a search."""
