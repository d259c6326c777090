"""Ranges of roots: each is taken once, whoever takes it and whenever what is left is divided."""

from concurrent.futures import ThreadPoolExecutor

from cusubmatch.engines.cpu.conditioning.root_queue import FEW_ROOTS, RootQueue, next_range
from cusubmatch.engines.cpu.primitives.jit import jit
from cusubmatch.engines.cpu.primitives.pointers import pointer


@jit
def take(words):
    return next_range(pointer(words))


def taken_from(queue):
    """The roots of all ranges that are left."""
    roots, (begin, end) = [], take(queue.words)
    while begin < end:
        roots += range(begin, end)
        begin, end = take(queue.words)
    return roots


def test_what_is_left_is_divided_and_taken_in_order():
    queue = RootQueue(3, 20)
    assert queue.roots == 17
    assert take(queue.words) == (0, 0)
    queue.divide(4)
    assert queue.roots == 17
    assert take(queue.words) == (3, 7)
    queue.put_back(5, 7)
    queue.put_back(7, 7)
    assert queue.roots == 15
    before = queue.words
    queue.divide(100)
    assert take(before) == (0, 0)
    assert queue.roots == 15
    assert taken_from(queue) == list(range(5, 20))
    assert queue.roots == 0
    assert queue.take_back() == (0, 0)


def test_a_range_that_is_put_back_is_taken_back():
    queue = RootQueue(0, 4)
    assert queue.take_back() == (0, 4)
    assert queue.roots == 0
    queue.put_back(2, 4)
    assert queue.take_back() == (2, 4)


def test_few_roots_that_are_put_back_once_all_were_divided_are_taken_one_by_one():
    queue = RootQueue(0, 2 * FEW_ROOTS)
    queue.divide(2)
    assert take(queue.words) == (0, FEW_ROOTS)
    queue.put_back(FEW_ROOTS - 3, FEW_ROOTS)
    assert queue.roots == FEW_ROOTS + 3
    assert sorted(queue.take_back() for _ in range(3)) == [(r, r + 1) for r in range(FEW_ROOTS - 3, FEW_ROOTS)]
    assert queue.take_back() == (0, 0)
    queue.put_back(0, FEW_ROOTS + 1)
    assert queue.take_back() == (0, FEW_ROOTS + 1)


def test_threads_take_each_root_once_while_what_is_left_is_divided():
    queue, roots = RootQueue(0, 20_000), []
    queue.divide(2_000)

    def work(_):
        while queue.roots:
            begin, end = take(queue.words)
            roots.extend(range(begin, end))

    with ThreadPoolExecutor(4) as threads:
        works = threads.map(work, range(4))
        for parts in (900, 4_000, 7, 2_000) * 3:
            queue.divide(parts)
        list(works)
    assert sorted(roots) == list(range(20_000))
