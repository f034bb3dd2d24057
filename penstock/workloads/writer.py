"""Where rows go. A writer returns from `write` when the rows can be read: that moment counts as their arrival."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from penstock.errors import InvalidInput
from penstock.workloads.content import Batch
from penstock.workloads.encoding import LINES, arrow_table, import_pyarrow

FILE_FORMATS = (*LINES, "parquet")


class Writer(Protocol):
    def prepare(self, sample: Batch) -> None:
        """What takes long the first time is done before the load begins; nothing of the sample can be read."""

    def ready(self) -> bool:
        """False while nobody could take rows; they stay due."""

    def write(self, batch: Batch) -> None: ...

    def close(self) -> None: ...


class FileWriter:
    """One file for each batch, written under a name with a dot, which Spark's file sources pass over, then renamed.

    A rename within a directory is atomic, so that a reader sees a whole file or none. Names carry the name of the
    run: a second run into the same directory adds files, and never replaces one that Spark has already read.
    """

    def __init__(self, directory: Path, file_format: str, run_name: str) -> None:
        if file_format not in FILE_FORMATS:
            raise InvalidInput(f"files are written as one of {', '.join(FILE_FORMATS)}, not as {file_format}")
        if file_format == "parquet":
            import_pyarrow()
        self._directory, self._format, self._run_name = directory, file_format, run_name
        self._files = 0
        directory.mkdir(parents=True, exist_ok=True)

    def prepare(self, sample: Batch) -> None:
        hidden = self._directory / f".rows-{self._run_name}-sample"
        try:
            self._write_to(hidden, sample)
        finally:
            hidden.unlink(missing_ok=True)

    def ready(self) -> bool:
        return True

    def write(self, batch: Batch) -> None:
        name = f"rows-{self._run_name}-{self._files:08d}.{self._suffix}"
        hidden = self._directory / f".{name}"
        try:
            self._write_to(hidden, batch)
            hidden.replace(self._directory / name)
        except BaseException:
            hidden.unlink(missing_ok=True)
            raise
        self._files += 1

    def close(self) -> None:
        pass

    @property
    def _suffix(self) -> str:
        return {"text": "txt"}.get(self._format, self._format)

    def _write_to(self, path: Path, batch: Batch) -> None:
        if self._format == "parquet":
            table = arrow_table(batch)
            import_pyarrow().parquet.write_table(table, path, use_dictionary=["key"], write_statistics=["ingress_us"])
        else:
            path.write_bytes(b"\n".join(LINES[self._format](batch)) + b"\n")
