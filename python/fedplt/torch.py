"""Sites whose model is a torch module.

    sites = [fedplt.torch.Site(module, torch.nn.functional.cross_entropy, X, y) for X, y in data]
    run = fedplt.minimise(sites, start=sites[0].start(), solver="sgd", epochs=5, batch=16)
    sites[0].load(run.x)

In an agent of a federation over a network, the module's first values are where a run starts:

    site = fedplt.torch.Site(module, torch.nn.functional.cross_entropy, X, y, name="mlp")
    fedplt.Agent(cost=site, ...)
"""
from __future__ import annotations

import contextlib
import copy
import hashlib
import inspect
import threading
from typing import Any, Iterator

import numpy as np
import torch
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters

from fedplt._core import BadValue, Vector
from fedplt.federation import digest

try:
    from torch.func import functional_call as _functional_call, grad as _grad, vmap as _vmap  # from 2.0
except ImportError:
    from functorch import grad as _grad, vmap as _vmap
    from torch.nn.utils.stateless import functional_call as _functional_call

_BUFFERS = ("local", "averaged")
_GENERATOR = threading.Lock()  # torch has one generator for all threads
_RANDOM = (torch.nn.modules.dropout._DropoutNd, torch.nn.RReLU)


def _flat(vector: Any) -> Vector:
    return np.asarray(vector.detach().double().cpu().numpy())


def _source(part: Any) -> str:
    """A class or function of the user's by its source, one of torch by its name."""
    name = f"{getattr(part, '__module__', '')}.{getattr(part, '__qualname__', type(part).__qualname__)}"
    if name.startswith("torch."):
        return name
    try:
        return name + inspect.getsource(part)
    except (OSError, TypeError):
        return name


