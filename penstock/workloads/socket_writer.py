"""Lines over a socket on loopback, to whoever connects: what Spark's socket source and its word count example read."""

from __future__ import annotations

import socket
from contextlib import suppress

from penstock.errors import InvalidInput, PenstockError
from penstock.workloads.content import Batch
from penstock.workloads.encoding import LINES

SEND_TIMEOUT_S = 10.0  # a reader that takes nothing for so long is gone


class SocketWriter:
    """Every reader gets every line from when it connected on. Without a reader no rows are taken: they stay due.

    A socket remembers nothing: what a reader had not read when it left is lost, with this source as with any other.
    """

    def __init__(self, port: int, line_format: str) -> None:
        if line_format not in LINES:
            raise InvalidInput(f"lines over a socket are one of {', '.join(LINES)}, not {line_format}")
        self._format = line_format
        self._readers: list[socket.socket] = []
        try:
            self._server = socket.create_server(("127.0.0.1", port))
        except (OSError, OverflowError) as error:
            raise PenstockError(f"cannot listen on port {port}: {error}") from None
        self._server.setblocking(False)

    @property
    def port(self) -> int:
        """The one that it has: asking for port 0 gives a free one."""
        port: int = self._server.getsockname()[1]
        return port

    def prepare(self, sample: Batch) -> None:
        """Nothing about it is slow the first time."""

    def ready(self) -> bool:
        with suppress(BlockingIOError):
            while True:
                reader, _ = self._server.accept()
                reader.settimeout(SEND_TIMEOUT_S)
                self._readers.append(reader)
        self._readers = [reader for reader in self._readers if _is_there(reader)]
        return bool(self._readers)

    def write(self, batch: Batch) -> None:
        text = b"\n".join(LINES[self._format](batch)) + b"\n"
        self._readers = [reader for reader in self._readers if _sent(reader, text)]

    def close(self) -> None:
        for connection in (*self._readers, self._server):
            connection.close()


def _is_there(reader: socket.socket) -> bool:
    """A reader that has closed its end can be read to the end; one that is there has nothing to say."""
    reader.setblocking(False)
    try:
        gone = reader.recv(1024) == b""
    except BlockingIOError:
        gone = False
    except OSError:
        gone = True
    reader.settimeout(SEND_TIMEOUT_S)
    if gone:
        reader.close()
    return not gone


def _sent(reader: socket.socket, text: bytes) -> bool:
    try:
        reader.sendall(text)
    except OSError:
        reader.close()
        return False
    return True
