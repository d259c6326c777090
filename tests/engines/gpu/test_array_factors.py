"""Operations on factors as arrays, NumPy's or a GPU's, beside dense arrays and the host's compiled code."""

import contextlib
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from factor_keys import keys_of
from random_factors import KINDS, SCOPES, SIZE, check_sum, random_factor, random_factors, vertices_together
from targets import emulator, lane_device

from cusubmatch.engines.cpu.elimination.host_factors import HostFactors
from cusubmatch.engines.cpu.elimination.placed_factors import PlacedFactors
from cusubmatch.engines.factors import fields as fields_module
from cusubmatch.engines.factors.arithmetic import FLOATS, WORDS
from cusubmatch.engines.factors.device_factors import MorePairs
from cusubmatch.engines.factors.factor import Factor
from cusubmatch.engines.factors.fields import Fields
from cusubmatch.engines.gpu.elimination import (
    array_factors,
    array_joins,
    array_lookups,
    array_matches,
    array_operations,
)
from cusubmatch.engines.gpu.elimination.array_factors import ArrayFactors
from cusubmatch.engines.gpu.elimination.device_factors import CudaFactors
from cusubmatch.engines.gpu.runtime.device import Device, current_device


@pytest.fixture(params=["numpy", pytest.param("cupy", marks=pytest.mark.gpu)])
def array_factors_of(request):
    """Makes operations on arrays of a module."""
    xp = pytest.importorskip(request.param)
    with contextlib.ExitStack() as stack:

        def make(fields, kinds=KINDS, check=lambda: None):
            if xp is np:
                made = ArrayFactors(xp, lane_device(), fields, kinds, check)
            else:
                made = CudaFactors(xp, current_device(), 0, fields, kinds, check)
            stack.enter_context(made.current())
            return made

        yield make


@pytest.mark.one_each
@pytest.mark.parametrize("scopes", SCOPES.values(), ids=SCOPES)
@pytest.mark.parametrize(
    ("pairs", "places", "entries", "many", "firsts", "bits", "few"),
    [(1 << 24, 1 << 26, 1 << 25, 1 << 23, 1 << 18, 20, 4), (16, 1, 64, 4, 1, 3, 1), (40, 1 << 8, 1, 1, 1, 20, 99)],
)
@pytest.mark.parametrize("share", [0.1, 0.6])
@pytest.mark.parametrize("word_bits", [63, 8, 4])  # keys of one word; of two fields a word; of one
@pytest.mark.parametrize("most", [2, 100])  # values are 1; any
def test_a_summed_product_is_that_of_dense_arrays(
    array_factors_of, monkeypatch, scopes, pairs, places, entries, many, firsts, bits, few, share, word_bits, most
):
    for module, constant, value in (
        (fields_module, "WORD_BITS", word_bits),
        (array_joins, "MAX_PAIRS", pairs),
        (array_joins, "MAX_ADDED", pairs),
        (array_lookups, "MAX_PLACES", places),
        (array_factors, "MAX_ENTRIES", entries),
        (array_matches, "MANY_ENTRIES", many),
        (array_matches, "FEW", few),
        (array_operations, "FIRSTS_ENTRIES", firsts),
        (array_operations, "FIRST_BITS", bits),
    ):
        monkeypatch.setattr(module, constant, value)
    fields = Fields(SIZE)
    factors, dense = random_factors(fields, scopes, share, len(scopes), most)
    device = array_factors_of(fields)
    there = [device.to_device(factor) for factor in factors]
    assert all(factor.is_plain == (most == 2) for factor in there)
    for vertices in vertices_together(scopes):
        check_sum(fields, device.to_host(device.summed_product(vertices, there)), dense)


@pytest.mark.one_each
@pytest.mark.parametrize("name", ["two arcs", "a star and what its ends have", "what the vertex has twice"])
@pytest.mark.parametrize(("pairs", "places"), [(1 << 24, 1 << 26), (300, 1), (300, 1 << 26)])
def test_warps_make_the_same_sums(monkeypatch, name, pairs, places):
    """Each of several warps has parts of the pairs, the last of which are not whole."""
    for module, constant, value in (
        (array_operations, "THREADS", 64),
        (array_operations, "BLOCKS", 2),
        (array_joins, "MAX_PAIRS", pairs),
        (array_lookups, "MAX_PLACES", places),
        (array_matches, "MANY_ENTRIES", pairs),
        (array_operations, "FIRSTS_ENTRIES", pairs),
    ):
        monkeypatch.setattr(module, constant, value)
    fields, scopes = Fields(SIZE), SCOPES[name]
    factors, dense = random_factors(fields, scopes, 0.5, 1)
    device = ArrayFactors(np, Device(emulator(1), 1, 228 << 10), fields, KINDS, lambda: None)
    there = [device.to_device(factor) for factor in factors]
    for vertices in vertices_together(scopes)[-2:]:
        check_sum(fields, device.to_host(device.summed_product(vertices, there)), dense)


