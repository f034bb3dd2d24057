"""Cleans a stream of files behind its readers. Spark's own `cleanSource` is refused on what a file sink wrote.

A file goes when every reader has taken it in a batch that is committed and not its last one, which Spark looks at
again when the reader starts. The sink's log still names it; no reader with its own checkpoint asks for it again. From
the log it goes by its age (the sink's `retention`), whether readers took it or not: so `lateness_s` is watched.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import unquote


class Place(Protocol):
    """Where streams and checkpoints are kept."""

    def names(self, folder: str) -> list[str]: ...
    def lines(self, file: str) -> list[str]: ...
    def delete(self, file: str) -> None: ...
    def qualified(self, name: str) -> str:
        """As Spark's logs name it."""
        ...


@dataclass(frozen=True, slots=True)
class HadoopPlace:
    """Wherever Spark can keep checkpoints, by Hadoop's own file systems."""

    jvm: Any
    conf: Any

    @classmethod
    def of(cls, spark: Any) -> HadoopPlace:
        return cls(spark._jvm, spark._jsc.hadoopConfiguration())

    def names(self, folder: str) -> list[str]:
        fs, path = self._at(folder)
        return [status.getPath().getName() for status in fs.listStatus(path)] if fs.exists(path) else []

    def lines(self, file: str) -> list[str]:
        fs, path = self._at(file)
        stream = fs.open(path)
        try:
            return str(self.jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8")).splitlines()
        finally:
            stream.close()

    def write(self, file: str, text: str) -> None:
        fs, path = self._at(file)
        stream = fs.create(path, True)
        try:
            stream.write(text.encode())
        finally:
            stream.close()

    def make(self, folder: str) -> None:
        fs, path = self._at(folder)
        fs.mkdirs(path)

    def delete(self, file: str) -> None:
        fs, path = self._at(file)
        fs.delete(path, False)

    def qualified(self, name: str) -> str:
        fs, path = self._at(name)
        return plain(str(fs.makeQualified(path).toString()))

    def _at(self, name: str) -> tuple[Any, Any]:
        path = self.jvm.org.apache.hadoop.fs.Path(name)
        return path.getFileSystem(self.conf), path


@dataclass(frozen=True, slots=True)
class Taken:
    """A file in a log of Spark's: a source's batch that took it, or None in a sink's; when it was made."""

    path: str
    batch: int | None
    made_s: float


def entries(place: Place, log: str, after: int, upto: int | None = None) -> Iterator[Taken]:
    """What a log of files says, of all its batches in (after, upto]: every tenth of its files repeats all before it."""
    files = {batch: name for name in place.names(log) if (batch := _batch(name)) is not None}
    wanted = sorted(b for b in files if upto is None or b <= upto)
    compact = max((b for b in wanted if files[b].endswith(".compact")), default=-1)
    first = compact if compact > after and not set(range(after + 1, compact)) <= set(wanted) else after + 1
    for batch in (b for b in wanted if b >= first):
        for line in place.lines(f"{log}/{files[batch]}")[1:]:
            taken = _entry(json.loads(line))
            if taken.batch is None or after < taken.batch:
                yield taken


def _entry(said: dict[str, Any]) -> Taken:
    return Taken(
        plain(said["path"]), said.get("batchId"), said.get("timestamp", said.get("modificationTime", 0)) / 1000
    )


def plain(path: str) -> str:
    """Logs write paths as encoded URIs.

    >>> plain("file:///data/a%20b"), plain("hdfs://host/data")
    ('file:/data/a b', 'hdfs://host/data')
    """
    return re.sub(r"^(\w+):///", r"\1:/", unquote(path))


def _batch(name: str) -> int | None:
    """
    >>> _batch("19.compact"), _batch("7"), _batch(".7.crc")
    (19, 7, None)
    """
    number = name.removesuffix(".compact")
    return int(number) if number.isdecimal() else None


@dataclass(slots=True)
class Reader:
    """What one reader has taken for good and the cleaner has not dealt with."""

    place: Place
    checkpoint: str
    stream: str
    taken: set[str] = field(default_factory=set)
    newest_s: float = 0.0
    _looked: dict[int, int] = field(default_factory=dict)

    def look(self) -> None:
        committed = [b for name in self.place.names(f"{self.checkpoint}/commits") if (b := _batch(name)) is not None]
        if len(committed) < 2:
            return
        *_, before, last = sorted(committed)
        taken_for_good = self._offsets(before)
        for source, offset in self._offsets(last).items():
            log, after = f"{self.checkpoint}/sources/{source}", self._looked.get(source, -1)
            for entry in entries(self.place, log, after, offset):
                self._take(entry, taken_for_good.get(source, -1))
            self._looked[source] = taken_for_good.get(source, -1)

    def _take(self, entry: Taken, upto: int) -> None:
        if entry.path.startswith(f"{self.stream}/"):
            self.newest_s = max(self.newest_s, entry.made_s)
            if entry.batch is not None and entry.batch <= upto:
                self.taken.add(entry.path)

    def _offsets(self, batch: int) -> dict[int, int]:
        """By source, the last batch of its log that this batch of the query took; sources of files only."""
        try:
            lines = self.place.lines(f"{self.checkpoint}/offsets/{batch}")[2:]
        except Exception:  # Spark removes old ones while we look
            return {}
        said = [json.loads(line) if line.startswith("{") else {} for line in lines]
        return {i: int(s["logOffset"]) for i, s in enumerate(said) if "logOffset" in s}


@dataclass(slots=True)
class Cleaner:
    place: Place
    folder: str
    readers: list[Reader]
    _there: set[str] | None = None

    @classmethod
    def of(cls, place: Place, folder: str, checkpoints: Sequence[str]) -> Cleaner:
        return cls(place, folder, [Reader(place, c, place.qualified(folder)) for c in checkpoints])

    def look(self) -> None:
        for reader in self.readers:
            reader.look()

    def clean(self) -> int:
        """How many files went."""
        self.look()
        done = set.intersection(*(r.taken for r in self.readers))
        if self._there is None:  # what an earlier run has cleaned stands in the logs still
            self._there = set(self.place.names(self.folder))
            gone = {path for path in done if path.rsplit("/", 1)[1] not in self._there}
        else:
            gone = set()
        for path in done - gone:
            self.place.delete(path)
        for reader in self.readers:
            reader.taken -= done
        return len(done - gone)

    def lateness_s(self) -> float:
        """At most so old is the oldest file that some reader has not taken; 0 where all have taken all."""
        log = f"{self.folder}/_spark_metadata"
        batches = [b for name in self.place.names(log) if (b := _batch(name)) is not None]
        if not batches:
            return 0.0
        written_s = max((e.made_s for e in entries(self.place, log, max(batches) - 1)), default=0.0)
        late = [r.newest_s for r in self.readers if r.newest_s < written_s]
        if 0.0 in late:  # it has taken nothing that is known of
            late.append(min((e.made_s for e in entries(self.place, log, -1)), default=time.time()))
        return time.time() - min(at_s for at_s in late if at_s) if any(late) else 0.0
