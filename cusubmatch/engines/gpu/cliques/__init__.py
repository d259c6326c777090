"""Triangles and cliques of four and five vertices, by kernels of their own."""
