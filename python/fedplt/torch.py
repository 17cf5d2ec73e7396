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


class Site:
    """The mean loss of a module over one site's rows, as a cost over its flat parameters, with a ridge of
    weight `alpha`. The library draws the minibatches. Each site has a copy of the module; loss(output, y)
    must be a mean over rows."""

    def __init__(self, module: Any, loss: Any, X: Any, y: Any, alpha: float = 0.0) -> None:
        self.module, self.loss, self.alpha = copy.deepcopy(module), loss, alpha
        self.X, self.y = torch.as_tensor(X), torch.as_tensor(y)
        if len(self.X) != len(self.y):
            raise ValueError(f"there are {len(self.X)} rows, but {len(self.y)} labels")
        self.records = len(self.X)
        self.dimension = sum(parameter.numel() for parameter in self.module.parameters())

    def start(self) -> np.ndarray[Any, Any]:
        """The module's parameters as they are."""
        flat = parameters_to_vector(self.module.parameters()).detach().double().numpy()
        return np.array(flat)

    def load(self, x: Any) -> Any:
        """Puts a vector into the module, and returns it."""
        like = next(self.module.parameters())
        vector = torch.as_tensor(np.asarray(x), dtype=like.dtype)
        with torch.no_grad():
            vector_to_parameters(vector, self.module.parameters())
        return self.module

    def _loss(self, x: Any, rows: Any = None) -> Any:
        module = self.load(x)
        chosen, labels = (self.X, self.y) if rows is None else (self.X[rows], self.y[rows])
        found = self.loss(module(chosen), labels)
        if self.alpha:
            found = found + self.alpha / 2 * sum((p * p).sum() for p in module.parameters())
        return found

    def _slope(self, loss: Any, **options: Any) -> Any:
        return torch.cat([g.reshape(-1) for g in
                          torch.autograd.grad(loss, list(self.module.parameters()), **options)])

    def value(self, x: Any) -> float:
        with torch.no_grad():
            return float(self._loss(x))

    def gradient(self, x: Any) -> np.ndarray[Any, Any]:
        return self.value_and_gradient(x)[1]

    def value_and_gradient(self, x: Any) -> tuple[float, np.ndarray[Any, Any]]:
        loss = self._loss(x)
        return float(loss), np.asarray(self._slope(loss).double().numpy())

    def batch_gradient(self, x: Any, rows: Any) -> np.ndarray[Any, Any]:
        return np.asarray(self._slope(self._loss(x, torch.as_tensor(rows))).double().numpy())

    def hessian_times(self, x: Any, v: Any) -> np.ndarray[Any, Any]:
        slope = self._slope(self._loss(x), create_graph=True)
        along = (slope * torch.as_tensor(v, dtype=slope.dtype)).sum()
        return np.asarray(self._slope(along, allow_unused=False).double().numpy())

    def hits(self, x: Any) -> int:
        """Rows whose largest output is their label's; 0 where the outputs are no classes."""
        with torch.no_grad():
            output = self.load(x)(self.X)
        if output.ndim != 2 or self.y.ndim != 1 or self.y.is_floating_point():
            return 0
        return int((output.argmax(1) == self.y).sum())


__all__ = ["Site"]
