"""What is promised, and what that costs: the library's accountant."""
from __future__ import annotations

import dataclasses
import json
from typing import Any, Sequence

from fedplt._core import Error, as_text, call, interrupted, text
from fedplt._fedplt import ffi, lib


@dataclasses.dataclass(frozen=True)
class Privacy:
    """Promises (epsilon, delta)-differential privacy of every record.

    rows: public bound on the norm of a row; longer ones are shortened to it. threat: what the adversary
    sees. tau: noise scale instead of epsilon. group: records that are replaced at once. noise "simulated" is
    for experiments and not private; so is diagnose, which measures losses without noise. classes: the class
    labels that may occur, which a classifier must be told: they are never read from the rows."""

    epsilon: float | None = None
    delta: float = 1e-5
    rows: float | None = 1.0
    threat: str = "transcript"
    tau: float | None = None
    group: int = 1
    noise: str = "secure"
    diagnose: bool = False
    classes: Sequence[Any] | None = None

    def settings(self) -> dict[str, tuple[str, str]]:
        found = {}
        for field in ("epsilon", "delta", "rows", "threat", "tau", "group", "noise", "diagnose"):
            value = getattr(self, field)
            if value is not None:
                found["privacy." + field] = (as_text(value), "Privacy." + field)
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


def verify(certificate: Any, model: Any = None) -> Verification:
    """Computes the promise of a certificate again (a dict, its text, or a fedplt.Model or estimator that
    carries one) and compares every field; with a model, that it is the one the certificate speaks of."""
    from fedplt._model import Model

    certificate = getattr(certificate, "model_", certificate)
    model = getattr(model, "model_", model)
    if isinstance(certificate, Model):
        words = certificate.to_json()
    else:
        words = certificate if isinstance(certificate, str) else json.dumps(certificate)
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


__all__ = ["Privacy", "Verification", "verify", "epsilon", "calibrate", "Error"]
