"""What is promised, and what that costs: the library's accountant."""
from __future__ import annotations

import dataclasses
import json
import os
from typing import Any, Sequence

import numpy as np

from fedplt._core import (BadValue, Error, call, given, interrupted, strings, take_text, text,
                          trainer_settings)
from fedplt._data import TASKS
from fedplt._fedplt import ffi, lib


@dataclasses.dataclass(frozen=True)
class Privacy:
    """Promises (epsilon, delta)-differential privacy of every record.

    rows: public bound on the norm of a row; longer ones are shortened to it. threat: what the adversary
    sees. tau: noise scale instead of epsilon. group: records that are replaced at once. noise "simulated" is
    for experiments and not private; so is diagnose, which measures losses without noise. classes: the class
    labels that may occur, which a classifier must be told: they are never read from the rows. ledger: file that
    adds up what all runs spend on the same records; budget: the epsilon that they may spend; ledger_account: the
    name of these records there, which rows in memory need."""

    epsilon: float | None = None
    delta: float = 1e-5
    rows: float | None = 1.0
    threat: str = "transcript"
    tau: float | None = None
    group: int = 1
    noise: str = "secure"
    diagnose: bool = False
    classes: Sequence[Any] | None = None
    ledger: str | None = None
    ledger_account: str | Sequence[str] | None = None
    budget: float | None = None

    def __post_init__(self) -> None:
        if self.classes is not None:  # so that two promises may be compared
            words = tuple(one.item() if isinstance(one, np.generic) else one for one in self.classes)
            object.__setattr__(self, "classes", words)

    def settings(self) -> dict[str, tuple[Any, str]]:
        found = {}
        for field in ("epsilon", "delta", "rows", "threat", "tau", "group", "noise", "diagnose", "budget",
                      "ledger", "ledger_account"):
            value = getattr(self, field)
            name = field.replace("_", "-") if field.startswith("ledger") else "privacy." + field
            if value is not None:
                found[name] = (value, "Privacy." + field)
        return found


class Verification:
    """What was looked at in a certificate; true where all of it holds."""

    def __init__(self, holds: bool, findings: list[tuple[bool, str]], summary: Any) -> None:
        self.holds, self.findings = holds, findings
        self.epsilon, self.delta = float(summary.epsilon), float(summary.delta)
        self.threat, self.algorithm = text(summary.threat), text(summary.algorithm)

    def __bool__(self) -> bool:
        return self.holds

    def __repr__(self) -> str:
        words = "holds" if self.holds else "does not hold"
        return f"<fedplt.privacy.Verification {words}: epsilon {self.epsilon:g}, delta {self.delta:g}>"


@ffi.def_extern(onerror=interrupted)  # type: ignore[misc]
def fpltpy_finding(handle: Any, holds: int, sentence: Any) -> None:
    ffi.from_handle(handle).append((bool(holds), text(sentence)))


def _trained(found: Any) -> Any:
    """The model of an estimator or of a run; a file's text; anything else as it is."""
    if isinstance(found, os.PathLike):
        with open(found, encoding="utf-8") as file:
            return file.read()
    return getattr(found, "model_", getattr(found, "model", found))


def verify(certificate: Any, model: Any = None) -> Verification:
    """Computes the promise of a certificate again (a dict, its text, a path, or a fedplt.Model, an
    estimator or a run that carries one) and compares every field; with a model, that it is the one the
    certificate speaks of."""
    from fedplt._model import Model

    certificate, model = _trained(certificate), _trained(model)
    if certificate is None:
        raise BadValue("there is no certificate: what was trained without privacy has none")
    if isinstance(certificate, Model):
        words = certificate.to_json()
    elif isinstance(certificate, (str, dict)):
        words = certificate if isinstance(certificate, str) else json.dumps(certificate)
    else:
        raise BadValue(f"certificate is {certificate!r}, but must be a dict, its text, a fedplt.Model, or what was "
                       "trained")
    encoded = words.encode()
    look, summary = ffi.new("fplt_certificate_look *"), ffi.new("fplt_certificate_summary *")
    if model is not None:
        held = ffi.new("char[]", (model if isinstance(model, str) else model.to_json()).encode())
        name = ffi.new("char[]", b"model")
        look.model, look.model_length, look.model_path = held, len(held) - 1, name
    findings: list[tuple[bool, str]] = []
    handle = ffi.new_handle(findings)
    look.finding, look.context = lib.fpltpy_finding, handle
    call(lib.fplt_certificate_verify, encoded, len(encoded), b"certificate", look, summary)
    return Verification(bool(summary.holds), findings, summary)


