#!/usr/bin/python3
"""Training steps of the language models in plain PyTorch, as a careful user would write them.

The peer of medgrad_language_bench: the same models, sizes and dropout, random tokens, one plain SGD step with clipping
per batch. Prints one line of JSON: tokens per second, milliseconds per step (the median), those of
processor time, which other programs disturb less, and peak memory.
"""
import argparse
import ctypes
import json
import math
import os
import resource
import time


def tune_malloc():
    """glibc keeps the large buffers of a step for the next one; before anything is allocated."""
    libc = ctypes.CDLL("libc.so.6")
    for option, value in ((-4, 0), (-1, -1), (-2, 64 << 20)):  # M_MMAP_MAX, M_TRIM_THRESHOLD, M_TOP_PAD
        libc.mallopt(option, value)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", choices=("ptb", "wikitext2", "squad"), default="ptb")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--kernels", default="", help="processor whose code OpenBLAS takes, as medgrad's bench prints it; "
                        "it takes the slowest by itself where it does not know the processor")
    return parser.parse_args()


tune_malloc()
options = arguments()
if options.kernels:
    os.environ["OPENBLAS_CORETYPE"] = options.kernels  # read when the library is loaded
import torch
from torch import nn


class Encoder(nn.Module):
    """nn.TransformerEncoder with a causal mask between an embedding and a linear layer."""

    def __init__(self, vocabulary, width=200, heads=2, hidden=200, layers=2, dropout=0.2):
        super().__init__()
        self.width = width
        self.emb = nn.Embedding(vocabulary, width)
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(width, heads, hidden, dropout), layers)
        self.dec = nn.Linear(width, vocabulary)
        position = torch.arange(5000).unsqueeze(1)
        frequency = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        table = torch.zeros(5000, 1, width)
        table[:, 0, 0::2] = torch.sin(position * frequency)
        table[:, 0, 1::2] = torch.cos(position * frequency)
        self.register_buffer("positions", table)

    def forward(self, tokens):
        time_steps = tokens.size(0)
        mask = torch.triu(torch.full((time_steps, time_steps), float("-inf")), diagonal=1)
        x = self.drop(self.emb(tokens) * math.sqrt(self.width) + self.positions[:time_steps])
        return self.dec(self.encoder(x, mask))


class RelativeLayer(nn.Module):
    def __init__(self, width, heads, hidden, dropout):
        super().__init__()
        self.heads, self.head = heads, width // heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.r = nn.Linear(width, width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.drop = nn.Dropout(dropout)
        self.feed = nn.Sequential(
            nn.Linear(width, hidden), nn.ReLU(inplace=True), nn.Dropout(dropout), nn.Linear(hidden, width),
            nn.Dropout(dropout))

    @staticmethod
    def shift(x):
        """(batch, heads, queries, distances) to (batch, heads, queries, keys)."""
        b, h, q, k = x.shape
        padded = torch.cat([x.new_zeros(b, h, q, 1), x], dim=3).view(b, h, k + 1, q)
        return padded[:, :, 1:].reshape(b, h, q, k)

    def forward(self, x, positions, u, v, mask):
        t, b, width = x.shape
        q, k, value = self.qkv(x).view(t, b, 3, self.heads, self.head).permute(2, 1, 3, 0, 4)  # (batch, heads, time, head)
        r = self.r(positions).view(t, self.heads, self.head).permute(1, 2, 0)  # (heads, head, distances)
        content = torch.matmul(q + u[:, None], k.transpose(2, 3))
        position = self.shift(torch.matmul(q + v[:, None], r))
        score = ((content + position) / math.sqrt(self.head)).masked_fill(mask, float("-inf"))
        a = torch.matmul(torch.softmax(score, dim=-1), value).permute(2, 0, 1, 3).reshape(t, b, width)
        x = self.norm1(x + self.drop(self.out(a)))
        return self.norm2(x + self.feed(x))


