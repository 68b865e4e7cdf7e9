"""The net of model.go in PyTorch."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from twin import Twin, recall


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.norm = heads, nn.ModuleList(nn.LayerNorm(dim) for _ in range(2))
        self.query, self.key, self.value, self.out = (nn.Linear(dim, dim) for _ in range(4))
        self.feed = nn.Sequential(nn.Linear(dim, 4 * dim), nn.ReLU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        y = self.norm[0](x)
        q, k, v = (l(y).unflatten(2, (self.heads, -1)).transpose(1, 2) for l in (self.query, self.key, self.value))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.feed(self.norm[1](x))


class Net(Twin):
    rate = 2e-3

    def __init__(self):
        super().__init__()
        self.items, self.places = nn.Embedding(501, 48, padding_idx=0, sparse=True), nn.Parameter(torch.empty(20, 48))
        self.blocks, self.norm = nn.Sequential(Block(48, 2), Block(48, 2)), nn.LayerNorm(48)

    def forward(self, x):
        return self.norm(self.blocks(self.items(x["seen"]) + self.places))

    def loss(self, x):
        h, there = self(x), (x["next"] != 0).float()
        right, wrong = ((h * self.items(x[of])).sum(2) for of in ("next", "drawn"))
        return ((F.softplus(-right) + F.softplus(wrong)) * there).sum() / there.sum()

    def measure(self, batches):
        state = lambda x: self(x)[torch.arange(len(x["last"])), x["last"][:, 0]]
        return {"recall@10": recall([(state(x) @ self.items.weight[1:].T, x["item"][:, 0] - 1) for x in batches])}

    def names(self):
        layers = {"layer_norm_0": self.norm}
        for i, b in enumerate(self.blocks):
            at = f"transformer_{i}"
            layers |= {f"{at}.attention.{name}": getattr(b, name) for name in ("query", "key", "value", "out")}
            layers |= {f"{at}.fc_0": b.feed[0], f"{at}.fc_1": b.feed[2], f"{at}.norm_0": b.norm[0], f"{at}.norm_1": b.norm[1]}
        names = {f"{name}.{part}_0": p for name, l in layers.items() for part, p in (("w", l.weight), ("b", l.bias))}
        return names | {"items": self.items.weight, "positions_0.w_0": self.places}
