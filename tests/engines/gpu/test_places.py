"""Blocks that come from one GPU to another, on a CUDA that notes what it is asked to do."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace

import numpy as np
import pytest

from cusubmatch.engines.gpu.runtime.places import CudaPlace


class Cuda:
    """As much of CuPy as places use; `log` has what streams were given."""

    def __init__(self):
        self.here, self.log = 0, []
        self.default = {number: self.stream(f"default of {number}") for number in (0, 1)}
        self.used = {0: self.default[0], 1: self.default[1]}
        self.cuda = SimpleNamespace(
            Device=self.device,
            Event=self.event,
            Stream=lambda non_blocking: self.stream(f"copies of {self.here}" if non_blocking else "blocking"),
            get_current_stream=lambda: self.used[self.here],
        )

    @contextlib.contextmanager
    def device(self, number):
        before, self.here = self.here, number
        yield
        self.here = before

    def stream(self, name):
        log, used = self.log, lambda stream: self.used.__setitem__(self.here, stream)

        class Stream:
            def __enter__(self):
                self.name = name
                used(self)

            def __exit__(self, *_):
                pass

            def synchronize(self):
                log.append((name, "synchronize"))

            def wait_event(self, event):
                log.append((name, "wait", event.after))

        stream = Stream()
        stream.name = name
        return stream

    def event(self, block, disable_timing):
        log = self.log

        def record(stream):
            event.after = stream.name
            log.append((stream.name, "record"))

        event = SimpleNamespace(record=record, synchronize=lambda: log.append(("host", "wait", event.after)))
        return event

    def empty(self, shape, dtype):
        return Array(np.empty(shape, dtype), self.here, self.log)


class Array:
    """An array of a GPU."""

    def __init__(self, values, number, log):
        self.values, self.device, self.log = values, SimpleNamespace(id=number), log
        self.shape, self.dtype, self.nbytes = values.shape, values.dtype, values.nbytes

    @property
    def data(self):
        return self

    def __iter__(self):
        return (Array(row, self.device.id, self.log) for row in self.values)

    def copy_from_device_async(self, source, nbytes, stream):
        assert nbytes == source.nbytes
        self.log.append((stream.name, "copy"))
        self.values[...] = source.values


@pytest.fixture
def cuda(monkeypatch):
    made = Cuda()
    monkeypatch.setattr(CudaPlace, "xp", made)
    return made


def test_a_block_of_another_gpu_is_copied_behind_what_made_it_and_what_used_its_place_before(cuda):
    landing = CudaPlace(0).landing()
    assert cuda.log == [("default of 0", "synchronize")]
    block = Array(np.arange(8, dtype=np.int32).reshape(2, 4), 1, cuda.log)
    with cuda.device(1):
        first, second = landing.bring(block), landing.bring(block)
    copies = "copies of 1"
    once = [("default of 1", "record"), ("default of 0", "record"), (copies, "wait", "default of 1")]
    once += [(copies, "wait", "default of 0"), (copies, "copy"), (copies, "copy"), (copies, "record")]
    assert cuda.log[1:] == [*once, *once]
    for brought in (first, second):
        there = brought.settled()
        assert there.device.id == 0
        assert (there.values == block.values).all()
    assert cuda.log[-2:] == [("host", "wait", copies)] * 2


def test_a_block_of_the_same_gpu_is_not_copied(cuda):
    landing = CudaPlace(1).landing()
    block = Array(np.zeros((2, 4), np.int32), 1, cuda.log)
    with cuda.device(1):
        assert landing.bring(block).settled() is block
    assert "copy" not in [what for _, what, *_ in cuda.log]


def test_the_source_of_a_copy_is_held_until_it_has_ended(cuda):
    import weakref

    landing, block = CudaPlace(0).landing(), Array(np.zeros((2, 4), np.int32), 1, cuda.log)
    with cuda.device(1):
        brought = landing.bring(block)
    source = weakref.ref(block)
    del block
    assert source() is not None
    brought.settled()
    assert source() is None


def test_a_block_that_nobody_asks_for_is_waited_for_before_its_memory_is_used_again(cuda):
    landing, block = CudaPlace(0).landing(), Array(np.zeros((2, 4), np.int32), 1, cuda.log)
    with cuda.device(1):
        brought, dropped = landing.bring(block), landing.bring(block)
    before = len(cuda.log)
    del dropped
    assert cuda.log[before:] == [("host", "wait", "copies of 1")]
    brought.settled()
    before = len(cuda.log)
    del brought
    assert len(cuda.log) == before


def test_a_thread_works_there_in_the_order_of_the_caller(cuda):
    with cuda.device(1):
        landing = CudaPlace(1).landing()
    cuda.here = 0
    with landing.current():
        assert cuda.here == 1
        assert cuda.cuda.get_current_stream().name == "default of 1"
