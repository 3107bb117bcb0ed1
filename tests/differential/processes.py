# SPDX-License-Identifier: Apache-2.0
"""Nothing is left running: whatever daemons, steps and jobs detach themselves from, they stay below the process that called
become_reaper(), which can end them all."""
import ctypes
import os
import pathlib
import signal
import time

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h


def prctl(option, value):
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option})")


def become_reaper():
    """What loses its parent below this process becomes its child. It must be waited for: see wait_for_any."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def end_with_parent():
    """This process gets SIGTERM when its parent is gone, even by SIGKILL."""
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() == 1:
        os.kill(os.getpid(), signal.SIGTERM)


def wait_for_any():
    """(pid, exit status) of a child that ended, adopted ones too; None if none did."""
    try:
        pid, status = os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return None
    return (pid, os.waitstatus_to_exitcode(status)) if pid else None


def descendants():
    """Everything below this process."""
    children = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            after_name = stat.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue  # gone meanwhile
        children.setdefault(int(after_name[1]), []).append(int(stat.parent.name))
    found, new = [], [os.getpid()]
    while new:
        new = [child for pid in new for child in children.get(pid, [])]
        found += new
    return found


def end_those_of(folder):
    """Ends processes of clusters in that folder, wherever they are: what it takes where nobody above is left."""
    mark = f"SLURM_CONF={folder}/".encode()
    for environment in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in environment.read_bytes():
                os.kill(int(environment.parent.name), signal.SIGKILL)
        except OSError:
            continue  # gone meanwhile


def end_descendants(seconds=20):
    """Ends everything below this process."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        while wait_for_any():
            pass
        left = descendants()
        if not left:
            return
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.05)
    raise RuntimeError(f"processes that cannot be ended: {descendants()}")
