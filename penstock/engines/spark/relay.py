"""What a job says, from its pipes into its log and on to where Penstock's own output goes: `relay.py LOG ECHO STDERR`.

A process of its own: a job whose output nobody reads any more dies of it, and it must outlive a Penstock that is
killed. It ends when the last process of the job has closed its end, and imports nothing of Penstock.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable
from io import FileIO, RawIOBase


def copy(source: Iterable[bytes], sinks: list[RawIOBase]) -> None:
    """A sink that takes no more, as a terminal that was closed or a disk that is full, is left out from then on."""
    for line in source:
        for sink in list(sinks):
            try:
                sink.write(line)
            except OSError:
                sinks.remove(sink)


def main(log_path: str, echo: str, error_descriptor: str) -> None:
    log = FileIO(log_path, "a")
    streams = []
    for descriptor, own in ((0, 1), (int(error_descriptor), 2)):
        sinks: list[RawIOBase] = [log, FileIO(own, "w", closefd=False)] if echo == "echo" else [log]
        source = open(descriptor, "rb")  # noqa: PTH123, SIM115
        streams.append(threading.Thread(target=copy, args=(source, sinks)))
    for stream in streams:
        stream.start()


if __name__ == "__main__":
    main(*sys.argv[1:])
