"""What the kernels for tables take on a GPU, by measurements on an H200."""

from cusubmatch.plan import TableCosts

__all__ = ["TABLE_COSTS"]

TABLE_COSTS = TableCosts(
    worth=5e5,
    start=3e5,
    call=3e4,
    prepared=0.02,
    indicator=6e5,
    vertex=0.01,
    entry=0.012,
    gathered=0.02,
    triangle=0.03,
    weighted_triangle=0.08,
    wedge=0.03,
    weighted_wedge=0.06,
    square=0.02,
    loop=0.015,
    weighted_loop=0.05,
    clique=0.1,
    weighted_clique=1.0,
    pair=0.04,
    product=0.005,
    cell=0.02,
    listed=0.2,
    bridge=0.05,
    weighted_bridge=0.1,
)
