"""A federation over a network, from Python: what `fedplt coordinator` and `fedplt agent` do, each in a
thread of its own.

    fedplt.federation.found("heart", "hospitals", "coordinator.example:7010")
    code = fedplt.federation.invite("heart", "basel")          # for one site, valid once
    leader = fedplt.Coordinator(folder="heart", listen="0.0.0.0:7010", roster=["basel", "chur"]).start()

    fedplt.federation.join(code, "basel")                      # at the site
    agent = fedplt.Agent(folder="basel", coordinator="https://coordinator.example:7010",
                         data="patients.csv").start()
"""
from __future__ import annotations

import hashlib
import inspect
import os
from typing import Any, Callable

from fedplt._core import BadValue, Beside, STOP, Settings, Watcher, beside, call, encoded, interrupted, given, take_text, text
from fedplt._fedplt import ffi, lib

def _path(path: Any) -> bytes:
    return os.fsencode(path)


def found(folder: Any, federation: str, address: str) -> None:
    """Makes the folder of a coordinator: authority, certificate for HOST:PORT, federation.yaml."""
    call(lib.fplt_federation_found, _path(folder), federation.encode(), address.encode())


def invite(folder: Any, name: str) -> str:
    """A code that lets the agent join: valid once, for seven days."""
    code = ffi.new("char **")
    call(lib.fplt_federation_invite, _path(folder), name.encode(), code)
    return take_text(code[0])


def request(folder: Any, name: str) -> str:
    """At the site: makes a key that never leaves the folder, and asks for a certificate."""
    words = ffi.new("char **")
    call(lib.fplt_federation_request, _path(folder), name.encode(), words)
    return take_text(words[0])


def sign(folder: Any, words: str) -> str:
    """At the coordinator: the certificate for a request, to be put beside the key as agent.pem."""
    signed = ffi.new("char **")
    call(lib.fplt_federation_sign, _path(folder), words.encode(), signed)
    return take_text(signed[0])


def join(code: str, folder: Any, proxy: str | None = None) -> str:
    """At the site, by an invitation; returns the agent's name."""
    name = ffi.new("char[64]")
    call(lib.fplt_federation_join, code.encode(), _path(folder), proxy.encode() if proxy else ffi.NULL, name)
    return text(name)


def revoke(folder: Any, name: str) -> None:
    """Ends all certificates and invitations of a name."""
    call(lib.fplt_federation_revoke, _path(folder), name.encode())


@ffi.def_extern(onerror=interrupted)  # type: ignore[misc]
def fpltpy_member(handle: Any, member: Any) -> None:
    ffi.from_handle(handle).append({"name": text(member.name), "state": text(member.state),
                                    "until": text(member.until)})


def members(folder: Any) -> list[dict[str, str]]:
    """Who may take part: name, state, until when."""
    found_members: list[dict[str, str]] = []
    call(lib.fplt_federation_members, _path(folder), lib.fpltpy_member, ffi.new_handle(found_members))
    return found_members


def free_port() -> int:
    """A port of this machine that nobody listens on, for trials."""
    port = ffi.new("unsigned *")
    call(lib.fplt_federation_port, port)
    return int(port[0])


class _Member(Watcher):
    """A side of the federation in a thread of its own."""

    _run: Any
    _name = ""

    def __init__(self, *, on_event: Callable[[dict[str, Any]], Any] | None = None, **settings: Any) -> None:
        super().__init__()
        policy = settings.pop("policy", None) or {}
        for key, value in policy.items():
            settings["policy." + key] = value
        self.settings = Settings(given(settings), self._declare)
        self.agree: Callable[[str, str], Any] | None = None
        self.on_event = on_event
        self.events: list[dict[str, Any]] = []
        self.outcome: dict[str, Any] | None = None
        self._worker: Beside | None = None
        self._watch = ffi.new("fplt_federation_watch *")
        self._watch.size = ffi.sizeof("fplt_federation_watch")
        self._watch.context = self.struct
        self._watch.tell = lib.fpltpy_event
        self._watch.stop = STOP

    def _declare(self, settings: Any, _: Any) -> None:
        raise NotImplementedError

    def run(self) -> dict[str, Any]:
        """Until it is over, or Ctrl-C ends it in order: a run goes on another time."""
        self._begin()
        beside(self._serve, self)
        assert self.outcome is not None
        return self.outcome

    def _begin(self) -> None:
        if self._worker is not None and not self._worker.done.is_set():
            raise BadValue(f"this {self._name} runs already: stop() and join() it first")
        self.struct.stop, self.failure, self.outcome = 0, None, None

    def _serve(self) -> None:
        outcome = ffi.new("fplt_federation_outcome *")
        call(self._run, self.settings.pointer, self._watch, outcome, watcher=self)
        self.outcome = {"finished": bool(outcome.finished), "rounds": int(outcome.rounds),
                        "outcome": text(outcome.outcome), "message": text(outcome.sentence),
                        "model": text(outcome.model) or None}

    def start(self) -> Any:
        """In a thread of its own."""
        self._begin()
        self._worker = Beside(self._serve)
        self._worker.start()
        return self

    def stop(self) -> None:
        """Asks it to end in order; a run goes on another time."""
        self.struct.stop = 1

    def join(self, timeout: float | None = None) -> dict[str, Any] | None:
        """Waits for its end; what came of it, or None where it still runs."""
        if self._worker is not None:
            if not self._worker.done.wait(timeout):
                return None
            if self._worker.failure is not None:
                raise self._worker.failure
        return self.outcome

    @property
    def status(self) -> dict[str, Any]:
        """The latest event."""
        return self.events[-1] if self.events else {}


