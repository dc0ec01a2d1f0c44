#!/usr/bin/env python3
"""A Muon step over the matrices of record #17's blocks, one matrix after the other; prints one line of JSON."""

import argparse

import peer_support
import torch

A, B, C = 3.4445, -4.7750, 2.0315  # Newton-Schulz, quintic; records #3 to #21
STEPS, EPS, MOMENTUM, RATE = 5, 1e-7, 0.95, 0.02
LAYER_WITHOUT_ATTENTION = 7


def orthogonalized(g):
    is_tall = g.size(0) > g.size(1)
    x = g.mT if is_tall else g
    x = x / (x.norm() + EPS)
    for _ in range(STEPS):
        gram = x @ x.mT
        x = A * x + (B * gram + C * gram @ gram) @ x
    return x.mT if is_tall else x


def matrices(dim, layers):
    shapes = []
    for layer in range(layers):
        shapes += [(dim, dim)] * (4 if layer != LAYER_WITHOUT_ATTENTION else 0) + [(4 * dim, dim), (dim, 4 * dim)]
    return [torch.randn(shape) for shape in shapes]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("dim", "layers", "threads"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--mode", choices=("eager", "compile"), default="eager")
    parser.add_argument("--seconds", type=float, default=1.0)
    return parser.parse_args()


@torch.no_grad()
def main():
    arguments = parse_arguments()
    torch.manual_seed(1)
    torch.set_num_threads(arguments.threads)
    weights = matrices(arguments.dim, arguments.layers)
    gradients = [torch.randn_like(w) for w in weights]
    momenta = [torch.zeros_like(w) for w in weights]
    orthogonalize = torch.compile(orthogonalized) if arguments.mode == "compile" else orthogonalized

    def call():
        for weight, gradient, momentum in zip(weights, gradients, momenta):
            momentum.lerp_(gradient, 1 - MOMENTUM)
            update = orthogonalize(gradient.lerp(momentum, MOMENTUM))
            weight.add_(update, alpha=-RATE * max(1, weight.size(0) / weight.size(1)) ** 0.5)

    peer_support.report(f"muon-{arguments.mode}", call, arguments.seconds)


if __name__ == "__main__":
    main()
