"""An assignment says which instance processes which substream. Its size is the component's parallelism."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Assignment:
    """`instance_of[s]` is the instance of substream s; instances are numbered from 0 without a gap.

    >>> Assignment((0, 1, 0, 1)).parallelism
    2
    >>> Assignment((0, 2, 0, 2))
    Traceback (most recent call last):
    ...
    penstock.errors.InvalidInput: instances are numbered 0 to 1 without a gap, but substreams are assigned to [0, 2]
    """

    instance_of: tuple[int, ...]

    def __post_init__(self) -> None:
        used = sorted(set(self.instance_of))
        if used != list(range(len(used))) or not used:
            last = max(len(used) - 1, 0)
            raise InvalidInput(
                f"instances are numbered 0 to {last} without a gap, but substreams are assigned to {used}"
            )

    @property
    def parallelism(self) -> int:
        return max(self.instance_of) + 1

    @property
    def substreams(self) -> int:
        return len(self.instance_of)

    def substreams_of(self, instance: int) -> tuple[int, ...]:
        return tuple(s for s, i in enumerate(self.instance_of) if i == instance)


def spread(substreams: int, parallelism: int) -> Assignment:
    """Substreams in turn over the instances: what holds where nobody said otherwise.

    >>> spread(5, 2).instance_of
    (0, 1, 0, 1, 0)
    """
    return Assignment(tuple(s % max(1, min(parallelism, substreams)) for s in range(substreams)))


def moved(before: Assignment, after: Assignment) -> tuple[int, ...]:
    """The substreams whose state moves.

    >>> moved(Assignment((0, 1, 0, 1)), Assignment((0, 1, 2, 1)))
    (2,)
    """
    pairs = zip(before.instance_of, after.instance_of, strict=True)
    return tuple(s for s, (a, b) in enumerate(pairs) if a != b)


def rescaled(before: Assignment, parallelism: int) -> Assignment:
    """The same substreams over another number of instances, with as few of them moved as balance allows.

    >>> rescaled(Assignment((0, 1, 0, 1)), 3).instance_of
    (0, 1, 0, 2)
    >>> rescaled(Assignment((0, 1, 0, 2)), 2).instance_of
    (0, 1, 0, 1)
    """
    p = max(1, min(parallelism, before.substreams))
    room = [before.substreams // p + (i < before.substreams % p) for i in range(p)]
    placed: list[int | None] = []
    for i in before.instance_of:
        stays = i < p and room[i] > 0
        if stays:
            room[i] -= 1
        placed.append(i if stays else None)
    free = iter([i for i in range(p) for _ in range(room[i])])
    return Assignment(tuple(next(free) if i is None else i for i in placed))


def check_complete(assignment: Assignment, substreams: int) -> None:
    if assignment.substreams != substreams:
        raise InvalidInput(f"the assignment names {assignment.substreams} substreams, the component has {substreams}")