@pytest.mark.parametrize("word_bits", [63, 8, 4])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5])
def test_operations_do_what_those_of_the_host_do(array_factors_of, monkeypatch, word_bits, share):
    monkeypatch.setattr(fields_module, "WORD_BITS", word_bits)
    fields, random = Fields(SIZE), np.random.default_rng(3)
    host, device = HostFactors(fields, KINDS, lambda _: None, np.zeros(1, np.int64)), array_factors_of(fields)
    one, other = (random_factor(fields, (0, 2, 3), share, random)[0] for _ in range(2))
    there, other_there = device.to_device(one), device.to_device(other)

    def are_same(found, wanted):
        back = device.to_host(found)
        assert back.scope == wanted.scope
        assert np.array_equal(back.keys, wanted.keys)
        assert np.array_equal(back.values, wanted.values)

    are_same(there, one)
    for vertex, into in [(2, 1), (2, 5), (0, 2), (3, 0)]:
        are_same(device.merged(there, vertex, into), host.merged(one, vertex, into))
    are_same(device.kept_apart(there, 0, 3), host.kept_apart(one, 0, 3))
    are_same(device.multiplied(there, other_there), host.multiplied(one, other))
    for weight, other_weight in [(1, 1), (1, -1), (-3, 5)]:
        wanted = host.weighted_sum(one, weight, other, other_weight)
        are_same(device.weighted_sum(there, weight, other_there, other_weight), wanted)
    are_same(device.weighted_sum(there, 1, there, -1), host.weighted_sum(one, 1, one, -1))
    for vertex in one.scope:
        images = device.entries_of_images(there, vertex, SIZE)
        assert np.array_equal(images, host.entries_of_images(one, vertex, SIZE))
    assert device.checksum(there) == host.checksum(one)
    assert device.are_equal(there, device.to_device(one))
    assert device.are_equal(there, other_there) == host.are_equal(one, other)
    assert np.array_equal(device.some_keys(there, 3), one.keys[::3])


@pytest.mark.parametrize("size", [2, 1 << 8, 1 << 12, 1 << 16, (1 << 16) + 1, 1 << 31])
@pytest.mark.parametrize("vertices", range(1, 8))
def test_keys_of_all_widths_ascend(array_factors_of, size, vertices):
    fields, random = Fields(size), np.random.default_rng(vertices)
    host, device = HostFactors(fields, KINDS, lambda _: None, np.zeros(1, np.int64)), array_factors_of(fields)
    scope = tuple(range(vertices))
    images = np.concatenate([random.integers(0, size, (200, vertices)), np.full((1, vertices), size - 1)])
    images[::2, : vertices - 1] = images[0, : vertices - 1]  # the last field tells these apart
    keys = keys_of(fields, scope, np.unique(images, axis=0).T)
    whole = Factor(scope, keys, random.integers(1, 9, (len(keys), len(KINDS)), np.uint64))
    some = Factor(scope, keys[::3], whole.values[::3])
    wanted = host.weighted_sum(whole, 1, some, 1)
    found = device.to_host(device.weighted_sum(device.to_device(some), 1, device.to_device(whole), 1))
    assert np.array_equal(found.keys, keys)
    assert np.array_equal(found.values, wanted.values)


@pytest.mark.parametrize("pairs", [30, 60, 90, 120, 1 << 20])
def test_parts_that_come_after_others_were_added_up_are_added_too(array_factors_of, monkeypatch, pairs):
    monkeypatch.setattr(array_joins, "MAX_PAIRS", pairs)
    monkeypatch.setattr(array_factors, "MAX_ENTRIES", 1)
    fields = Fields(SIZE)
    device = array_factors_of(fields)
    factors, dense = random_factors(fields, SCOPES["two arcs"], 0.5, 1)
    check_sum(fields, device.to_host(device.summed_product((0,), [*map(device.to_device, factors)])), dense)


