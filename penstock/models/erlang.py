"""M/M/k by Erlang's C formula: what DRS sizes operators with.

E[T] = 1 / mu + C(k, lambda / mu) / (k mu - lambda),   mu := (1 - eps) mu0

lambda 450, mu0 100, eps 0 :  k 5 -> .02525, 6 -> .01281         least k for 1 / .02 / .015 s: 5, 6, 6
                     eps .2:  k 6 -> .04028, 7 -> .01699, 8 -> .01395                          6, 7, 8
"""

from __future__ import annotations

MOST_SERVERS = 100_000


def waiting_probability(servers: int, load: float) -> float:
    """C(k, load), by the recursion of Erlang's B: it neither overflows nor cancels.

    >>> round(waiting_probability(1, 0.5), 6)
    0.5
    """
    blocked = 1.0
    for k in range(1, servers + 1):
        blocked = load * blocked / (k + load * blocked)
    busy = load / servers
    return blocked / (1 - busy * (1 - blocked))


def sojourn_s(rows_per_s: float, service_rows_per_s: float, servers: int) -> float | None:
    """Mean time of a row in the queue and in service; None where there is no steady state.

    >>> round(sojourn_s(450, 100, 6), 5)
    0.01281
    """
    lam, mu = rows_per_s, service_rows_per_s
    if servers * mu <= lam:
        return None
    return 1 / mu + waiting_probability(servers, lam / mu) / (servers * mu - lam)


def least_servers(rows_per_s: float, service_rows_per_s: float, limit_s: float) -> int | None:
    """None where even an idle server is too slow.

    >>> least_servers(450, 80, 0.02), least_servers(450, 100, 0.005)
    (7, None)
    """
    lam, mu = rows_per_s, service_rows_per_s
    if mu <= 0 or 1 / mu >= limit_s:
        return None
    first = int(lam / mu) + 1
    for servers in range(first, MOST_SERVERS):
        found_s = sojourn_s(lam, mu, servers)
        if found_s is not None and found_s <= limit_s:
            return servers
    return None
