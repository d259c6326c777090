"""Calls that walk rows of the edge table: conditions across elements, and `edges="each"`."""
