"""Counting by recursive conditioning on a candidate graph, by warps."""
