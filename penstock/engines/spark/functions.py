"""The user's functions, found by `module:name` and called with care: what goes wrong is one sentence with its line."""

from __future__ import annotations

import importlib
import inspect
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.errors import InvalidInput
from penstock.reading import probably_meant

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Named:
    """`text` is `module:name`, `where` the place where that is written, `folder` where modules are looked for first."""

    text: str
    where: str
    folder: Path

    def load(self, arguments: int, what: str = "input") -> Function:
        function = self._found()
        self._check_arguments(function, arguments, what)
        return function

    def call(self, function: Function, arguments: Sequence[Any]) -> Any:
        try:
            return function(*arguments)
        except Exception as error:
            raise self.wrong(f"{self.text} failed: {_place_of(error, self.folder)}") from error

    def wrong(self, what: str) -> InvalidInput:
        return InvalidInput(f"{self.where}: {what}")

    def place(self, function: Function) -> str:
        """Where the function itself is written."""
        try:
            lines = inspect.getsourcelines(function)[1]
            return f"{Path(inspect.getsourcefile(function) or '?').name}:{lines}"
        except (TypeError, OSError):
            return self.text

    def _found(self) -> Function:
        module_name, _, names = self.text.partition(":")
        found: Any = self._module(module_name)
        for name in names.split("."):
            if not hasattr(found, name):
                public = [n for n in vars(found) if not n.startswith("_")]
                raise self.wrong(f"{module_name} has no function {name!r}: {probably_meant(name, public)}")
            found = getattr(found, name)
        if not callable(found):
            raise self.wrong(f"{self.text} is {type(found).__name__}, and cannot be called")
        function: Function = found
        return function

    def _module(self, name: str) -> Any:
        if str(self.folder) not in sys.path:
            sys.path.insert(0, str(self.folder))
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name and name.startswith(error.name):
                there = [f.stem for f in self.folder.glob("*.py")]
                raise self.wrong(f"there is no module {name!r}: {probably_meant(name, there)}") from None
            raise self.wrong(f"{name} cannot be imported: {_place_of(error, self.folder)}") from error
        except Exception as error:
            raise self.wrong(f"{name} cannot be imported: {_place_of(error, self.folder)}") from error

    def _check_arguments(self, function: Function, arguments: int, what: str) -> None:
        try:
            signature = inspect.signature(function)
        except ValueError:  # written in C: nobody can tell before it is called
            return
        try:
            signature.bind(*[None] * arguments)
        except TypeError:
            takes = f"{function.__name__}{signature}"
            given = f"{arguments} {what}{'s' if arguments != 1 else ''}"
            raise self.wrong(f"{takes} ({self.place(function)}) does not take {given}") from None


def _place_of(error: Exception, folder: Path) -> str:
    """The innermost line of the user's own files, and what went wrong there, in one line."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if Path(f.filename).is_relative_to(folder.resolve())]
    if isinstance(error, SyntaxError) and error.filename:
        return f"{Path(error.filename).name}:{error.lineno}: {error.msg}"
    told = str(error).strip().splitlines()
    sentence = f"{type(error).__name__}: {told[0]}" if told else type(error).__name__
    return f"{Path(own[-1].filename).name}:{own[-1].lineno}: {sentence}" if own else sentence