class Site:
    """The mean loss of a module over one site's rows, as a cost over its flat parameters, with a ridge of
    weight `alpha`. The library draws the minibatches. Each site has a copy of the module; loss(output, y)
    must be a mean over rows. Rows of floats take the type and place of the module's parameters. Parameters that
    are frozen (requires_grad is false) stay as they are, and parts in mode eval() stay in it.

    buffers: the running statistics of batch normalisation are "local" (each site's own, of its rows, made anew by
    `load`) or "averaged" (extra coordinates behind the parameters, which follow the mean over the sites). Other buffers
    stay as they are. Training itself uses the statistics of the minibatch, and dropout draws by a key of x and rows, so
    that a call depends on its arguments only.

    record_gradients(x, rows) is for privacy: the gradients of single records, each by a pass over that record alone. It is
    None where the module has dropout, or batch normalisation that would train by the statistics of a minibatch: there the
    gradient of a record depends on others, and nothing can be promised.

    name, version: those of a custom cost over a network (fedplt.Agent). x then counts from the module's first values,
    where a run starts, and `digest` covers module, loss, first values, alpha and buffers: all sites make the module with
    the same seed. curvature: bounds of the second derivative; estimated at the start where it is None."""

    def __init__(self, module: Any, loss: Any, X: Any, y: Any, alpha: float = 0.0, *, buffers: str = "local",
                 name: str | None = None, version: str = "1", curvature: tuple[float, float] | None = None) -> None:
        if buffers not in _BUFFERS:
            raise BadValue(f"buffers is {buffers!r}, but must be one of {', '.join(_BUFFERS)}")
        self.module, self.loss, self.alpha, self.buffers = copy.deepcopy(module), loss, alpha, buffers
        self.parameters = [one for one in self.module.parameters() if one.requires_grad]
        if not self.parameters:
            raise ValueError("the module has no parameters to be trained")
        self._norms = [one for one in self.module.modules()
                       if isinstance(one, _BatchNorm) and one.running_mean is not None and one.training]
        self._is_random = any(isinstance(one, _RANDOM) and one.training for one in self.module.modules())
        self.X, self.y = self._tensor(X), self._tensor(y)
        if len(self.X) != len(self.y):
            raise ValueError(f"there are {len(self.X)} rows, but {len(self.y)} labels")
        self.records = len(self.X)
        self._trained = sum(parameter.numel() for parameter in self.parameters)
        self._statistics = 2 * sum(one.num_features for one in self._norms) if buffers == "averaged" else 0
        self.dimension = self._trained + self._statistics
        self.curvature = curvature
        if self.y.ndim != 1 or self.y.is_floating_point():
            setattr(self, "hits", None)  # no classes, so nothing to hit
        if self._is_random or any(isinstance(one, _BatchNorm) and (one.training or one.running_mean is None)
                                  for one in self.module.modules()):
            setattr(self, "record_gradients", None)
        self.name, self.version = name, version
        self.digest = self._digest() if name is not None else None
        self.origin = self.start() if name is not None else np.zeros(self.dimension)

    def _digest(self) -> str:
        own = sorted({_source(type(one)) for one in self.module.modules()})
        values = b"".join(np.ascontiguousarray(value.detach().cpu().numpy()).tobytes()
                          for value in self.module.state_dict().values())
        return digest("fedplt.torch.Site 1", repr(self.module), *own, _source(self.loss), values, repr(float(self.alpha)),
                      self.buffers)

    def _tensor(self, values: Any) -> Any:
        """As the module wants it: floats of its own type, whole numbers as labels are."""
        if hasattr(values, "to_numpy"):
            values = values.to_numpy()
        found = torch.as_tensor(values)
        like = self.parameters[0]
        kind = like.dtype if found.is_floating_point() else torch.int64
        return found.to(device=like.device, dtype=kind)

    def start(self) -> Vector:
        """The module's values as they are: parameters, and statistics where they are averaged."""
        return np.concatenate([_flat(parameters_to_vector(self.parameters)), self._read() if self._statistics else []])

    def load(self, x: Any) -> Any:
        """Puts a vector into the module, with the site's own statistics where buffers are local, and returns it."""
        self._put(x)
        if self._statistics:
            self._write(self._absolute(x)[self._trained:])
        elif self._norms:
            with self._training():
                found = self._measure(None)
            self._write(found)
        return self.module

    def _absolute(self, x: Any) -> Any:
        values = np.asarray(x)
        if values.shape != (self.dimension,):
            raise ValueError(f"x has shape {values.shape}, but must have ({self.dimension},)")
        return values + getattr(self, "origin", 0.0)

    def _put(self, x: Any) -> None:
        like = self.parameters[0]
        vector = torch.as_tensor(self._absolute(x)[:self._trained], dtype=like.dtype, device=like.device)
        vector_to_parameters(vector, self.parameters)

    # ---- batch normalisation and dropout ----

    def _read(self) -> Vector:
        return _flat(torch.cat([part for one in self._norms for part in (one.running_mean, one.running_var)]))

    def _write(self, statistics: Vector) -> None:
        place = 0
        for one in self._norms:
            for part in (one.running_mean, one.running_var):
                values = statistics[place:place + part.numel()]
                part.copy_(torch.as_tensor(values if part is one.running_mean else np.maximum(values, 0)))
                place += part.numel()

    @contextlib.contextmanager
    def _training(self, key: bytes = b"") -> Iterator[None]:
        """Forward passes by the statistics of the rows at hand, which leave no trace; what is random depends on the key."""
        kept = [(one.running_mean, one.running_var, one.num_batches_tracked, one.momentum) for one in self._norms]
        if self._is_random:
            _GENERATOR.acquire()
        state = torch.random.get_rng_state() if self._is_random else None
        try:
            for one in self._norms:  # other tensors for the pass: those of a graph must not change before its gradient
                one.running_mean, one.running_var = one.running_mean.clone(), one.running_var.clone()
                one.num_batches_tracked = one.num_batches_tracked.clone()
                one.momentum = 1.0  # the statistics after a pass are those of its rows
            if state is not None:
                torch.manual_seed(int.from_bytes(hashlib.sha256(key).digest()[:8], "little") >> 1)
            yield
        finally:
            for one, values in zip(self._norms, kept):
                one.running_mean, one.running_var, one.num_batches_tracked, one.momentum = values
            if state is not None:
                torch.random.set_rng_state(state)
                _GENERATOR.release()

    def _measure(self, rows: Any) -> Vector:
        """The statistics of a pass over rows."""
        self.module(self.X if rows is None else self.X[rows])
        return self._read()

    # There is no torch.no_grad() here: an interrupt in its end would leave gradients off, for everybody.
    def _loss(self, x: Any, rows: Any = None) -> tuple[Any, Any]:
        """The loss, and what the statistics of the rows differ from those in x."""
        self._put(x)
        chosen, labels = (self.X, self.y) if rows is None else (self.X[rows], self.y[rows])
        key = b"" if not self._is_random else np.asarray(x).tobytes() + (b"" if rows is None else rows.numpy().tobytes())
        if not self._norms and not self._is_random:
            found, gap = self.loss(self.module(chosen), labels), None
        else:
            with self._training(key):
                found = self.loss(self.module(chosen), labels)
                gap = self._absolute(x)[self._trained:] - self._read() if self._statistics else None
        if self.alpha:
            found = found + self.alpha / 2 * sum((p * p).sum() for p in self.parameters)
        return found, gap

    def _slope(self, loss: Any, **options: Any) -> Any:
        """The flat gradient; 0 for parameters that the loss does not use."""
        found = torch.autograd.grad(loss, self.parameters, allow_unused=True, **options)
        return torch.cat([(torch.zeros_like(p) if g is None else g).reshape(-1)
                          for p, g in zip(self.parameters, found)])

    def _whole(self, slope: Any, gap: Any) -> Vector:
        """With the coordinates of the statistics, whose cost is half the squared distance to the rows' own."""
        return _flat(slope) if gap is None else np.concatenate([_flat(slope), gap])

    def value(self, x: Any) -> float:
        loss, gap = self._loss(x)
        return float(loss.detach()) + (0.0 if gap is None else float(gap @ gap) / 2)

    def gradient(self, x: Any) -> Vector:
        return self.value_and_gradient(x)[1]

    def value_and_gradient(self, x: Any) -> tuple[float, Vector]:
        loss, gap = self._loss(x)
        return (float(loss.detach()) + (0.0 if gap is None else float(gap @ gap) / 2),
                self._whole(self._slope(loss), gap))

    def batch_gradient(self, x: Any, rows: Any) -> Vector:
        loss, gap = self._loss(x, torch.as_tensor(rows))
        return self._whole(self._slope(loss), gap)

    def record_gradients(self, x: Any, rows: Any) -> Vector:
        """One row each. A record passes through the module alone, so that its gradient depends on no other."""
        self._put(x)
        trained = {name: one.detach() for name, one in self.module.named_parameters() if one.requires_grad}

        def cost(parameters: Any, row: Any, label: Any) -> Any:
            found = self.loss(_functional_call(self.module, parameters, (row.unsqueeze(0),)), label.unsqueeze(0))
            return found + self.alpha / 2 * sum((p * p).sum() for p in parameters.values()) if self.alpha else found

        chosen = torch.as_tensor(rows)
        slopes = _vmap(_grad(cost), in_dims=(None, 0, 0))(trained, self.X[chosen], self.y[chosen])
        return _flat(torch.cat([slopes[name].reshape(len(chosen), -1) for name in trained], dim=1))

    def hessian_times(self, x: Any, v: Any) -> Vector:
        loss, gap = self._loss(x)
        slope = self._slope(loss, create_graph=True)
        along = (slope * torch.as_tensor(v[:self._trained], dtype=slope.dtype, device=slope.device)).sum()
        product = _flat(self._slope(along)) if along.requires_grad else np.zeros(self._trained)
        return np.concatenate([product, v[self._trained:]])

    def hits(self, x: Any) -> int:
        """Rows whose largest output is their label's; dropout is off, and normalisation by the running statistics."""
        module = self.load(x)
        modes = [(one, one.training) for one in module.modules()]
        try:
            output = module.eval()(self.X)
        finally:
            for one, mode in modes:
                one.training = mode
        return int((output.argmax(1) == self.y).sum()) if output.ndim == 2 else 0


__all__ = ["Site"]
