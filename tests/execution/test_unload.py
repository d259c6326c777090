"""Rows on their way from a device to host memory, on a device that does everything as late as it may.

A copy that was asked for is done when someone waits for it, or earlier by chance; what it reads or writes must live
until then. Kernels are native code of one lane.
"""

from __future__ import annotations

import gc
import random
import threading
import weakref
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from plans import plan_for
from targets import one_lane
from tiers import is_thorough

import cusubmatch as csm
from cusubmatch import Pattern
from cusubmatch.engines.gpu import GpuEngine
from cusubmatch.engines.gpu.runtime import transfer as bus
from cusubmatch.engines.gpu.runtime.device import Device
from cusubmatch.engines.gpu.runtime.pinned_memory import PinnedPool
from cusubmatch.engines.gpu.runtime.transfer import CopyDevice, DeviceTransfer
from cusubmatch.engines.gpu.search.run import Run
from cusubmatch.engines.gpu.tunables import Tunables
from cusubmatch.errors import DeadlinePassed
from cusubmatch.execution.collection import device_to_host as unload
from cusubmatch.execution.collection.device_to_host import HostStream
from cusubmatch.execution.query import Query

SQUARE = "(a)--(b)--(c)--(d)--(a)"
TARGET = one_lane()


class Place:
    """Where an array lies, without keeping that memory."""

    def __init__(self, array):
        whole = array
        while isinstance(whole.base, np.ndarray):
            whole = whole.base
        begin = array.ctypes.data - whole.ctypes.data
        self.whole, self.part = weakref.ref(whole), slice(begin, begin + array.nbytes)

    def bytes(self):
        whole = self.whole()
        return None if whole is None else whole.reshape(-1).view(np.uint8)[self.part]


class Late:
    """A stream, and events of it, that work when they must or when chance has it."""

    def __init__(self, seed):
        self.chance, self.lock = random.Random(seed), threading.Lock()
        self.asked, self.done_so_far, self.todo = 0, 0, []
        self.lost = 0  # copies whose memory was gone

    def copy(self, host, array):
        assert host.nbytes == array.nbytes
        assert host.flags.c_contiguous
        assert array.flags.c_contiguous
        with self.lock:
            self.todo.append((Place(host), Place(array), array.tobytes()))
            self.asked += 1

    def work(self, until):
        with self.lock:
            while self.done_so_far < until:
                host, array, seen = self.todo.pop(0)
                host, array = host.bytes(), array.bytes()
                if host is None or array is None or array.tobytes() != seen:
                    self.lost += 1
                else:
                    host[...] = array
                self.done_so_far += 1


class Event:
    def __init__(self, stream):
        self.stream, self.until = stream, stream.asked if stream else 0

    def synchronize(self):
        if self.stream:
            self.stream.work(self.until)

    @property
    def done(self):
        if self.stream and self.stream.chance.random() < 0.5:
            self.stream.work(self.until)
        return self.stream is None or self.stream.done_so_far >= self.until


def late_device(seed=0, most=1 << 24):
    """The device, and the streams that were made."""
    streams, waits = [], []

    def stream():
        streams.append(Late(seed))
        return streams[-1]

    def allocate(size):
        return np.random.default_rng(seed).integers(0, 256, size, np.uint8)

    def copy(host, array, stream):
        assert waits, "a copy that does not wait for what fills its source"
        stream.copy(host, array)

    cuda = CopyDevice(
        PinnedPool(allocate, most), stream, Event, lambda *pair: waits.append(pair), copy, lambda: lambda: None
    )
    return cuda, streams


def unloading(graph, text, seed=0, unique=True, most=1 << 24, deadline=None, sort=False, **options):
    plan, prepared = plan_for(graph, Pattern.parse(text), "monomorphism", unique, counting=False, methods=("warps",))
    engine = GpuEngine(Device(TARGET, 1, 228 << 10, tunables=Tunables(grid=(1, 1))))
    cuda, streams = late_device(seed, most)
    options = {"limit": None, "memory_limit": None} | options
    options["transfer"] = DeviceTransfer(options["memory_limit"], cuda)
    query = Query(graph, engine, plan, prepared, deadline)
    return HostStream(query.in_order() if sort else query, **options), cuda, streams


def in_use(cuda):
    gc.collect()
    free = sum(size * len(kept) for size, kept in cuda.pinned._free.items())
    return cuda.pinned.bytes - free


def in_order(frame):
    return frame.sort_values(list(frame.columns)).reset_index(drop=True)


@pytest.fixture(scope="module", params=["int32", "int64", "string"])
def graph(request):
    edges = csm.generators.rmat(6 if is_thorough() else 5, 5, seed=2)
    ids = edges.astype("int64").add(1000).astype("string" if request.param == "string" else request.param)
    return csm.Graph.from_edgelist(ids)


