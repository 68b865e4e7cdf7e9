"""The net of model.go in PyTorch."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from twin import Twin, recall


class Net(Twin):
    rate = 2e-3

    def __init__(self):
        super().__init__()
        self.users, self.regions, self.items, self.categories = (nn.Embedding(n, 32, sparse=True) for n in (2000, 20, 1001, 40))
        tower = lambda: nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 32))
        self.user, self.item = tower(), tower()

    def user_vector(self, x):
        return self.user(torch.cat([self.users(x["user"])[:, 0], self.regions(x["region"])[:, 0]], 1))

    def item_vector(self, item, category):
        return self.item(torch.cat([self.items(item), self.categories(category)], 1))

    def loss(self, x):
        item = x["item"][:, 0]
        scores = self.user_vector(x) @ self.item_vector(item, x["category"][:, 0]).T - x["logq"].T
        twice = (item == item.unsqueeze(1)) & ~torch.eye(len(item), dtype=torch.bool)
        return F.cross_entropy(scores.masked_fill(twice, -torch.inf), torch.arange(len(item)))

    def measure(self, batches):
        every = torch.arange(1, 1001)
        vectors = self.item_vector(every, (every - 1) % 40)
        return {"recall@10": recall([(self.user_vector(x) @ vectors.T, x["item"][:, 0] - 1) for x in batches])}

    def names(self):
        layers = {"fc_0": self.user[0], "fc_1": self.user[2], "fc_2": self.item[0], "fc_3": self.item[2]}
        names = {f"{name}.{part}_0": p for name, l in layers.items() for part, p in (("w", l.weight), ("b", l.bias))}
        tables = {"user": self.users, "region": self.regions, "item": self.items, "category": self.categories}
        return names | {f"table of {name}": t.weight for name, t in tables.items()}
