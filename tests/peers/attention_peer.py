#!/usr/bin/env python3
"""torch's scaled_dot_product_attention with a boolean mask, forward and backward; prints one line of JSON.

The mask is made once, outside of the timed calls, as a training step would keep it.
"""

import argparse

import peer_support
import torch
import torch.nn.functional as F


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("seq", "heads", "head-dim", "window", "threads"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--seconds", type=float, default=1.0)
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    torch.manual_seed(1)
    torch.set_num_threads(arguments.threads)
    shape = (1, arguments.heads, arguments.seq, arguments.head_dim)
    q, k, v = (torch.randn(shape, requires_grad=True) for _ in range(3))
    dy = torch.randn(shape)
    i = torch.arange(arguments.seq)
    mask = (i[:, None] >= i) & (i[:, None] - i < arguments.window)

    def call():
        F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=0.12).backward(dy)
        q.grad = k.grad = v.grad = None

    peer_support.report("sdpa", call, arguments.seconds)


if __name__ == "__main__":
    main()