@pytest.fixture(autouse=True)
def only_what_a_test_makes_is_collected():
    gc.freeze()  # else each collection looks at all that the session has compiled, for seconds
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def no_thread_stays():
    yield
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("cusubmatch")]


@pytest.mark.one_each
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("small", [0, 1 << 18])
@pytest.mark.parametrize(("unique", "memory_limit"), [(True, None), (False, None), (True, 1 << 16), (False, 1 << 18)])
def test_rows_on_their_way_are_all_rows(graph, seed, small, unique, memory_limit):
    expected = in_order(csm.subgraph_match(graph, SQUARE, unique=unique, engine="cpu"))
    options = {"seed": seed, "unique": unique, "memory_limit": memory_limit}
    with patch.object(unload, "SMALL_BYTES", small), patch.object(bus, "MIN_SLOT_BYTES", 1000):
        held, cuda, streams = unloading(graph, SQUARE, **options)
        held._budget = 1 << 30
        assert sum(held.blocks(None)) == held.rows == len(expected)
        whole = held.frame()
        held.close()
        pd.testing.assert_frame_equal(in_order(whole), expected)
        for batch_rows in (100, 4999):
            held, cuda, streams = unloading(graph, SQUARE, batch_rows=batch_rows, **options)
            batches = list(held.batches(None))
            assert all(len(batch) == batch_rows for batch in batches)
            batches.append(held.frame())
            held.close()
            pd.testing.assert_frame_equal(in_order(pd.concat(batches)), expected)
            assert all(stream.lost == 0 for stream in streams)
            del held, batches
            assert in_use(cuda) == 0


@pytest.mark.one_each
@pytest.mark.parametrize("limit", [0, 1, 7, 1000])
def test_a_limit_is_kept_to_the_row(graph, limit):
    whole = csm.subgraph_match(graph, SQUARE, unique=False, engine="cpu")
    for small in (0, 1 << 18):
        with patch.object(unload, "SMALL_BYTES", small):
            held, *_ = unloading(graph, SQUARE, unique=False, limit=limit)
            assert sum(held.blocks(None)) == limit
            part = held.frame()
            held.close()
            assert len(part) == len(part.merge(whole)) == limit
            held, *_ = unloading(graph, SQUARE, unique=False, limit=limit, batch_rows=3)
            assert sum(map(len, held.batches(None))) + len(held.frame()) == limit
            held.close()


@pytest.mark.one_each
@pytest.mark.parametrize("text", [SQUARE, "(x)--()", "(a)--(b)--()--()--(a)"])
def test_sorted_rows_come_by_the_same_way(graph, text):
    expected = csm.subgraph_match(graph, text, engine="cpu", sort=True)
    held, *_ = unloading(graph, text, sort=True)
    assert sum(held.blocks(None)) == len(expected)
    pd.testing.assert_frame_equal(held.frame(), expected)
    held.close()


@pytest.mark.one_each
@pytest.mark.parametrize("seed", range(5))
def test_a_consumer_that_stops_leaves_no_copy_behind_that_writes(graph, seed):
    with patch.object(unload, "SMALL_BYTES", 0):
        held, cuda, streams = unloading(graph, SQUARE, seed=seed, batch_rows=50, memory_limit=1 << 16)
        batches = held.batches(None)
        kept = [next(batches), next(batches)]
        before = pd.concat(kept)
        batches.close()
        held.close()
        assert streams[0].done_so_far == streams[0].asked > 0
        assert streams[0].lost == 0
        pd.testing.assert_frame_equal(pd.concat(kept), before)
        del held, batches, kept
        assert in_use(cuda) == 0


def test_batches_that_are_kept_are_pinned_up_to_a_bound_and_all_right(graph):
    expected = in_order(csm.subgraph_match(graph, SQUARE, engine="cpu"))
    with patch.object(unload, "SMALL_BYTES", 0), patch.object(bus, "SLOT_BYTES", 1 << 16):
        held, cuda, streams = unloading(graph, SQUARE, batch_rows=64, most=10 << 16, memory_limit=1 << 20)
        batches = [*held.batches(None), held.frame()]
        held.close()
    pd.testing.assert_frame_equal(in_order(pd.concat(batches)), expected)
    assert cuda.pinned.bytes <= 10 << 16
    assert streams[0].lost == 0


