"""The folders of a client that was killed go when the next one begins, and no others."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from cusubmatch.dask.folders.left_folders import owned_folder

OWNER = """
import os, sys, time
from cusubmatch.dask.folders.left_folders import owned_folder
print(owned_folder(sys.argv[1]), flush=True)
time.sleep(600)
"""


def test_the_folder_of_a_killed_client_goes_and_that_of_a_living_one_stays(tmp_path):
    alien = tmp_path / "cusubmatch-of-somebody"
    alien.mkdir()
    mine = Path(owned_folder(str(tmp_path)))
    other = subprocess.Popen([sys.executable, "-c", OWNER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    theirs = Path(other.stdout.readline().strip())
    try:
        owned_folder(str(tmp_path))
        assert theirs.is_dir()
    finally:
        os.kill(other.pid, signal.SIGKILL)
        other.communicate()
    owned_folder(str(tmp_path))
    assert not theirs.exists()
    assert mine.is_dir()
    assert alien.is_dir()
