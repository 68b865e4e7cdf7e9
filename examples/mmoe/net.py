"""The net of model.go in PyTorch."""
import torch
import torch.nn as nn
from twin import Twin, auc


class Net(Twin):
    rate = 2e-3

    def __init__(self):
        super().__init__()
        self.values = nn.Embedding(1600, 8, sparse=True)
        expert = lambda: nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        self.experts = nn.ModuleList(expert() for _ in range(4))
        self.gates = nn.ModuleList(nn.Linear(64, 4, bias=False) for _ in range(2))
        self.towers = nn.ModuleList(nn.Sequential(nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 1)) for _ in range(2))

    def forward(self, x):
        rows = self.values(x["fields"]).flatten(1)
        experts = torch.stack([e(rows) for e in self.experts], 1)  # [N experts 32]
        mixed = [(gate(rows).softmax(1).unsqueeze(1) @ experts)[:, 0] for gate in self.gates]
        return torch.cat([tower(m) for tower, m in zip(self.towers, mixed)], 1)

    def measure(self, batches):
        score, label = (torch.cat(of) for of in zip(*((self(x), x["label"]) for x in batches)))
        return {f"AUC of {task}": auc(score[:, i], label[:, i]) for i, task in enumerate(("clicks", "likes"))}

    def names(self):
        layers = {f"mmoe_0.expert_{i}.fc_{j}": e[2 * j] for i, e in enumerate(self.experts) for j in range(2)}
        layers |= {f"fc_{2 * i + j}": t[2 * j] for i, t in enumerate(self.towers) for j in range(2)}
        names = {f"{name}.{part}_0": p for name, l in layers.items() for part, p in (("w", l.weight), ("b", l.bias))}
        return names | {f"mmoe_0.gate_{i}.w_0": g.weight for i, g in enumerate(self.gates)} | {"values": self.values.weight}
