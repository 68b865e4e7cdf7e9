"""Trains the net of an example, which net.py has in PyTorch, on rows that torchtest has written, in their order.

    python twin.py NET.py DIRECTORY EPOCHS BATCH SEED

It begins from the weights in DIRECTORY/first.json, and prints a line of JSON for each epoch: the values on the test rows, and the
examples a second: of one core's processor time, or by the clock. With STEPS and EPSILON behind it trains so many steps, and prints the weights.
"""
import json, os, sys, time
import numpy as np, torch
import torch.nn as nn
import torch.nn.functional as F


class Twin(nn.Module):
    """What nets have in common."""
    rate = 1e-3  # of Adam

    def loss(self, x):
        return F.binary_cross_entropy_with_logits(self(x), x["label"])

    def measure(self, batches):
        score, label = zip(*((self(x), x["label"]) for x in batches))
        return {"AUC": auc(torch.cat(score), torch.cat(label))}

    def names(self):
        """The parameters by the names that they have in gofleet."""


class Dice(nn.Module):
    def __init__(self, units):
        super().__init__()
        self.norm, self.slope = nn.BatchNorm1d(units, eps=1e-9, affine=False), nn.Parameter(torch.zeros(units))

    def forward(self, x):
        p = torch.sigmoid(self.norm(x.flatten(0, -2)).view_as(x))
        return p * x + (1 - p) * self.slope * x


def auc(score, label):
    score, label = score.flatten().double().numpy(), label.flatten().numpy()
    order = np.argsort(score, kind="stable")
    rank = np.empty(len(score))
    rank[order] = np.arange(1, len(score) + 1)
    ones = label.sum()
    return (rank[label == 1].sum() - ones * (ones + 1) / 2) / (ones * (len(score) - ones))


def recall(batches):
    """The share of rows whose answer has one of the ten highest scores."""
    hits = torch.cat([(scores.topk(10, 1).indices == answer.unsqueeze(1)).any(1) for scores, answer in batches])
    return hits.double().mean().item()


def rows(name):
    """The columns of a pass over rows."""
    at = os.path.join(where, name)
    read = lambda c: torch.from_numpy(np.fromfile(os.path.join(at, c["name"]), c["kind"])).view(-1, *c["shape"])
    return {c["name"]: read(c) for c in json.load(open(os.path.join(at, "columns.json")))}


def batches(x, size):
    for i in range(0, min(len(v) for v in x.values()), size):
        yield {k: v[i:i + size] for k, v in x.items()}


def train(model, x, batch, rules, steps=None):
    """Trains on a pass over rows, or so many steps of it, and returns the examples a second of processor time."""
    clock = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
    begin, n = clock(), 0
    for b in list(batches(x, batch))[:steps]:
        for rule in rules:
            rule.zero_grad()
        model.loss(b).backward()
        for rule in rules:
            rule.step()
        n += len(next(iter(b.values())))
    return n / (clock() - begin)


def begin(model):
    """Gives a net the first weights of the example, and returns its parameters by the example's names, as they lie there."""
    first, names = json.load(open(os.path.join(where, "first.json"))), model.names()
    linear = {id(m.weight) for m in model.modules() if isinstance(m, nn.Linear)}  # [out in] here, [in out] there
    assert names.keys() == first.keys() and len(names) == len(list(model.parameters())), (sorted(names), sorted(first))
    turned = {name: p.data.T if id(p) in linear else p.data for name, p in names.items()}
    for name, p in turned.items():
        p.copy_(torch.tensor(first[name]).view_as(p))
    for m in model.modules():
        if getattr(m, "padding_idx", None) is not None:
            m.unread = m.weight.data[m.padding_idx].clone()
            m.weight.data[m.padding_idx] = 0
    return turned


def report(model, epochs, batch):
    """An epoch after the other, with values on the test rows. Of sparse tables only the rows of a batch move."""
    tables = [m.weight for m in model.modules() if getattr(m, "sparse", False)]
    dense = [p for p in model.parameters() if not any(p is t for t in tables)]
    rules = [torch.optim.Adam(dense, model.rate), torch.optim.SparseAdam(tables, model.rate)]
    test = rows("test")
    for epoch in range(epochs):
        rate = train(model.train(), rows(f"epoch{epoch}"), batch, rules)
        with torch.no_grad():
            print(json.dumps({"rate": rate, "values": model.eval().measure(list(batches(test, 2048)))}), flush=True)


def weights(model, weights, batch, steps, epsilon):
    """The weights after some steps, in which nothing is dropped. All rows of a table move, as dense weights do."""
    for m in model.modules():
        if getattr(m, "sparse", False):
            m.sparse = False
        if isinstance(m, nn.Dropout):
            m.p = 0
    train(model.train(), rows("epoch0"), batch,
          [torch.optim.Adam(model.parameters(), model.rate, eps=epsilon)], steps)
    for m in model.modules():
        if hasattr(m, "unread"):
            m.weight.data[m.padding_idx] = m.unread
    print(json.dumps({name: p.flatten().tolist() for name, p in weights.items()}))


if __name__ == "__main__":
    sys.modules["twin"] = sys.modules[__name__]  # as net.py imports it
    net, where, epochs, batch, seed = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
    torch.manual_seed(seed)
    scope = {}
    exec(compile(open(net).read(), net, "exec"), scope)
    model = scope["Net"]()
    first = begin(model)
    if len(sys.argv) > 6:
        weights(model, first, batch, int(sys.argv[6]), float(sys.argv[7]))
    else:
        report(model, epochs, batch)
