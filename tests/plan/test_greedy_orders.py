"""Greedy matching orders on small patterns, checked by eye."""

from cusubmatch.plan.greedy_orders import greedy_order

PATH = [{1}, {0, 2}, {1, 3}, {2}]


def test_graphql_begins_with_fewest_candidates_for_the_degree_and_stays_connected():
    assert greedy_order(PATH, [9.0, 8.0, 2.0, 5.0]) == (2, 3, 1, 0)


def test_graphql_prefers_more_matched_neighbours_among_equally_many_candidates():
    triangle_with_tails = [{1, 2}, {0, 2, 3}, {0, 1, 4}, {1}, {2}]
    assert greedy_order(triangle_with_tails, [4.0, 1.0, 2.0, 4.0, 4.0]) == (1, 2, 0, 3, 4)


def test_one_vertex_is_an_order():
    assert greedy_order([set()], [3.0]) == (0,)
