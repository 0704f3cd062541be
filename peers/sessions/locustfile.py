"""Sessions of a brokerage, as users of Locust play them: the script that `weigh run` plays over HTTP, requests and order.

    locust -f locustfile.py --headless --users 16 --host http://127.0.0.1:8080 --script FOLDER

When all sessions are over the database is made what it was at first, which is in no figure, and they begin again. Replies
are looked into where a session needs them: for its holdings. Nothing else of them is checked.
"""

from __future__ import annotations

import pathlib
import urllib.request
from typing import Any

import gevent.event
from locust import FastHttpUser, constant, events, task
from locust.env import Environment


class Passage:
    """The sessions of the script, each taken by the next user that is free."""

    def __init__(self, script: pathlib.Path, host: str) -> None:
        lines = (script / "workload.txt").read_text(encoding="utf-8").splitlines()
        self.sessions = [line.split("\t") for line in lines if not line.startswith("#")]
        self.host = host
        self.next = len(self.sessions)
        self.playing = 0
        self.restored = gevent.event.Event()

    def take(self) -> list[str]:
        """The next session; waits until a new passage begins where there is none left."""
        while self.next == len(self.sessions):
            if self.playing == 0:
                self.playing = 1
                request = urllib.request.Request(f"{self.host}/control/reset", method="POST")
                urllib.request.urlopen(request, timeout=60).read()
                self.playing, self.next = 0, 0
                self.restored.set()
            else:
                self.restored.clear()
                self.restored.wait()
        self.next += 1
        self.playing += 1
        return self.sessions[self.next - 1]

    def give_back(self) -> None:
        self.playing -= 1
        if self.playing == 0:
            self.restored.set()


@events.init_command_line_parser.add_listener
def _(parser: Any) -> None:
    parser.add_argument("--script", required=True, help="folder of the script")


passage: Passage


@events.test_start.add_listener
def _(environment: Environment, **_others: object) -> None:
    global passage
    assert environment.parsed_options is not None and environment.host is not None
    passage = Passage(pathlib.Path(environment.parsed_options.script), environment.host)


class Customer(FastHttpUser):
    """One connection that plays sessions, one after another, without a pause."""

    wait_time = constant(0)

    @task
    def session(self) -> None:
        user, password, *steps = passage.take()
        try:
            self.call("POST", "login", "/login", {"user": user, "password": password})
            for step in steps:
                user = self.play(user, step)
            self.call("POST", "logout", f"/users/{user}/logout")
        finally:
            passage.give_back()

    def play(self, user: str, step: str) -> str:
        """One action; the user who acts from now on."""
        kind, _, words = step.partition(" ")
        match kind:
            case "h":
                self.call("GET", "account", f"/users/{user}/account")
                self.holdings(user)
            case "p":
                for holding in self.holdings(user):
                    self.quote(holding["symbol"])
            case "q":
                self.quote(words)
            case "b":
                symbol, quantity = words.split()
                self.call("POST", "buy", f"/users/{user}/buy", {"symbol": symbol, "quantity": int(quantity)})
            case "s":
                symbol, quantity = words.split()
                wanted = (symbol, int(quantity))
                held = self.holdings(user)
                holding = next(one["id"] for one in held if (one["symbol"], one["quantity"]) == wanted)
                self.call("POST", "sell", f"/users/{user}/sell", {"holding": holding})
            case "u":
                self.call("PUT", "update", f"/users/{user}/profile", profile(words.split("|")))
            case "r":
                self.call("POST", "logout", f"/users/{user}/logout")
                user, balance, *rest = words.split("|")
                self.call("POST", "register", "/users", {"user": user, "balance": int(balance) * 100, **profile(rest)})
        return user

    def quote(self, symbol: str) -> None:
        self.call("GET", "quote", f"/quotes/{symbol}")

    def holdings(self, user: str) -> list[dict[str, Any]]:
        return self.call("GET", "holdings", f"/users/{user}/holdings").json()["holdings"]

    def call(self, method: str, name: str, path: str, body: dict[str, Any] | None = None) -> Any:
        return self.client.request(method, path, name=name, json=body)


def profile(words: list[str]) -> dict[str, str]:
    return dict(zip(("card", "email", "password", "full_name", "address"), words, strict=True))