class Promise:
    """The plan of a private run that is carried out by hand (Plan.of, Node(promise=...)): what follows from public
    numbers alone. All of it may be told to everybody."""

    def __init__(self, settings: Any, roster: Any, kept: list[Any], form: tuple[str, int, int]) -> None:
        made = ffi.new("fplt_promise **")
        self._settings, self._kept, self._form = settings, kept, form
        call(lib.fplt_promise_plan, settings.pointer, roster, made)
        self._plan = ffi.gc(made[0], lib.fplt_promise_destroy)
        self.view = view = lib.fplt_promise_get_view(self._plan)
        self.epsilon, self.delta, self.threat = float(view.promised), float(view.delta), text(view.threat.name)
        self.agents, self.dimension = int(view.agents), int(view.mechanism.dimension)
        self.rounds, self.paid_rounds = int(view.rounds), int(view.mechanism.rounds)
        self.epochs, self.step, self.rho = int(view.epochs), float(view.mechanism.step), float(view.rho)
        self.tau = np.array(ffi.unpack(view.tau, view.agents))
        self.algorithm, self.solver = text(view.algorithm.name), text(view.solver.name)
        self.warning = text(view.warning)

    def model(self, x: Any, rounds: Sequence[int] | None = None, *, classes: Sequence[Any] | None = None,
              features: Sequence[str] | None = None) -> Any:
        """The model of a run that gave x, with its certificate. rounds: charged, one number an agent; all by
        default."""
        from fedplt._model import Model

        task, width, outputs = self._form
        charged = [self.rounds] * self.agents if rounds is None else [int(number) for number in rounds]
        if len(charged) != self.agents:
            raise BadValue(f"rounds has {len(charged)} numbers, but there are {self.agents} agents")
        names = [str(name) for name in classes] if classes is not None else [
            str(2 * k - 1 if outputs == 2 else k) for k in range(outputs)]
        loss = self.view.loss
        parts: dict[str, Any] = dict(task=task, loss=text(loss.name), intercept=bool(loss.intercept), features=width, classes=names,
                     names=features, radius=float(loss.row_norm), huber_delta=float(loss.huber_delta))
        words = Model.from_weights(x, **parts, training={"algorithm": self.algorithm}).to_json().encode()
        found = ffi.new("char **")
        call(lib.fplt_certificate_make, self.view, ffi.new("uint64_t[]", charged), words, len(words), found)
        return Model.from_json(take_text(found[0]))

    def __repr__(self) -> str:
        return (f"<fedplt.privacy.Promise epsilon {self.epsilon:.4g}, delta {self.delta:g}: {self.rounds} rounds of "
                f"{self.epochs} steps for {self.agents} agents>")


def plan(privacy: Privacy, records: Sequence[int], features: int, classes: int = 0, *,
         names: Sequence[str] | None = None, spare: int = 0, quorum: int = 0, **settings: Any) -> Promise:
    """Plans a private run that is carried out by hand. records: how many each agent has; features: columns of a
    row; classes: 0 in regression. spare: rounds that an agent may compute once more, paid for in advance;
    quorum: agents in every round at least, where some may miss it. Other keywords are settings of `train`
    (algorithm, loss, eps, intercept, rounds ...)."""
    task = "regression" if not classes else "binary" if classes == 2 else "classes"
    values = {**given(settings), **privacy.settings()}
    declared = trainer_settings(values, True)
    counts = ffi.new("uint64_t[]", [int(number) for number in records])
    texts, kept = strings(names)
    roster = ffi.new("fplt_roster *", {"agents": len(records), "records": counts, "names": texts,
                                       "task": TASKS[task], "features": features, "classes": classes,
                                       "spare": spare, "quorum": quorum})
    return Promise(declared, roster, [counts, texts, kept], (task, features, classes))


def _mechanism(**given: Any) -> Any:
    mechanism = ffi.new("fplt_privacy_mechanism *", lib.fplt_privacy_defaults())
    for name, value in given.items():
        try:
            setattr(mechanism, name, value)
        except AttributeError:
            legal = ", ".join(name for name, _ in ffi.typeof("fplt_privacy_mechanism").fields)
            raise TypeError(f"there is no {name}; a mechanism has {legal}") from None
    return mechanism


def epsilon(delta: float = 1e-5, threat: str = "transcript", **mechanism: Any) -> float:
    """The epsilon that noisy local training keeps at delta. The mechanism by the library's names:
    sensitivity, records, step, epochs, rounds, noise_tau, strong_convexity, smoothness, inverse_rho ..."""
    claim, found = ffi.new("fplt_privacy_claim *"), ffi.new("double *")
    call(lib.fplt_privacy_claim_make, _mechanism(**mechanism), threat.encode(), claim)
    call(lib.fplt_privacy_epsilon, claim, lib.FPLT_CONVERT_BEST, delta, found)
    return float(found[0])


def calibrate(epsilon: float, delta: float = 1e-5, threat: str = "transcript", **mechanism: Any) -> float:
    """The least noise_tau that keeps (epsilon, delta)."""
    budget = ffi.new("fplt_privacy_budget *", [epsilon, delta, lib.FPLT_CONVERT_BEST])
    found = ffi.new("double *")
    call(lib.fplt_privacy_calibrate_noise, _mechanism(**mechanism), threat.encode(), budget, found)
    return float(found[0])


__all__ = ["Privacy", "Promise", "plan", "Verification", "verify", "epsilon", "calibrate", "Error"]
