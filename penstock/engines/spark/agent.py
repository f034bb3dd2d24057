"""The client of the agent in a Spark driver: facts, state, the lease, plans."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.errors import ChangeRefused, LeaseTaken, NotAttached

Json = Mapping[str, Any]

# Straight to the driver: a proxy that the environment names would get the token, and could not reach loopback.
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True, slots=True)
class Page:
    next: int
    missed: int
    facts: tuple[Json, ...]


@dataclass(frozen=True, slots=True)
class Agent:
    """`url` and `token` as the driver announced them in its run directory."""

    url: str
    token: str
    timeout_s: float = 5.0

    @classmethod
    def in_directory(cls, run: Path) -> Agent:
        try:
            return cls((run / "url").read_text().strip(), (run / "token").read_text().strip())
        except FileNotFoundError as error:
            raise NotAttached(f"no agent is announced in {run}: {Path(error.filename).name} is missing") from None
        except OSError as error:
            raise NotAttached(f"{error.filename} cannot be read: {error.strerror}") from None

    def facts(self, since: int, wait_ms: int = 0) -> Page:
        lines = self._ask("GET", f"/facts?since={since}&wait_ms={wait_ms}").splitlines()
        head = json.loads(lines[0])
        return Page(head["next"], head["missed"], tuple(json.loads(line) for line in lines[1:]))

    def state(self) -> Json:
        return self._json("GET", "/state")

    def take_lease(self, holder: str, ttl_s: float, renewing: str | None = None) -> Json:
        return self._json(
            "POST", "/lease", {"holder": holder, "ttl_s": ttl_s, **({"lease": renewing} if renewing else {})}
        )

    def release(self, lease: str) -> None:
        self._ask("POST", "/release", {"lease": lease})

    def want(self, lease: str, version: int, plans: Mapping[str, Json]) -> int:
        """The new version. Refused whole where a plan is not valid, or was not made for the current version."""
        return int(self._json("POST", "/plans", {"lease": lease, "version": version, "plans": plans})["version"])

    def _json(self, method: str, path: str, body: Json | None = None) -> Json:
        answer: Json = json.loads(self._ask(method, path, body))
        return answer

    def _ask(self, method: str, path: str, body: Json | None = None) -> str:
        data = None if body is None else json.dumps(body).encode()
        header = {"Authorization": f"Bearer {self.token}"}
        try:
            request = urllib.request.Request(self.url + path, data, header, method=method)
            with DIRECT.open(request, timeout=self.timeout_s + 10) as answer:
                return str(answer.read().decode())
        except urllib.error.HTTPError as error:
            raise _refusal(error.code, error.read().decode()) from None
        except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as error:
            raise NotAttached(f"the agent at {self.url} does not answer: {error}") from None


def _refusal(code: int, body: str) -> Exception:
    if code == 401:
        return NotAttached("the agent does not take this token")
    try:
        why = str(json.loads(body)["error"])
    except (ValueError, KeyError, TypeError):
        return NotAttached(f"what answers there is no agent of Penstock: HTTP status {code}")
    if code == 409 and "holds the lease" in why:
        return LeaseTaken(why)
    return ChangeRefused(why)
