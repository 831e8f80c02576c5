"""The papers' equations in scalar arithmetic, one number and one loop at a time.

Numbers are floats, or ``Dual``: a value with its slope along one direction, so that the same loops
give derivatives, surrogate ones too, without backpropagation and without finite differences.
"""

import math


class Dual:
    """value + slope · ε with ε² = 0."""

    def __init__(self, value, slope=0.0):
        self.value = value
        self.slope = slope

    def __add__(self, other):
        other = lift(other)
        return Dual(self.value + other.value, self.slope + other.slope)

    def __mul__(self, other):
        other = lift(other)
        return Dual(self.value * other.value, self.slope * other.value + self.value * other.slope)

    def __sub__(self, other):
        return self + lift(other) * -1.0

    def __rsub__(self, other):
        return lift(other) - self

    __radd__ = __add__
    __rmul__ = __mul__


def lift(number):
    return number if isinstance(number, Dual) else Dual(number)


def tanh(number):
    number = lift(number)
    value = math.tanh(number.value)
    return Dual(value, (1 - value**2) * number.slope)


def sigmoid(number):
    number = lift(number)
    value = 1 / (1 + math.exp(-number.value))
    return Dual(value, value * (1 - value) * number.slope)


def step(number):
    """Θ: 1 above 0, and 0; by the straight-through estimator its slope is that of its argument."""
    number = lift(number)
    return Dual(1.0 if number.value > 0 else 0.0, number.slope)


def retanh(number):
    """max(0, tanh s), whose slope is (1 - tanh² s) above 0 and 0 elsewhere."""
    number = tanh(number)
    return number if number.value > 0 else Dual(0.0, 0.0)


def lifted(tensor, direction=None):
    """Nested lists of Dual from a tensor and the tensor of its slopes."""
    if tensor.ndim == 0:
        return Dual(tensor.item(), 0.0 if direction is None else direction.item())
    directions = [None] * len(tensor) if direction is None else direction
    return [lifted(each, slope) for each, slope in zip(tensor, directions, strict=True)]


def values(numbers):
    if isinstance(numbers, list):
        return [values(each) for each in numbers]
    return lift(numbers).value


def weighted_sum(numbers, factors):
    """Sum over nested lists, each number times its factor."""
    if isinstance(numbers, list):
        pairs = zip(numbers, factors, strict=True)
        return sum((weighted_sum(each, own) for each, own in pairs), Dual(0.0))
    return lift(numbers) * factors


def affine(weight, bias, inputs):
    results = []
    for row, start in zip(weight, bias, strict=True):
        for factor, number in zip(row, inputs, strict=True):
            start = start + factor * number
        results.append(start)
    return results


def network(layers, inputs):
    """Affine maps with tanh between."""
    for index, (weight, bias) in enumerate(layers):
        if index:
            inputs = [tanh(number) for number in inputs]
        inputs = affine(weight, bias, inputs)
    return inputs


def weights_of(module, directions=None):
    """{"g": [(W, b), ...], ...}, read by name: "g.0.weight", "g.2.weight", "p.weight"."""
    found = {}
    for name, tensor in module.named_parameters():
        direction = None if directions is None else directions[name]
        numbers = lifted(tensor.detach(), direction)
        found.setdefault(name.split(".")[0], []).append((name, numbers))
    layers = {}
    for key, entries in found.items():
        weights = [numbers for name, numbers in entries if name.endswith("weight")]
        biases = [numbers for name, numbers in entries if name.endswith("bias")]
        layers[key] = list(zip(weights, biases, strict=True))
    return layers


def gatel0rd_step(weights, x, h, noise, gate):
    """One step of one sequence: lists of I, H and H numbers in; y, h and gates out."""
    z = [*x, *h]  # the input first
    s = [a + b for a, b in zip(network(weights["g"], z), noise, strict=True)]
    candidate = [tanh(number) for number in network(weights["r"], z)]
    update = [{"retanh": retanh, "heaviside": step, "sigmoid": sigmoid}[gate](n) for n in s]
    gates = [step(number) for number in update] if gate == "retanh" else update
    new = [old + u * (r - old) for old, u, r in zip(h, update, candidate, strict=True)]
    z = [*x, *new]
    y = [tanh(number) for number in network(weights["p"], z)]
    if "o" in weights:
        factors = [sigmoid(number) for number in network(weights["o"], z)]
        y = [number * factor for number, factor in zip(y, factors, strict=True)]
    return y, new, gates


def gatel0rd(cells, x, h, resets, noises, gate):
    """Sequences through stacked cells.

    Args:
        cells: weights of each.
        x: (T, B, I).
        h: (n_L, B, H).
        resets: (T, B) booleans.
        noises: for each cell (T, B, H).
        gate: its name.

    Returns:
        y (T, B, O), h (n_L, B, H), gates (T, B, n_L·H).
    """
    h = [list(layer) for layer in h]
    outputs, gates = [], []
    for t, inputs in enumerate(x):
        outputs.append([])
        gates.append([])
        for b, y in enumerate(inputs):
            all_open = []
            for layer, weights in enumerate(cells):
                if resets[t][b]:
                    h[layer][b] = [0.0] * len(h[layer][b])
                y, h[layer][b], opened = gatel0rd_step(
                    weights, y, h[layer][b], noises[layer][t][b], gate
                )
                all_open += opened
            outputs[t].append(y)
            gates[t].append(all_open)
    return outputs, h, gates


def elman_step(weight_x, bias_x, weight_h, bias_h, x, h):
    sums = zip(affine(weight_x, bias_x, x), affine(weight_h, bias_h, h), strict=True)
    return [tanh(a + b) for a, b in sums]


def clockwork_step(weight_x, bias, weight_h, periods, clock, x, h):
    """``periods``: that of each unit, which sees the units whose period is not shorter."""
    results = []
    for i, period in enumerate(periods):
        if clock % period:
            results.append(h[i])
            continue
        drive = bias[i]
        for factor, number in zip(weight_x[i], x, strict=True):
            drive = drive + factor * number
        for j, other in enumerate(periods):
            if other >= period:
                drive = drive + weight_h[i][j] * h[j]
        results.append(tanh(drive))
    return results
