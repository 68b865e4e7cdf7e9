"""The net of model.go in PyTorch."""
import torch
import torch.nn as nn
from twin import Dice, Twin


class Net(Twin):
    rate = 4e-3

    def __init__(self):
        super().__init__()
        self.items = nn.Embedding(201, 16, padding_idx=0, sparse=True)
        self.unit = nn.Sequential(nn.Linear(4 * 16, 36), Dice(36), nn.Linear(36, 1))
        self.deep = nn.Sequential(nn.Linear(2 * 16, 64), Dice(64), nn.Linear(64, 32), Dice(32), nn.Linear(32, 1))

    def forward(self, x):
        item, history = self.items(x["item"]), self.items(x["history"])  # [N 1 D], [N L D]
        q = item.expand_as(history)
        weights = self.unit(torch.cat([q, history, q - history, q * history], 2)) * (x["history"] != 0).unsqueeze(2)
        return self.deep(torch.cat([item[:, 0], (weights * history).sum(1)], 1))

    def names(self):
        a, b = self.unit, self.deep
        layers = {"din_0.fc_0": a[0], "din_0.score": a[2], "fc_0": b[0], "fc_1": b[2], "fc_2": b[4]}
        names = {f"{name}.{part}_0": p for name, l in layers.items() for part, p in (("w", l.weight), ("b", l.bias))}
        slopes = {f"dice_{i}.w_0": d.slope for i, d in enumerate((a[1], b[1], b[3]))}
        return names | slopes | {"items": self.items.weight}
