"""Train GPT-2 for some steps in float32: PyTorch's products, cute_py's exact ones, and those of a faster way; losses and time a step.

    python benchmarks/gpu_gpt2.py [--steps 20] [--layers 6] [--batch 8] [--length 512] [--modes float32 fast_float32]

The model is the one of `transformers`, with random weights and random tokens, the same for each run; attention stays PyTorch's. Linear layers
(the Conv1D of `transformers` and the head) go to `cute_py.torch`, whose gradients are computed in the same way. Without TF32. Prints the
largest difference of a loss from PyTorch's, relative to it, and milliseconds a step, by CUDA events after three steps. Needs PyTorch with CUDA
and transformers.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from transformers import GPT2Config, GPT2LMHeadModel
from transformers.pytorch_utils import Conv1D

import cute_py.torch as ct


@contextmanager
def computed_in(mode: str) -> Iterator[None]:
    """Linear layers are computed by cute_py in a mode, or, of "torch", as they are."""
    conv, linear = Conv1D.forward, torch.nn.Linear.forward

    def of_conv(self: Any, x: torch.Tensor) -> torch.Tensor:
        return ct.linear(x, self.weight.t(), self.bias, compute=mode)

    def of_linear(self: Any, x: torch.Tensor) -> torch.Tensor:
        return ct.linear(x, self.weight, self.bias, compute=mode)

    if mode != "torch":
        Conv1D.forward, torch.nn.Linear.forward = of_conv, of_linear  # type: ignore[method-assign]
    try:
        yield
    finally:
        Conv1D.forward, torch.nn.Linear.forward = conv, linear  # type: ignore[method-assign]


def train(mode: str, options: argparse.Namespace) -> tuple[list[float], float]:
    """Return the loss of each step, and the median of milliseconds a step."""
    torch.manual_seed(0)
    config = GPT2Config(n_layer=options.layers, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
    model = GPT2LMHeadModel(config).cuda().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    tokens = torch.randint(config.vocab_size, (options.batch, options.length), device="cuda")
    losses, times = [], []
    with computed_in(mode):
        for _ in range(options.steps):
            events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
            events[0].record()
            loss = model(tokens, labels=tokens).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            events[1].record()
            torch.cuda.synchronize()
            losses.append(loss.item())
            times.append(events[0].elapsed_time(events[1]))
    return losses, statistics.median(times[3:])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for name, default in (("steps", 20), ("layers", 6), ("batch", 8), ("length", 512)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--modes", nargs="+", default=["float32", "fast_float32"])
    options = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    expected, torch_ms = train("torch", options)
    print(f"torch            {torch_ms:6.2f} ms a step, loss {expected[0]:.4f} to {expected[-1]:.4f}", flush=True)
    for mode in options.modes:
        losses, ms = train(mode, options)
        off = max(abs(x - y) / y for x, y in zip(losses, expected, strict=True))
        print(f"{mode:16} {ms:6.2f} ms a step, {torch_ms / ms:.2f} times, losses differ by {off:.1e}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
