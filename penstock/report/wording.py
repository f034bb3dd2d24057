"""Figures as people read them. What is unknown is said as unknown."""

from __future__ import annotations

from penstock.observe.snapshot import How

UNKNOWN = "unknown"

MEANING = {
    How.EXACT: "counted or timed, nothing assumed",
    How.INTERPOLATED: "read off between two points that are known",
    How.BOUND: "the truth lies within what is known, and this is the middle of it",
    How.UNKNOWN: "nothing tells",
}


def whole(value: float | None) -> str:
    """
    >>> whole(1234567.0), whole(None)
    ('1,234,567', 'unknown')
    """
    return UNKNOWN if value is None else f"{value:,.0f}"


def short(value: float | None) -> str:
    """
    >>> [short(v) for v in (0.0, 0.25, 2.0, 950.4, 1500.0, 22000.0, 2.5e6, 3e9, None)]
    ['0', '0.25', '2', '950', '1.5k', '22k', '2.5M', '3G', 'unknown']
    """
    if value is None:
        return UNKNOWN
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"


def seconds(value: float | None) -> str:
    """
    >>> [seconds(v) for v in (0.0, 0.0004, 0.0123, 2.5, 75.0, 4000.0, None)]
    ['0 s', '0.4 ms', '12.3 ms', '2.5 s', '75 s', '67 min', 'unknown']
    """
    if value is None:
        return UNKNOWN
    if value <= 0:
        return "0 s"
    if value < 1:
        return f"{value * 1000:.3g} ms"
    return f"{value:.3g} s" if value < 600 else f"{value / 60:.0f} min"


def length(value_s: float) -> str:
    """
    >>> length(45.3), length(125.0), length(7384.0)
    ('45 s', '2 min 5 s', '2 h 3 min')
    """
    whole_s = round(value_s)
    hours, minutes, rest = whole_s // 3600, whole_s // 60 % 60, whole_s % 60
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def moment(value_s: float) -> str:
    """A time since the run's start, to a tenth of a second.

    >>> moment(7.25), moment(83.0), moment(3700.0)
    ('7.2 s', '1:23.0', '1:01:40')
    """
    if value_s < 60:
        return f"{value_s:.1f} s"
    if value_s < 3600:
        return f"{int(value_s) // 60}:{value_s % 60:04.1f}"
    return f"{int(value_s) // 3600}:{int(value_s) // 60 % 60:02d}:{int(value_s) % 60:02d}"


def percent(share: float | None) -> str:
    """Never 100% of what was broken once, never 0% of what held once.

    >>> percent(1.0), percent(0.9996), percent(0.934), percent(0.0001), percent(0.0), percent(None)
    ('100%', '>99.9%', '93.4%', '<0.1%', '0%', 'unknown')
    """
    if share is None:
        return UNKNOWN
    if share in (0.0, 1.0):
        return f"{share:.0%}"
    if share > 0.999:
        return ">99.9%"
    return "<0.1%" if share < 0.001 else f"{share * 100:.1f}".removesuffix(".0") + "%"


def plural(count: int, noun: str) -> str:
    """
    >>> plural(1, "change"), plural(0, "change"), plural(2, "query")
    ('1 change', '0 changes', '2 queries')
    """
    many = noun[:-1] + "ies" if noun.endswith("y") else noun + ("es" if noun.endswith("h") else "s")
    return f"{count:,} {noun if count == 1 else many}"
