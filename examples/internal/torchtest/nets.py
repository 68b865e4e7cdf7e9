"""Trains a net of the examples with PyTorch on rows that torchtest has written, in their order, and prints the AUC on the test rows.

    python nets.py NET DIRECTORY EPOCHS BATCH SEED
"""
import json, os, sys
import numpy as np, torch
import torch.nn as nn

net, where, epochs, batch, seed = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
torch.manual_seed(seed)


def rows(name):
    """The columns of a pass over rows: an array, or values with the number of values a row."""
    at = os.path.join(where, name)
    read = lambda file, kind: torch.from_numpy(np.fromfile(os.path.join(at, file), kind))
    columns = {}
    for c in json.load(open(os.path.join(at, "columns.json"))):
        values = read(c["name"], c["kind"])
        columns[c["name"]] = (values, read(c["name"] + ".lengths", "<i8")) if c["varying"] else values.view(-1, c["width"])
    return columns


def linear(a, b, init):
    m = nn.Linear(a, b)
    init(m.weight)
    nn.init.zeros_(m.bias)
    return m


fan_in = lambda w: nn.init.normal_(w, std=w.shape[1] ** -0.5)


def mlp(widths, init):
    layers = []
    for a, b in zip(widths, widths[1:]):
        layers += [linear(a, b, init), nn.ReLU()]
    return nn.Sequential(*layers, linear(widths[-1], 1, init))


def table(height, dim, bound):
    t = nn.Embedding(height, dim, sparse=True)
    nn.init.uniform_(t.weight, -bound, bound)
    return t


class WideAndDeep(nn.Module):
    def __init__(self, fields, numbers):
        super().__init__()
        self.rows = table(1_000_001, 10, 0.05)
        self.deep, self.wide = mlp([fields * 10 + numbers, 400, 400, 400], fan_in), linear(numbers, 1, fan_in)

    def forward(self, x):
        d = x["dense_input"]
        return self.deep(torch.cat([self.rows(x["C"]).flatten(1), d], 1)) + self.wide(d)


class DeepFM(nn.Module):
    def __init__(self, fields, numbers):
        super().__init__()
        self.rows, self.weights = table(1_000_001, 9, 0.05), table(1_000_001, 1, 0)
        self.factors = nn.Parameter(torch.empty(numbers, 9).uniform_(-0.05, 0.05))
        self.deep, self.first = mlp([fields * 9 + numbers, 400, 400, 400], fan_in), linear(numbers, 1, fan_in)

    def forward(self, x):
        d, v = x["dense_input"], self.rows(x["C"])
        all = torch.cat([v, d.unsqueeze(2) * self.factors], 1)
        pairs = (all.sum(1) ** 2 - (all ** 2).sum(1)).sum(1, keepdim=True) / 2
        return self.weights(x["C"]).sum(1) + self.first(d) + pairs + self.deep(torch.cat([v.flatten(1), d], 1))


class CTR(nn.Module):
    slots = ["user", "history", "query", "item", "tags", "hour"]

    def __init__(self, fields, numbers):
        super().__init__()
        self.rows = nn.EmbeddingBag(100_003, 9, mode="mean", sparse=True)
        nn.init.uniform_(self.rows.weight, -0.05, 0.05)
        self.deep = mlp([6 * 9, 128, 64, 32], nn.init.xavier_uniform_)

    def forward(self, x):
        pooled = [self.rows(values, offsets) for values, offsets in (x[s] for s in self.slots)]
        return self.deep(torch.cat(pooled, 1))


def batches(x, size):
    n = min(len(v) for v in x.values() if torch.is_tensor(v))
    ends = {k: v[1].cumsum(0) for k, v in x.items() if not torch.is_tensor(v)}
    for i in range(0, n, size):
        j, b = min(i + size, n), {}
        for k, v in x.items():
            if torch.is_tensor(v):
                b[k] = v[i:j]
                continue
            begin = ends[k][i] - v[1][i]
            b[k] = v[0][begin:ends[k][j - 1]], ends[k][i:j] - v[1][i:j] - begin
        yield b


def auc(score, label):
    order = np.argsort(score, kind="stable")
    rank = np.empty(len(score))
    rank[order] = np.arange(1, len(score) + 1)
    ones = label.sum()
    return (rank[label == 1].sum() - ones * (ones + 1) / 2) / (ones * (len(score) - ones))


test = rows("test")
width = lambda name: test[name].shape[1] if name in test else 0
model = {"wide_and_deep": WideAndDeep, "deepfm": DeepFM, "ctr_dnn": CTR}[net](width("C"), width("dense_input"))
label = "label" if "label" in test else "click"
rate = 3e-3 if net == "ctr_dnn" else 1e-3
sparse = [p for n, p in model.named_parameters() if n in ("rows.weight", "weights.weight")]
dense = [p for n, p in model.named_parameters() if n not in ("rows.weight", "weights.weight")]
rules, loss = [torch.optim.SparseAdam(sparse, rate), torch.optim.Adam(dense, rate)], nn.BCEWithLogitsLoss()
for epoch in range(epochs):
    for b in batches(rows(f"epoch{epoch}"), batch):
        for rule in rules:
            rule.zero_grad()
        loss(model(b), b[label]).backward()
        for rule in rules:
            rule.step()
with torch.no_grad():
    score = torch.cat([model(b) for b in batches(test, 2048)])[:, 0].numpy()
print(auc(score, test[label][:, 0].numpy()))
