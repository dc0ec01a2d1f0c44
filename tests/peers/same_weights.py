#!/usr/bin/env python3
"""Record #17's model and optimisers in PyTorch, trained on the tokens and from the initial values of a RunSpec.

  same_weights.py init SPEC.json     writes the file that the RunSpec names as init_file (safetensors), from its seed
  same_weights.py train SPEC.json    trains as nanobench-train would; prints one line of JSON with every step's loss

It says whether nanobench-train computes what it claims, and is a peer that is timed on exactly the same training.
It reads the configurations that tests/peers/compare makes: others may set what is not looked at here.
"""

import argparse
import json
import pathlib
import statistics
import struct
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

HEADER_BYTES, HEADER_INTS = 1024, 256
SCALAR_NOISE = 0.1  # initial scalars are not all alike, so that a swapped pair shows
OUTPUT_SHARE = 0.5  # of the usual initial size, for what the record begins at zero: its gradients count from step 0
NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)  # records #3 to #21


# --- files ---------------------------------------------------------------------------------------------------------


def read_tokens(files):
    """All tokens of speedrun shards, one after the other."""
    parts = []
    for file in files:
        data = pathlib.Path(file).read_bytes()
        count = struct.unpack_from(f"<{HEADER_INTS}i", data)[2]
        parts += memoryview(data[HEADER_BYTES : HEADER_BYTES + 2 * count]).cast("H").tolist()
    return torch.tensor(parts)


def write_safetensors(path, tensors):
    header, begin, blobs = {}, 0, []
    for name, tensor in tensors.items():
        blob = struct.pack(f"<{tensor.numel()}f", *tensor.flatten().tolist())
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [begin, begin + len(blob)]}
        begin += len(blob)
        blobs.append(blob)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def read_safetensors(path):
    data = pathlib.Path(path).read_bytes()
    begin = 8 + struct.unpack_from("<Q", data)[0]
    tensors = {}
    for name, entry in json.loads(data[8:begin]).items():
        first, last = entry["data_offsets"]
        values = torch.frombuffer(bytearray(data[begin + first : begin + last]), dtype=torch.float32)
        tensors[name] = values.reshape(entry["shape"])
    return tensors


# --- model ---------------------------------------------------------------------------------------------------------


