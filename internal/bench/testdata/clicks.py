"""The generated clicks as numbers, and what peers print."""
import json, os, sys, time, zlib
import numpy as np

HEIGHT = 1000001


def load(folder, name, rows=0):
    """Labels, 13 counts as ln(1+x), and 26 ids; parsed once, then kept beside the text."""
    kept = os.path.join(folder, name + ".npz")
    if not os.path.exists(kept):
        lines = [line.rstrip("\n").split("\t") for line in open(os.path.join(folder, name + ".tsv"))]
        labels = np.array([[int(t[0])] for t in lines], np.float32)
        counts = np.log1p(np.array([[float(v or 0) for v in t[1:14]] for t in lines], np.float32))
        ids = np.array([[zlib.crc32(b"%d:%s" % (i, v.encode())) % HEIGHT for i, v in enumerate(t[14:])] for t in lines], np.int64)
        np.savez(kept + ".new.npz", labels=labels, counts=counts, ids=ids)
        os.rename(kept + ".new.npz", kept)
    with np.load(kept) as a:
        return [a[k][:rows or None] for k in ("labels", "counts", "ids")]


def auc(scores, labels):
    """The share of pairs of a click and none that are in order."""
    ranks = np.empty(len(scores))
    ranks[np.argsort(scores, kind="stable")] = np.arange(1, len(scores) + 1)
    clicks = labels.sum()
    return float((ranks[labels > 0].sum() - clicks * (clicks + 1) / 2) / (clicks * (len(labels) - clicks)))


class Watch:
    """The time of training and the losses of its steps: they must fall, or updates have not arrived."""

    def __init__(self):
        self.losses, self.began = [], time.perf_counter()

    def end(self, examples, **more):
        took, n = time.perf_counter() - self.began, max(1, len(self.losses) // 4)
        first, last = np.mean([float(x) for x in self.losses[:n]]), np.mean([float(x) for x in self.losses[-n:]])
        if not last < first:
            sys.exit("the loss went from %g to %g: updates have not arrived" % (first, last))
        return {"examples/s": examples / took, **more}


def show(figures):
    print(json.dumps(figures), flush=True)
