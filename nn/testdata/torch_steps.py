"""Times training steps, forward and backward, of the models of layers_timing_test.go, in PyTorch 2.6 on a CPU.

    python torch_steps.py [model [threads]]

It prints what go test prints of BenchmarkLayers. The fastest of 40 steps is the one that other processes have disturbed least.
"""
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def ids(*shape):
    return torch.randint(0, 10000, shape)


def table(dim):
    return nn.Embedding(10000, dim, sparse=True)


def layers(*sizes):
    pairs = list(zip(sizes, sizes[1:]))
    return nn.Sequential(*[m for i, (a, b) in enumerate(pairs) for m in [nn.Linear(a, b)] + [nn.ReLU()] * (i < len(pairs) - 1)])


class Dice(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm, self.slope = nn.BatchNorm1d(d, eps=1e-9, affine=False), nn.Parameter(torch.zeros(d))

    def forward(self, x):
        p = torch.sigmoid(self.norm(x.reshape(-1, x.shape[-1])).reshape(x.shape))
        return p * x + (1 - p) * self.slope * x


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.place = nn.Parameter(torch.randn(50, 64) * .1)
        self.block = nn.TransformerEncoderLayer(64, 4, 256, 0.0, batch_first=True)
        self.x, self.out = torch.randn(128, 50, 64), torch.rand(128, 50) > .7
        self.out[:, 0] = False

    def forward(self):
        y = self.block(self.x + self.place, src_key_padding_mask=self.out)
        return (y * y).mean()


class GRU4Rec(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen, self.next, self.gru = table(32), table(64), nn.GRU(32, 64, batch_first=True)
        self.a, self.b = ids(128, 20), ids(128)

    def forward(self):
        return F.cross_entropy(self.gru(self.seen(self.a))[0][:, -1] @ self.next(self.b).T, torch.arange(128))


class TwoTowers(nn.Module):
    def __init__(self):
        super().__init__()
        self.users, self.items, self.u, self.v = table(16), table(16), layers(64, 64, 32), layers(64, 64, 32)
        self.a, self.b, self.item, self.q = ids(512, 4), ids(512, 4), ids(512), torch.rand(512).log()

    def forward(self):
        s = self.u(self.users(self.a).flatten(1)) @ self.v(self.items(self.b).flatten(1)).T / .1 - self.q
        same = self.item[None] == self.item[:, None]
        same.fill_diagonal_(False)
        return F.cross_entropy(s.masked_fill(same, -1e9), torch.arange(512))


class DIN(nn.Module):
    def __init__(self):
        super().__init__()
        self.items, self.top = table(16), layers(48, 200, 80, 1)
        self.unit = nn.Sequential(nn.Linear(64, 80), Dice(80), nn.Linear(80, 40), Dice(40), nn.Linear(40, 1))
        self.seen, self.item, self.mask = ids(256, 50), ids(256), (torch.rand(256, 50) < .7).float()
        self.label = torch.randint(0, 2, (256, 1)).float()

    def forward(self):
        k, q = self.items(self.seen), self.items(self.item)
        e = q[:, None].expand_as(k)
        w = self.unit(torch.cat([e, k, e - k, e * k], 2))[:, :, 0] * self.mask
        i = (w[:, None] @ k)[:, 0]
        return F.binary_cross_entropy_with_logits(self.top(torch.cat([i, q, i * q], 1)), self.label)


class Conv(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(512, 10))
        self.x, self.label = torch.rand(64, 1, 28, 28), torch.randint(0, 10, (64,))

    def forward(self):
        return F.cross_entropy(self.net(self.x), self.label)


class MMoE(nn.Module):
    def __init__(self):
        super().__init__()
        self.x, self.label, self.bias = torch.randn(512, 64), torch.randint(0, 2, (512, 2)).float(), nn.Parameter(torch.zeros(64))
        self.experts = nn.ModuleList([nn.Sequential(layers(64, 128, 64), nn.ReLU()) for _ in range(4)])
        self.gates = nn.ModuleList([nn.Linear(64, 4, bias=False) for _ in range(2)])
        self.towers = nn.ModuleList([layers(64, 32, 1) for _ in range(2)])

    def forward(self):
        x = self.x + self.bias
        f = torch.stack([e(x) for e in self.experts], 1)
        y = [t((torch.softmax(g(x), 1)[:, None] @ f)[:, 0]) for g, t in zip(self.gates, self.towers)]
        return F.binary_cross_entropy_with_logits(torch.cat(y, 1), self.label)


models = {"transformer": Transformer, "gru4rec": GRU4Rec, "two_towers": TwoTowers, "din": DIN, "mmoe": MMoE, "conv": Conv}
for threads in [int(t) for t in sys.argv[2:]] or [1, 2]:
    torch.set_num_threads(threads)
    for name in sys.argv[1:2] or models:
        model, walls, cpus = models[name](), [], []
        for _ in range(40):
            wall, cpu = time.perf_counter(), time.process_time()
            model().backward()
            model.zero_grad(set_to_none=True)
            walls.append(time.perf_counter() - wall)
            cpus.append(time.process_time() - cpu)
        print(f"BenchmarkLayers/{name}-{threads} 40 {min(walls) * 1e3:.2f} least-ms {min(cpus) * 1e3:.2f} least-cpu-ms")