def _member_failed(exception: Any, value: Any, traceback: Any) -> None:
    context = traceback.tb_frame.f_locals.get("context") if traceback is not None else None
    if context:
        _of(context).keep(value.with_traceback(traceback))
    else:
        interrupted(exception, value, traceback)


def _of(context: Any) -> Any:
    return ffi.from_handle(ffi.cast("fpltpy_watcher *", context).handle)


@ffi.def_extern(onerror=_member_failed)  # type: ignore[misc]
def fpltpy_event(context: Any, event: Any) -> None:
    member = _of(context)
    told = {"word": text(event.word), "sentence": text(event.sentence), "who": text(event.who) or None,
            "round": int(event.round), "criterion": float(event.criterion)}
    member.events.append(told)
    if member.on_event is not None:
        member.on_event(told)  # what it raises, run or join raises


@ffi.def_extern(error=0, onerror=_member_failed)  # type: ignore[misc]
def fpltpy_agree(context: Any, proposal: Any, digest: Any) -> int:
    return 1 if _of(context).agree(text(proposal), text(digest)) else 0  # an exception is no consent


class Coordinator(_Member):
    """Leads one federation. Keywords are the keys of federation.yaml; `continue` is continue_."""

    _name = "coordinator"

    def __init__(self, **settings: Any) -> None:
        self._run = lib.fplt_federation_lead
        super().__init__(**settings)

    def _declare(self, settings: Any, _: Any) -> None:
        call(lib.fplt_settings_add, settings.pointer, b"federation", lib.fplt_federation_lead_table)


def digest(*parts: Any) -> str:
    """SHA-256 of the parts in their order, as 64 hexadecimal digits: bytes, texts, and classes, functions or modules by
    their source. A cost's digest names its program: the class of the cost, and everything that changes what it computes."""
    found = hashlib.sha256()
    for part in parts:
        words = part if isinstance(part, bytes) else (part if isinstance(part, str) else inspect.getsource(part)).encode()
        found.update(len(words).to_bytes(8, "little") + words)
    return found.hexdigest()


class Agent(_Member):
    """Takes part with a site's data. Keywords are the keys of site.yaml; agree(proposal, hash) is asked
    where there is no policy.

    `cost` is the site's own cost for proposals with `loss: custom`: an object as fedplt.Costs takes it, with the attributes
    `name`, `version`, `digest` (fedplt.federation.digest) and `dimension` that the proposal must name. Its methods keep no
    state between calls, so that an agent that was killed goes on with the same bits. What they raise ends the agent, and
    run() or join() raises it."""

    _name = "agent"

    def __init__(self, *, agree: Callable[[str, str], Any] | None = None, cost: Any = None, **settings: Any) -> None:
        self._run = lib.fplt_federation_take_part
        super().__init__(**settings)
        if cost is not None:
            self._bring(cost)
        if agree is not None:
            self.agree = agree
            self._watch.agree = lib.fpltpy_agree

    def _bring(self, cost: Any) -> None:
        from fedplt.costs import Costs

        missing = [name for name in ("name", "version", "digest", "dimension") if getattr(cost, name, None) is None]
        if missing:
            raise BadValue(f"the cost has no {' and no '.join(missing)}: a proposal names a custom cost by name, version, "
                           "digest and dimension")
        self.costs = Costs([cost], cost.dimension)
        self.costs.watcher = self
        self._words = [ffi.new("char[]", encoded(str(getattr(cost, name)))) for name in ("name", "version", "digest")]
        self._cost = ffi.new("fplt_federation_cost *", {
            "size": ffi.sizeof("fplt_federation_cost"), "name": self._words[0], "version": self._words[1],
            "digest": self._words[2], "objective": self.costs.pointer})
        self._watch.cost = self._cost

    def _declare(self, settings: Any, _: Any) -> None:
        call(lib.fplt_federation_site_declare, settings.pointer)


__all__ = ["Coordinator", "Agent", "found", "invite", "request", "sign", "join", "revoke", "members",
           "free_port", "digest"]
