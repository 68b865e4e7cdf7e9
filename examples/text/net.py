"""The net of model.go in PyTorch."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from twin import Twin


class Net(Twin):
    def __init__(self):
        super().__init__()
        self.words, self.phrases = nn.Embedding(4000, 64, padding_idx=0, sparse=True), nn.ModuleList(nn.Conv1d(64, 64, n) for n in (2, 3, 4))
        self.drop, self.out = nn.Dropout(0.5), nn.Linear(3 * 64, 10)

    def forward(self, x):
        rows = self.words(x["words"]).transpose(1, 2)  # [N D L]
        return self.out(self.drop(torch.cat([p(rows).relu().max(2).values for p in self.phrases], 1)))

    def loss(self, x):
        return F.cross_entropy(self(x), x["class"][:, 0])

    def measure(self, batches):
        right = torch.cat([self(x).argmax(1) == x["class"][:, 0] for x in batches])
        return {"accuracy": right.double().mean().item()}

    def names(self):
        layers = {f"conv1d_{i}": p for i, p in enumerate(self.phrases)} | {"fc_0": self.out}
        names = {f"{name}.{part}_0": p for name, l in layers.items() for part, p in (("w", l.weight), ("b", l.bias))}
        return names | {"words of texts": self.words.weight}
