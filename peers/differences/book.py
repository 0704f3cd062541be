"""What was found, line by line in a file that only grows, so that an interrupted study goes on."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from typing import Any, Protocol

from .cases import Case
from .tries import Try


class Repeated(Protocol):
    """A kind of try, of this study or another that keeps its lines as this one does."""

    @property
    def name(self) -> str: ...

    @property
    def tries(self) -> int: ...


class Book:
    """What was found, in a file that only grows."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        self.lines: list[dict[str, Any]] = []
        if path.exists():
            self.lines = [json.loads(line) for line in path.read_text().splitlines()]

    def add(self, kind: str, what: Any) -> None:
        is_record = dataclasses.is_dataclass(what) and not isinstance(what, type)
        line = {"kind": kind, **(dataclasses.asdict(what) if is_record else what)}
        self.lines.append(json.loads(json.dumps(line)))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def of(self, kind: str, case: Repeated) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["kind"] == kind and line["case"] == case.name]

    def tries(self, case: Case) -> list[Try]:
        return [Try(**{key: value for key, value in line.items() if key != "kind"}) for line in self.of("try", case)]
