"""Arrays of an engine that come to where the caller's graph lies, on devices that note what they are asked to do."""

import contextlib
from types import SimpleNamespace

import numpy as np
import pytest

from cusubmatch.execution.results.result_columns import returned_to


class Array:
    """An array of a device."""

    def __init__(self, device):
        self.device = device


@pytest.fixture
def log():
    return []


@pytest.fixture
def devices(log):
    def device(name):
        return SimpleNamespace(name=name, synchronize=lambda: log.append(f"wait for {name}"))

    return device("the engine's"), device("the graph's")


@pytest.fixture
def returned(log, devices):
    """Brings an array to a graph on the second device, from an engine on the first one."""
    stream = SimpleNamespace(synchronize=lambda: log.append("wait for the copy"))

    def asarray(array):
        log.append("copy")
        return array if isinstance(array, Array) and array.device is devices[1] else Array(devices[1])

    def ascontiguousarray(array):
        log.append("one piece")
        return Array(array.device)

    @contextlib.contextmanager
    def current():
        log.append("begin")
        yield
        log.append("end")

    cuda = SimpleNamespace(get_current_stream=lambda: stream)
    xp = SimpleNamespace(asarray=asarray, ascontiguousarray=ascontiguousarray, cuda=cuda)
    graph = SimpleNamespace(xp=xp, targets=Array(devices[1]))
    return lambda array: returned_to(graph, SimpleNamespace(current=current), array)


def test_the_source_of_a_copy_from_another_device_is_there_before_it_and_until_its_end(returned, log, devices):
    assert returned(Array(devices[0])).device is devices[1]
    assert log == ["begin", "one piece", "end", "wait for the engine's", "copy", "wait for the copy"]


def test_nothing_is_waited_for_on_the_same_device(returned, log, devices):
    array = Array(devices[1])
    assert returned(array) is array
    assert returned(np.arange(3)).device is devices[1]
    assert log == ["copy", "copy"]