class Shape:
    def __init__(self, config):
        model = config["model"]
        self.layers, self.heads, self.dim = model["num_layers"], model["num_heads"], model["model_dim"]
        self.head_dim = self.dim // self.heads
        self.vocab, pad = model["vocab_size"], model["vocab_pad_multiple"]
        self.padded_vocab = -(-self.vocab // pad) * pad
        self.tables = model["value_embeddings"]["num_tables"]
        self.table_of = model["value_embeddings"]["layer_map"]
        self.without_attention = model["attention_skip_layers"]
        self.eps, self.cap, self.base = model["norm_eps"], model["logit_softcap"], model["rope"]["base"]


def parameter_shapes(shape):
    """Name -> shape, with the records' names."""
    shapes = {"embed.weight": (shape.vocab, shape.dim), "lm_head.weight": (shape.padded_vocab, shape.dim)}
    for table in range(shape.tables):
        shapes[f"value_embeds.embed.{table}.weight"] = (shape.vocab, shape.dim)
    for layer in range(shape.layers):
        prefix = f"blocks.{layer}."
        if layer not in shape.without_attention:
            for name in ("c_q", "c_k", "c_v", "c_proj"):
                shapes[f"{prefix}attn.{name}.weight"] = (shape.dim, shape.dim)
            shapes[prefix + "attn.lambdas"] = (2,)
        shapes[prefix + "mlp.c_fc.weight"] = (4 * shape.dim, shape.dim)
        shapes[prefix + "mlp.c_proj.weight"] = (shape.dim, 4 * shape.dim)
        shapes[prefix + "lambdas"] = (2,)
    shapes["skip_weights"] = (shape.layers // 2,)
    return shapes


def initial_values(shape, seed):
    generator = torch.Generator().manual_seed(seed)
    values = {}
    for name, size in parameter_shapes(shape).items():
        noise = torch.randn(size, generator=generator)
        if "embed" in name:
            values[name] = noise
        elif len(size) == 2:
            share = OUTPUT_SHARE if "c_proj" in name or "lm_head" in name else 1.0
            values[name] = noise * share * (3 * size[1]) ** -0.5
        else:
            centre = [1.0, 0.0] if name.endswith("lambdas") and ".attn." not in name else [0.5, 0.5]
            centre = [1.0] * size[0] if name == "skip_weights" else centre
            values[name] = torch.tensor(centre) + SCALAR_NOISE * noise
    return values


class GPT(nn.Module):
    def __init__(self, shape, values, length, dtype):
        super().__init__()
        self.shape = shape
        # Names of parameters must not have dots here.
        self.weights = nn.ParameterDict({k.replace(".", "/"): nn.Parameter(v.to(dtype)) for k, v in values.items()})
        quarter = shape.head_dim // 4
        frequencies = (1 / shape.base) ** torch.linspace(0, 1, quarter, dtype=dtype)
        frequencies = torch.cat([frequencies, torch.zeros(quarter, dtype=dtype)])
        angles = torch.outer(torch.arange(length, dtype=dtype), frequencies)
        self.cos, self.sin = angles.cos()[:, None], angles.sin()[:, None]

    def weight(self, name):
        return self.weights[name.replace(".", "/")]

    def norm(self, x):
        return F.rms_norm(x, (x.size(-1),), eps=self.shape.eps)

    def rotate(self, x):
        x1, x2 = x.chunk(2, -1)
        return torch.cat((x1 * self.cos + x2 * self.sin, x2 * self.cos - x1 * self.sin), -1)

    def attention(self, layer, x, value, mask):
        prefix, s = f"blocks.{layer}.attn.", self.shape
        q, k, v = (
            F.linear(x, self.weight(f"{prefix}{name}.weight")).view(-1, s.heads, s.head_dim)
            for name in ("c_q", "c_k", "c_v")
        )
        mix = self.weight(prefix + "lambdas")
        v = mix[0] * v if value is None else mix[0] * v + mix[1] * value.view_as(v)
        q, k = self.rotate(self.norm(q)), self.rotate(self.norm(k))
        q, k, v = (heads.transpose(0, 1)[None] for heads in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)[0]
        return F.linear(y.transpose(0, 1).reshape(x.shape), self.weight(prefix + "c_proj.weight"))

    def block(self, layer, x, x0, value, mask):
        prefix = f"blocks.{layer}."
        mix = self.weight(prefix + "lambdas")
        x = mix[0] * x + mix[1] * x0
        if layer not in self.shape.without_attention:
            x = x + self.attention(layer, self.norm(x), value, mask)
        hidden = F.relu(F.linear(self.norm(x), self.weight(prefix + "mlp.c_fc.weight"))).square()
        return x + F.linear(hidden, self.weight(prefix + "mlp.c_proj.weight"))

    def forward(self, tokens, targets, mask):
        s, half = self.shape, self.shape.layers // 2
        x = x0 = self.norm(F.embedding(tokens, self.weight("embed.weight")))
        tables = [F.embedding(tokens, self.weight(f"value_embeds.embed.{i}.weight")) for i in range(s.tables)]
        skips = []
        for layer in range(s.layers):
            if layer >= half:
                x = x + self.weight("skip_weights")[layer - half] * skips.pop()
            table = s.table_of[layer]
            x = self.block(layer, x, x0, None if table is None else tables[table], mask)
            if layer < half:
                skips.append(x)
        logits = s.cap * torch.tanh(F.linear(self.norm(x), self.weight("lm_head.weight")) / s.cap)
        return F.cross_entropy(logits, targets)


# --- training ------------------------------------------------------------------------------------------------------


def orthogonalized(g, steps, eps):
    a, b, c = NEWTON_SCHULZ
    is_tall = g.size(0) > g.size(1)
    x = g.mT if is_tall else g
    x = x / (x.norm() + eps)
    for _ in range(steps):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.mT if is_tall else x


class Optimizers:
    """Adam on tables, head and scalars; Muon on the matrices of the blocks."""

    def __init__(self, model, config):
        groups = {"embeddings": [], "lm_head": [], "scalars": []}
        self.matrices = []
        for name, weight in model.weights.items():
            if "embed" in name:
                groups["embeddings"].append(weight)
            elif name.startswith("lm_head"):
                groups["lm_head"].append(weight)
            else:
                (self.matrices if weight.ndim == 2 else groups["scalars"]).append(weight)
        settings = config["optimizer"]
        self.adam = torch.optim.Adam(
            [
                {"params": weights, "lr": settings[group]["lr"], "betas": settings[group]["betas"]}
                for group, weights in groups.items()
            ],
            eps=settings["scalars"]["eps"],
            fused=True,
        )
        self.muon, self.momentum = settings["hidden_matrices"], config["schedule"]["muon_momentum"]
        self.buffers = [torch.zeros_like(weight) for weight in self.matrices]

    @torch.no_grad()
    def step(self, index):
        self.adam.step()
        fraction = min(index / max(1, self.momentum["warmup_steps"]), 1.0)
        momentum = (1 - fraction) * self.momentum["start"] + fraction * self.momentum["end"]
        for weight, buffer in zip(self.matrices, self.buffers):
            buffer.lerp_(weight.grad, 1 - momentum)
            update = orthogonalized(weight.grad.lerp_(buffer, momentum), self.muon["ns_steps"], self.muon["ns_eps"])
            weight.add_(update, alpha=-self.muon["lr"] * max(1, weight.size(0) / weight.size(1)) ** 0.5)


def visible(tokens, config):
    """[T, T]: which keys a query sees. Documents, where they count, begin at the separator."""
    attention = config["attention"]
    i = torch.arange(tokens.size(0))
    mask = (i[:, None] >= i) & (i[:, None] - i < attention["window"]["schedule"]["tokens"])
    if attention["document_mask"]:
        documents = (tokens == attention["document_separator"]).cumsum(0)
        mask &= documents[:, None] == documents
    return mask


def train(spec, mode):
    config, dtype = spec["config"], getattr(torch, spec["dtype"])
    torch.set_num_threads(spec["threads"])
    length, sequences = config["data"]["sequence_length"], config["data"]["sequences_per_step"]
    tokens = read_tokens(spec["train_shards"])
    model = GPT(Shape(config), read_safetensors(spec["init_file"]), length, dtype)
    optimizers = Optimizers(model, config)
    loss_of = torch.compile(model) if mode == "compile" else model
    losses, samples = [], {"step_ms": [], "forward_ms": [], "backward_ms": [], "optimizer_ms": []}
    masks_differ, mask = config["attention"]["document_mask"], None
    for step in range(config["run"]["stop_after"]):
        loss_sum, spent = 0.0, dict.fromkeys(samples, 0.0)
        begin = time.perf_counter()
        for index in range(step * sequences, (step + 1) * sequences):
            ids = tokens[index * length : (index + 1) * length + 1]
            mask = visible(ids[:-1], config) if masks_differ or mask is None else mask
            times = [time.perf_counter()]
            loss = loss_of(ids[:-1], ids[1:], mask)
            times.append(time.perf_counter())
            (loss / sequences).backward()
            times.append(time.perf_counter())
            spent["forward_ms"] += times[1] - times[0]
            spent["backward_ms"] += times[2] - times[1]
            loss_sum += loss.item()
        before_update = time.perf_counter()
        optimizers.step(step)
        model.zero_grad(set_to_none=True)
        end = time.perf_counter()
        spent.update(optimizer_ms=end - before_update, step_ms=end - begin)
        losses.append(loss_sum / sequences)
        for name, seconds in spent.items():
            samples[name].append(round(1e3 * seconds, 4))
    steady = {name: statistics.median(values[len(values) // 2 :]) for name, values in samples.items()}
    rate = round(1e3 * length * sequences / steady["step_ms"], 1)
    name = f"torch-{torch.__version__}-{mode}-same-weights"
    return {"peer": name, "tokens_per_s": rate, **steady, "loss": losses[-1], "losses": losses, "samples": samples}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("init", "train"))
    parser.add_argument("spec", type=pathlib.Path)
    parser.add_argument("--mode", choices=("eager", "compile"), default="eager")
    arguments = parser.parse_args()
    spec = json.loads(arguments.spec.read_text(encoding="utf-8"))
    if "init_file" not in spec:
        sys.exit(f"{arguments.spec} names no init_file")
    if arguments.action == "init":
        write_safetensors(spec["init_file"], initial_values(Shape(spec["config"]), spec["seed"]))
        print(json.dumps({"init_file": spec["init_file"]}))
    else:
        print(json.dumps(train(spec, arguments.mode)))


if __name__ == "__main__":
    main()
