"""What the kernels for tables take on one core, by measurements."""

from cusubmatch.plan import TableCosts

__all__ = ["TABLE_COSTS"]

TABLE_COSTS = TableCosts(
    worth=5e6,
    start=60_000.0,
    call=12_000.0,
    prepared=6.0,
    indicator=12_000.0,
    vertex=1.5,
    entry=2.0,
    gathered=3.0,
    triangle=1.6,
    weighted_triangle=3.0,
    wedge=1.6,
    weighted_wedge=3.0,
    square=1.2,
    loop=1.1,
    weighted_loop=2.5,
    clique=1.5,
    weighted_clique=15.0,
    pair=1.6,
    product=0.6,
    cell=1.0,
    listed=5.0,
    bridge=2.6,
    weighted_bridge=4.5,
)