def test_what_was_found_before_the_deadline_is_delivered_and_the_rest_is_partial(graph):
    whole = csm.subgraph_match(graph, SQUARE, engine="cpu")
    held, *_ = unloading(graph, SQUARE, batch_rows=64)
    original, calls = Run._check_deadline, []

    def passed(run, done, matches):
        original(run, done, matches)
        calls.append(matches)
        if len(calls) > 1:
            raise DeadlinePassed

    batches = []
    with patch.object(Run, "_check_deadline", passed), pytest.raises(DeadlinePassed):
        batches.extend(held.batches(None))
    held.finish()
    held.close()
    found = pd.concat([*batches, held.frame()])
    assert len(held.frame()) < 64
    assert 64 <= len(found) == held.rows == len(found.merge(whole)) < len(whole)


def test_a_pinned_buffer_is_used_again_only_when_its_last_view_is_gone():
    freed = []

    class Memory(bytearray):
        def __del__(self):
            freed.append(len(self))

    pinned = PinnedPool(Memory, 3 << 16)
    first = pinned.take(70_000)
    column = first[:40_000].view(np.int32).reshape(2, -1)[1]
    frame = pd.DataFrame(first[:40_000].view(np.int32).reshape(2, -1).T, copy=False)
    del first
    assert pinned.take(70_000) is None  # 2 of 3 units are in use
    del column
    gc.collect()
    assert pinned.take(70_000) is None
    del frame
    gc.collect()
    again = pinned.take(131_000)
    assert again is not None
    assert pinned.bytes == 2 << 16
    assert pinned.take(1 << 16) is not None  # and comes back at once
    assert pinned.bytes == 3 << 16
    del again
    assert pinned.take(3 << 16) is not None
    assert freed  # kept ones of other sizes made room

    def refuse(_):
        raise RuntimeError("cudaErrorMemoryAllocation")

    assert PinnedPool(refuse).take(10) is None


@pytest.mark.parametrize("seed", range(5))
def test_arrays_fetched_through_the_ring_arrive_as_they_are(seed):
    random_arrays = [np.random.default_rng(seed).integers(0, 1 << 40, (3, rows)) for rows in (0, 1, 999, 70_001)]
    for most in (1 << 24, 0):  # pinned, or not
        cuda, streams = late_device(seed, most)
        with patch.object(bus, "SLOTS", 3), DeviceTransfer(1 << 12, cuda) as own:
            arrived = [own.fetch(array) for array in random_arrays]
            own.finish()
            again = own.fetch(random_arrays[-1])
            own.finish()
        for array, expected in zip([*arrived, again], [*random_arrays, random_arrays[-1]], strict=True):
            assert (array == expected).all()
        assert streams[0].lost == 0
        del own
        assert in_use(cuda) == 0


def test_a_block_is_sent_before_the_next_launch_and_delivered_after_it(graph):
    order, launch, take = [], Run._launch, HostStream._take

    def launched(run, *arguments):
        order.append("launch")
        return launch(run, *arguments)

    def taken(self, rows):
        order.append("send")
        return take(self, rows)

    with patch.object(Run, "_launch", launched), patch.object(HostStream, "_take", taken):
        held, *_ = unloading(graph, SQUARE, batch_rows=64)
        for _ in held.blocks(None):
            order.append("deliver")  # noqa: PERF401 - the loop body is the consumer
        held.close()
    assert order[:7] == ["launch", "send", "launch", "deliver", "send", "launch", "deliver"]


@pytest.mark.one_each
@pytest.mark.parametrize("which", range(8))
@pytest.mark.parametrize("direct", [False, True])
def test_an_interrupt_between_copies_leaves_none_that_writes_later(which, direct):
    cuda, streams = late_device()
    copies = iter(range(100))

    def interrupted(host, array, stream):
        cuda.copy(host, array, stream)
        if next(copies) == which:
            raise KeyboardInterrupt

    source, target = np.arange(40_000).reshape(4, -1), cuda.pinned.take(320_000).view(np.int64).reshape(4, -1)
    with pytest.raises(KeyboardInterrupt), DeviceTransfer(1 << 12, cuda._replace(copy=interrupted)) as own:
        own.send([((row,), part) for row, part in zip(target, source, strict=True)], direct)
        own.send([((row,), part) for row, part in zip(target, source, strict=True)], direct)
    assert streams[0].done_so_far == streams[0].asked == which + 1
    assert streams[0].lost == 0
    del own, target
    assert in_use(cuda) == 0


def test_batches_of_a_row_come_a_few_at_a_time(graph):
    held, *_ = unloading(graph, SQUARE, unique=False, batch_rows=1)
    batches = held.batches(None)
    for _ in range(100):
        assert len(next(batches)) == 1
        assert len(held._targets) <= 4 * unload.MAX_BLOCK_BATCHES
    batches.close()
    held.close()