class TransformerXL(nn.Module):
    def __init__(self, vocabulary, width=512, heads=8, hidden=2048, layers=6, dropout=0.1):
        super().__init__()
        self.width = width
        self.emb = nn.Embedding(vocabulary, width)
        self.u = nn.Parameter(0.02 * torch.randn(heads, width // heads))
        self.v = nn.Parameter(0.02 * torch.randn(heads, width // heads))
        self.drop = nn.Dropout(dropout)
        self.layers = nn.ModuleList(RelativeLayer(width, heads, hidden, dropout) for _ in range(layers))
        self.dec = nn.Linear(width, vocabulary)

    def forward(self, tokens):
        t = tokens.size(0)
        frequency = 10000.0 ** (-torch.arange(0, self.width, 2) / self.width)
        angle = torch.arange(t - 1, -1, -1.0).unsqueeze(1) * frequency
        positions = self.drop(torch.cat([angle.sin(), angle.cos()], dim=1))
        mask = torch.ones(t, t, dtype=torch.bool).triu(1)
        x = self.drop(self.emb(tokens) * math.sqrt(self.width))
        for layer in self.layers:
            x = layer(x, positions, self.u, self.v, mask)
        return self.dec(self.drop(x))


def initialise(module):
    if isinstance(module, (nn.Linear, nn.Embedding)):
        nn.init.normal_(module.weight, 0, 0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)


class QuestionAnswering(nn.Module):
    """DistilBERT with a head of two numbers per token, on tokens (batch, length)."""

    def __init__(self, vocabulary, width=768, heads=12, hidden=3072, layers=6, dropout=0.1):
        super().__init__()
        self.emb, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(512, width)
        self.norm, self.drop = nn.LayerNorm(width, eps=1e-12), nn.Dropout(dropout)
        layer = nn.TransformerEncoderLayer(width, heads, hidden, dropout, activation="gelu", layer_norm_eps=1e-12, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers)
        self.head = nn.Linear(width, 2)

    def forward(self, tokens):
        x = self.drop(self.norm(self.emb(tokens) + self.positions(torch.arange(tokens.size(1)))))
        return self.head(self.drop(self.encoder(x)))


TASKS = {"ptb": (10000, 35, Encoder), "wikitext2": (33278, 128, TransformerXL), "squad": (30522, 256, QuestionAnswering)}


def loss_of(model, vocabulary, length):
    """A loss on random tokens, always the same."""
    criterion = nn.CrossEntropyLoss()
    if options.task == "squad":
        tokens, ends = torch.randint(vocabulary, (options.batch, length)), torch.randint(length, (options.batch, 2))

        def answers():
            logits = model(tokens)
            return (criterion(logits[:, :, 0], ends[:, 0]) + criterion(logits[:, :, 1], ends[:, 1])) / 2

        return answers
    tokens = torch.randint(vocabulary, (length + 1, options.batch))
    return lambda: criterion(model(tokens[:-1]).view(-1, vocabulary), tokens[1:].reshape(-1))


def main():
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    vocabulary, length, model_type = TASKS[options.task]
    model = model_type(vocabulary)
    model.apply(initialise)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    forward = loss_of(model, vocabulary, length)
    times, cpu, losses = [], [], []
    for _ in range(options.steps + 1):  # the first warms up
        start, cpu_start = time.perf_counter(), time.process_time()
        optimizer.zero_grad(set_to_none=True)
        loss = forward()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        times.append(time.perf_counter() - start)
        cpu.append(time.process_time() - cpu_start)
        losses.append(loss.item())
    step, cpu_step = (sorted(x[1:])[options.steps // 2] for x in (times, cpu))
    print(json.dumps({
        "program": "PyTorch " + torch.__version__.split("+")[0], "task": options.task, "batch": options.batch,
        "threads": options.threads, "tokens_per_second": length * options.batch / step, "step_ms": 1e3 * step,
        "cpu_ms": 1e3 * cpu_step, "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, "first_loss": losses[0],
        "last_loss": losses[-1]}))


if __name__ == "__main__":
    main()
