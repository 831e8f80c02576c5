"""A world model written down one step at a time, with the weights of ours."""

import torch
from torch import nn

CELLS = {"lstm": nn.LSTMCell, "gru": nn.GRUCell, "elman": nn.RNNCell}


def layers(x, network):
    for layer in network:
        if isinstance(layer, nn.Linear):
            x = torch.tanh(layer(x))
    return x


def cells_of(model):
    core = model.core
    if core.name == "gatel0rd":
        return list(core.gatel0rd.cells)
    found = []
    for index in range(core.num_layers):
        size = core.input_size if index == 0 else core.hidden_size
        cell = CELLS[core.name](size, core.hidden_size).to(model.f_post.weight.dtype)
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            setattr(cell, name, getattr(core.network, f"{name}_l{index}"))
        found.append(cell)
    return found


def run_naively(model, observations, actions, real, noise=None):
    """Return predictions (T, B, O) and gates (T, B, n_L·H) or None."""
    core, hidden = model.core, model.core.hidden_size
    states = [observations.new_zeros(actions.shape[1], core.state_size)] * core.num_layers
    if model.f_init is not None:
        k = model.context_inputs
        first = torch.cat([torch.cat((actions[t], observations[t]), 1) for t in range(k)], 1)
        states = [layers(first, network) for network in model.f_init.layers]
    cells, predictions, gates = cells_of(model), [], []
    for t in range(len(actions)):
        seen = observations[t]
        if t > 0:
            seen = torch.where(real[t][:, None], observations[t], predictions[-1])
        y, opened = layers(torch.cat((actions[t], seen), 1), model.f_pre), []
        for index, cell in enumerate(cells):
            if core.name == "gatel0rd":
                part = slice(index * hidden, (index + 1) * hidden)
                drawn = None if noise is None else noise[t][:, part]
                y, states[index], theta = cell.step(y, states[index], drawn)
                opened.append(theta)
            elif core.name == "lstm":
                h, c = cell(y, states[index].chunk(2, 1))
                y, states[index] = h, torch.cat((h, c), 1)
            else:
                y = states[index] = cell(y, states[index])
        predictions.append(seen + model.residual_scale * model.f_post(y))
        gates += [torch.cat(opened, 1)] if opened else []
    return torch.stack(predictions), torch.stack(gates) if gates else None
