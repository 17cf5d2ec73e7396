"""Sites whose model is a torch module.

    sites = [fedplt.torch.Site(module, torch.nn.functional.cross_entropy, X, y) for X, y in data]
    run = fedplt.minimise(sites, start=sites[0].start(), solver="sgd", epochs=5, batch=16)
    sites[0].load(run.x)
"""
from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from torch.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters

from fedplt._core import Vector


def _flat(vector: Any) -> Vector:
    return np.asarray(vector.detach().double().cpu().numpy())


class Site:
    """The mean loss of a module over one site's rows, as a cost over its flat parameters, with a ridge of
    weight `alpha`. The library draws the minibatches. Each site has a copy of the module; loss(output, y)
    must be a mean over rows. Rows of floats take the type and place of the module's parameters. Parameters that
    are frozen (requires_grad is false) stay as they are; so do buffers, which nobody averages."""

    def __init__(self, module: Any, loss: Any, X: Any, y: Any, alpha: float = 0.0) -> None:
        self.module, self.loss, self.alpha = copy.deepcopy(module), loss, alpha
        self.parameters = [one for one in self.module.parameters() if one.requires_grad]
        if not self.parameters:
            raise ValueError("the module has no parameters to be trained")
        self.X, self.y = self._tensor(X), self._tensor(y)
        if len(self.X) != len(self.y):
            raise ValueError(f"there are {len(self.X)} rows, but {len(self.y)} labels")
        self.records = len(self.X)
        self.dimension = sum(parameter.numel() for parameter in self.parameters)
        if self.y.ndim != 1 or self.y.is_floating_point():
            setattr(self, "hits", None)  # no classes, so nothing to hit

    def _tensor(self, values: Any) -> Any:
        """As the module wants it: floats of its own type, whole numbers as labels are."""
        if hasattr(values, "to_numpy"):
            values = values.to_numpy()
        found = torch.as_tensor(values)
        like = self.parameters[0]
        kind = like.dtype if found.is_floating_point() else torch.int64
        return found.to(device=like.device, dtype=kind)

    def start(self) -> Vector:
        """The module's parameters as they are."""
        return np.array(_flat(parameters_to_vector(self.parameters)))

    def load(self, x: Any) -> Any:
        """Puts a vector into the module, and returns it."""
        like, values = self.parameters[0], np.asarray(x)
        if values.shape != (self.dimension,):
            raise ValueError(f"x has shape {values.shape}, but must have ({self.dimension},)")
        vector_to_parameters(torch.as_tensor(values, dtype=like.dtype, device=like.device), self.parameters)
        return self.module

    # There is no torch.no_grad() here: an interrupt in its end would leave gradients off, for everybody.
    def _loss(self, x: Any, rows: Any = None) -> Any:
        module = self.load(x)
        chosen, labels = (self.X, self.y) if rows is None else (self.X[rows], self.y[rows])
        found = self.loss(module(chosen), labels)
        if self.alpha:
            found = found + self.alpha / 2 * sum((p * p).sum() for p in self.parameters)
        return found

    def _slope(self, loss: Any, **options: Any) -> Any:
        """The flat gradient; 0 for parameters that the loss does not use."""
        found = torch.autograd.grad(loss, self.parameters, allow_unused=True, **options)
        return torch.cat([(torch.zeros_like(p) if g is None else g).reshape(-1)
                          for p, g in zip(self.parameters, found)])

    def value(self, x: Any) -> float:
        return float(self._loss(x).detach())

    def gradient(self, x: Any) -> Vector:
        return self.value_and_gradient(x)[1]

    def value_and_gradient(self, x: Any) -> tuple[float, Vector]:
        loss = self._loss(x)
        return float(loss.detach()), _flat(self._slope(loss))

    def batch_gradient(self, x: Any, rows: Any) -> Vector:
        return _flat(self._slope(self._loss(x, torch.as_tensor(rows))))

    def hessian_times(self, x: Any, v: Any) -> Vector:
        slope = self._slope(self._loss(x), create_graph=True)
        along = (slope * torch.as_tensor(v, dtype=slope.dtype, device=slope.device)).sum()
        return _flat(self._slope(along)) if along.requires_grad else np.zeros(self.dimension)

    def hits(self, x: Any) -> int:
        """Rows whose largest output is their label's."""
        output = self.load(x)(self.X)
        return int((output.argmax(1) == self.y).sum()) if output.ndim == 2 else 0


__all__ = ["Site"]
