"""PyTorch beside gofleet, and what it stands on: MKL's products, gloo's sums; numpy's OpenBLAS.

    torch_peer.py wide FOLDER THREADS SEED
    torch_peer.py mnist THREADS
    torch_peer.py product torch|numpy THREADS M N K [T for A, transposed | B]
    torch_peer.py sum FLOATS            2 ranks
"""
import os, sys, time

args = sys.argv[1:]
if args[0] == "product":
    os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = args[2]
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        os.environ.pop(name, None)  # what was chosen for an older library slows a newer one
import numpy as np
import torch
import torch.nn as nn
from clicks import HEIGHT, Watch, auc, load, show


class Wide(nn.Module):
    def __init__(self):
        super().__init__()
        self.rows, self.wide, layers = nn.Embedding(HEIGHT, 9, sparse=True), nn.Linear(13, 1), []
        nn.init.uniform_(self.rows.weight, -0.01, 0.01)
        sizes = [26 * 9 + 13, 512, 256, 128, 32, 1]
        for i, o in zip(sizes, sizes[1:]):
            layers += [nn.Linear(i, o), nn.ReLU()]
            nn.init.normal_(layers[-2].weight, std=i ** -0.5)
            nn.init.zeros_(layers[-2].bias)
        self.deep = nn.Sequential(*layers[:-1])

    def forward(self, counts, ids):
        return self.deep(torch.cat([self.rows(ids).flatten(1), counts], 1)) + self.wide(counts)


def wide(folder, threads, seed, batch=512):
    torch.set_num_threads(int(threads))
    torch.manual_seed(int(seed))
    labels, counts, ids = map(torch.from_numpy, load(folder, "train"))
    net, loss = Wide(), nn.BCEWithLogitsLoss()
    dense = [p for name, p in net.named_parameters() if name != "rows.weight"]
    rules = [torch.optim.SparseAdam([net.rows.weight], 1e-3), torch.optim.Adam(dense, 1e-3)]
    watch, ends = Watch(), range(batch, len(labels) + 1, batch)
    for end in ends:
        at = slice(end - batch, end)
        value = loss(net(counts[at], ids[at]), labels[at])
        for rule in rules:
            rule.zero_grad()
        value.backward()
        for rule in rules:
            rule.step()
        watch.losses.append(value.detach())
    figures = watch.end(len(ends) * batch)
    labels, counts, ids = map(torch.from_numpy, load(folder, "test"))
    with torch.no_grad():
        scores = torch.cat([net(c, i) for c, i in zip(counts.split(1000), ids.split(1000))])
    return {**figures, "AUC": auc(scores[:, 0].numpy(), labels[:, 0].numpy())}


def mnist(threads):
    torch.set_num_threads(int(threads))
    torch.manual_seed(0)
    pixels, digits = torch.rand(60000, 784), torch.randint(0, 10, (60000,))
    pixels[torch.arange(60000), digits] += 3  # so that there is something to learn
    net = nn.Sequential(nn.Linear(784, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 10))
    rule, loss = torch.optim.Adam(net.parameters(), 1e-3), nn.CrossEntropyLoss()
    watch, n = Watch(), 60000 // 64
    for x, y in zip(pixels.split(64)[:n], digits.split(64)):
        value = loss(net(x), y)
        rule.zero_grad()
        value.backward()
        rule.step()
        watch.losses.append(value.detach())
    return watch.end(64 * n)


def product(library, threads, m, n, k, turned=""):
    torch.set_num_threads(int(threads))
    m, n, k = int(m), int(n), int(k)
    make = lambda rows, cols, turn: (np.random.rand(cols, rows).T if turn else np.random.rand(rows, cols))
    a, b, c = make(m, k, turned == "A"), make(k, n, turned == "B"), np.empty((m, n), np.float32)
    a, b = (x.astype(np.float32, order="K") for x in (a, b))
    if library == "torch":
        x, y, z = map(torch.from_numpy, (a, b, c))
        run = lambda: torch.mm(x, y, out=z)
    else:
        run = lambda: np.matmul(a, b, out=c)
    run()
    if not np.allclose(c, a.astype(float) @ b.astype(float), rtol=1e-3):
        sys.exit("the product is wrong")
    began, times = time.perf_counter(), 0
    while time.perf_counter() - began < 0.5:
        run()
        times += 1
    return {"GFLOP/s": 2e-9 * m * n * k * times / (time.perf_counter() - began)}


def rank(of, floats, port, out):
    import torch.distributed as dist
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:%d" % port, rank=of, world_size=2)
    torch.set_num_threads(1)
    x, times = torch.empty(floats), []
    for i in range(50 + (2000 if floats < 1000 else 200)):
        x.fill_(of + 1)
        began = time.perf_counter()
        dist.all_reduce(x)
        times.append(time.perf_counter() - began)
        if x[0] != 3 or x[-1] != 3:
            sys.exit("the sum is %g, want 3" % x[0])
    out.put(1e3 * float(np.mean(times[50:])))


def sum(floats):
    import multiprocessing as mp, socket
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    out = mp.Queue()
    ranks = [mp.Process(target=rank, args=(i, int(floats), port, out)) for i in range(2)]
    for p in ranks:
        p.start()
    for p in ranks:
        p.join()
    if any(p.exitcode for p in ranks):
        sys.exit("a rank has failed")
    return {"ms/op": max(out.get(), out.get())}


if __name__ == "__main__":
    show({"wide": wide, "mnist": mnist, "product": product, "sum": sum}[args[0]](*args[1:]))