def test_more_pairs_than_are_allowed_are_not_made(array_factors_of):
    fields = Fields(SIZE)
    device = array_factors_of(fields)
    factors, _ = random_factors(fields, SCOPES["two arcs"], 0.5, 1)
    there = [*map(device.to_device, factors)]
    one, other = (device.entries_of_images(factor, 0, SIZE) for factor in there)
    pairs = int(one @ other)
    assert len(device.summed_product((0,), there, pairs)) > 0
    with pytest.raises(MorePairs) as found:
        device.summed_product((0,), there, pairs - 1)
    assert found.value.pairs == pairs


@pytest.mark.parametrize("sampled", [1, 7, 20])
def test_images_of_a_part_of_the_entries_stand_for_all(array_factors_of, monkeypatch, sampled):
    monkeypatch.setattr(array_factors, "SAMPLED_ENTRIES", sampled)
    fields = Fields(SIZE)
    host, device = HostFactors(fields, KINDS, lambda _: None, np.zeros(1, np.int64)), array_factors_of(fields)
    one, _ = random_factor(fields, (0, 1), 0.5, np.random.default_rng(1))
    for vertex in one.scope:
        counts = device.entries_of_images(device.to_device(one), vertex, SIZE)
        assert counts.sum() == pytest.approx(len(one.keys))
        met = host.entries_of_images(one, vertex, SIZE) > 0
        assert met[counts > 0].all()
        assert (counts > 0).sum() <= len(one.keys[:: max(len(one.keys) // sampled, 1)])


def test_factors_that_differ_in_a_value_are_not_equal(array_factors_of):
    fields = Fields(SIZE)
    device = array_factors_of(fields)
    keys, values = np.array([[3], [5]], np.uint64), np.array([[1, 1], [2, 2]], np.uint64)
    factors = [Factor((0,), keys, values), Factor((0,), keys, values[::-1].copy()), Factor((0,), keys + 1, values)]
    one, *others = map(device.to_device, factors)
    assert device.are_equal(one, one)
    assert not any(device.are_equal(one, other) for other in others)


def test_floats_of_all_sizes_are_added_up(array_factors_of):
    """A running sum would lose the small ones beside the large one."""
    fields, kinds = Fields(SIZE), np.array([FLOATS], np.uint64)
    device = array_factors_of(fields, kinds)
    keys = np.array([[0 << fields.bits | y] for y in range(4)] + [[1 << fields.bits | y] for y in range(4)], np.uint64)
    values = np.array([1e30] * 4 + [1e-3] * 4).view(np.uint64).reshape(-1, 1)
    arcs = Factor((0, 1), keys, values)
    summed = device.to_host(device.summed_product((1,), [device.to_device(arcs)]))
    assert np.allclose(summed.values.view(np.float64).ravel(), [4e30, 4e-3])


def test_what_is_checked_between_parts_may_end_it(array_factors_of, monkeypatch):
    monkeypatch.setattr(array_joins, "MAX_PAIRS", 16)
    fields, calls = Fields(SIZE), []

    def check():
        calls.append(1)
        if len(calls) == 3:
            raise InterruptedError

    device = array_factors_of(fields, check=check)
    factors, _ = random_factors(fields, SCOPES["two arcs"], 0.6, 1)
    with pytest.raises(InterruptedError):
        device.summed_product((0,), [device.to_device(factor) for factor in factors])
    assert len(calls) == 3


def test_sums_are_modulo_two_to_the_64(array_factors_of):
    fields, kinds = Fields(SIZE), np.array([WORDS], np.uint64)
    device = array_factors_of(fields, kinds)
    keys = np.arange(3, dtype=np.uint64).reshape(-1, 1)
    factor = Factor((0,), keys, np.full((3, 1), (1 << 64) - 1, np.uint64))
    summed = device.to_host(device.summed_product((0,), [device.to_device(factor)]))
    assert summed.values.tolist() == [[(1 << 64) - 3]]


def test_sums_of_lanes_are_reduced_before_they_are_added_up(array_factors_of):
    """Together they may be more than 2^64."""
    fields = Fields(SIZE)
    device = array_factors_of(fields)
    do, lanes = device._do, [(1 << 63) + 1, (1 << 63) + 5]
    joins = array_joins.ArrayJoins(do, lambda: None, np.inf, ())
    joins._sums = device.xp.zeros((len(KINDS), do.most_lanes), np.uint64)
    joins._sums[:, :2] = device.xp.asarray(np.array(lanes, np.uint64))
    (part,) = joins.parts(do.empty((0,)), [do.empty((0,))])
    moduli = [1 << 64 if kind == WORDS else int(kind) for kind in KINDS]
    assert device.to_host(do.summed(part)).values.tolist() == [[sum(lanes) % modulus for modulus in moduli]]


def test_a_factor_that_kernels_cannot_number_takes_too_much_memory(array_factors_of, monkeypatch):
    fields = Fields(SIZE)
    device = array_factors_of(fields)
    factors, _ = random_factors(fields, SCOPES["two arcs"], 0.5, 1)
    there = [device.to_device(factor) for factor in factors]
    monkeypatch.setattr(array_joins, "MOST_ENTRIES", max(map(len, there)))
    with pytest.raises(MemoryError):
        device.summed_product((0,), there)


def plain_arcs(fields, random):
    """A factor of two vertices whose values are 1."""
    return random_factor(fields, (0, 1), 0.5, random, 2)[0]


def test_what_is_kept_is_finished_before_it_is_found(monkeypatch):
    """Other threads read it on other streams."""
    fields, events = Fields(SIZE), []
    device = ArrayFactors(np, lane_device(), fields, KINDS, lambda: None)
    do, arcs = device._do, device.to_device(plain_arcs(fields, np.random.default_rng(1)))

    @contextlib.contextmanager
    def aside():
        yield
        events.append((len(do._there), arcs.table))

    monkeypatch.setattr(device, "aside", aside)
    monkeypatch.setattr(do, "_aside", aside)
    kept = len(do._there)
    numbers, table = do.there(np.arange(7)), do.table(arcs)
    assert events == [(kept, None), (kept + 1, None)]
    assert do.there(np.arange(7)) is numbers
    assert do.table(arcs) is table
    device.to_device(device.to_host(arcs))
    assert len(events) == 3


def test_threads_find_the_same_of_what_is_kept(monkeypatch):
    """It is made once: a second one in its place would free memory that a thread still reads."""
    fields, begun = Fields(SIZE), []
    device = ArrayFactors(np, lane_device(), fields, KINDS, lambda: None)
    do, arcs = device._do, plain_arcs(fields, np.random.default_rng(1))

    @contextlib.contextmanager
    def aside():
        begun.append(1)
        time.sleep(0.05)
        yield

    monkeypatch.setattr(device, "aside", aside)
    monkeypatch.setattr(do, "_aside", aside)
    places = PlacedFactors(HostFactors(fields, KINDS, lambda _: None, np.zeros(1, np.int64)), lambda: device)
    factor = places.of_host(arcs)
    for find in (
        lambda: places._there(device, factor),
        lambda: do.table(factor.there),
        lambda: do.there(np.arange(9)),
    ):
        begun.clear()
        with ThreadPoolExecutor(4) as threads:
            first, *others = [found.result() for found in [threads.submit(find) for _ in range(4)]]
        assert all(other is first for other in others)
        assert len(begun) == 1


@pytest.mark.gpu
def test_other_streams_read_what_is_kept_while_its_own_is_busy():
    cupy, fields, random = pytest.importorskip("cupy"), Fields(SIZE), np.random.default_rng(2)
    device = CudaFactors(cupy, current_device(), 0, fields, KINDS, lambda: None)
    arcs, numbers = plain_arcs(fields, random), random.integers(1 << 60, size=1 << 12)

    def keep_busy():
        much = cupy.ones(1 << 26)
        for _ in range(40):
            much *= 1.5

    def read(array):
        with cupy.cuda.Stream(non_blocking=True):
            return array.get()

    with device.current():
        keep_busy()
        assert np.array_equal(read(device._do.there(numbers)), numbers)
        keep_busy()
        there = device.to_device(arcs)
        assert np.array_equal(read(there.keys), arcs.keys.T)
        keep_busy()
        bits = np.unpackbits(read(device._do.table(there)).view(np.uint8), bitorder="little")
        assert np.array_equal(np.flatnonzero(bits), arcs.keys[:, 0].astype(np.int64))
    device.end()
