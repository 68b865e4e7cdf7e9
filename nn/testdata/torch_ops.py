"""Writes torch_ops.json, golden values and gradients of ops, from PyTorch 2.6 on a CPU.

    python torch_ops.py > torch_ops.json
"""
import json

import torch
import torch.nn.functional as F


def u(seed, n, lo=-2.0, hi=2.0):
    """n numbers in [lo, hi) by integer arithmetic alone, as uniform of golden_test.go draws them."""
    v = []
    for i in range(n):
        h = (i * 2654435761 + seed * 2246822519 + 374761393) % 2**32
        h = (h ^ h >> 15) * 2246822519 % 2**32
        h = (h ^ h >> 13) * 3266489917 % 2**32
        v.append(lo + (hi - lo) * ((h ^ h >> 16) / 2**32))
    return torch.tensor(v, dtype=torch.float64).float()


def x(seed, *shape, lo=-2.0, hi=2.0):
    return u(seed, torch.Size(shape).numel(), lo, hi).reshape(shape)


cases = []


def add(name, f, *inputs, params={}, **attrs):
    """A case: the op's value for the inputs, and the gradients of the sum of value × weight to those of them that are floats."""
    ins = [t.clone().requires_grad_(t.is_floating_point()) for t in inputs]
    out = f(*ins)
    weight = u(3000 + len(cases), out.numel(), -1, 1)
    (out.reshape(-1) * weight).sum().backward()
    flat = lambda t: [float(f"{v:.9g}") for v in t.detach().reshape(-1).tolist()]
    cases.append({
        "name": name, "attrs": attrs, "params": {k: flat(v) for k, v in params.items()},
        "inputs": [{"shape": list(t.shape), "data": flat(t)} for t in inputs],
        "out": {"shape": list(out.shape) or [1], "data": flat(out)}, "weight": flat(weight),
        "grads": [flat(t.grad) if t.requires_grad else None for t in ins]})


# Arithmetic of shapes that are repeated.
for name, f in [("add", torch.add), ("subtract", torch.sub), ("multiply", torch.mul), ("divide", torch.div)]:
    add("broadcast_" + name, f, x(1, 3, 4, 5), x(2, 3, 4, 1, lo=0.5))
    add("broadcast_" + name, f, x(3, 3, 1, 5), x(4, 3, 4, 1, lo=0.5))
add("expand", lambda t: t.expand(3, 4, 5), x(5, 3, 1, 5), dims=[4, 5])

# The rest follows in the order of the package's doc.
add("slice", lambda t: t[:, 1:3], x(6, 3, 4, 5), axis=1, begin=1, end=3)
add("slice", lambda t: t[..., 2:], x(7, 2, 3, 5), axis=2, begin=2, end=5)
add("concat_axis", lambda a, b: torch.cat([a, b], 1), x(8, 2, 3, 4), x(9, 2, 1, 4), axis=1)
add("concat_axis", lambda a, b: torch.cat([a, b], 2), x(10, 2, 3, 4), x(11, 2, 3, 2), axis=2)
add("stack", lambda a, b: torch.stack([a, b], 1), x(12, 3, 4), x(13, 3, 4), axis=1)
add("transpose", lambda t: t.permute(0, 2, 1), x(14, 2, 3, 4), axes=[0, 2, 1])
add("transpose", lambda t: t.permute(0, 2, 1, 3), x(15, 2, 3, 4, 2), axes=[0, 2, 1, 3])
index = torch.tensor([[0, 2, 2], [3, 1, 0]])
add("gather", lambda t, i: torch.take_along_dim(t, i[:, :, None], 1), x(16, 2, 4, 3), index)
for name, f in [("log", torch.log), ("log1p", torch.log1p), ("exp", torch.exp), ("sqrt", torch.sqrt), ("square", torch.square),
                ("abs", torch.abs), ("silu", F.silu)]:
    add(name, f, x(17, 3, 4, lo=-2 if name in ("abs", "exp", "silu") else 0.1))
add("pow", lambda t: t ** 2.5, x(18, 3, 4, lo=0.1), power=2.5)
add("prelu", lambda t, s: F.prelu(t, s), x(19, 3, 4), x(20, 4, lo=0.1))
add("prelu_channels", lambda t, s: F.prelu(t, s), x(21, 2, 3, 2, 2), x(22, 3, lo=0.1))
add("mean_axis1", lambda t: t.mean(1), x(23, 2, 3, 4))
add("linear_last", F.linear, x(24, 2, 3, 4), x(25, 5, 4), x(26, 5))
add("matmul_batch", torch.matmul, x(27, 2, 3, 4), x(28, 2, 4, 5))
add("matmul_batch", torch.matmul, x(29, 2, 3, 2, 4), x(30, 2, 3, 4, 1))
add("matmul_transposed", lambda a, b: a @ b.transpose(-1, -2), x(31, 2, 3, 4), x(32, 2, 5, 4))
add("layer_norm_last", lambda t, g, b: F.layer_norm(t, [4], g, b, 1e-5), x(33, 2, 3, 4), x(34, 4), x(35, 4), epsilon=1e-5)
add("group_norm", lambda t: F.group_norm(t, 2, eps=1e-5), x(36, 2, 4, 3, 2), groups=2, epsilon=1e-5)
mask = torch.tensor([[1.0, 0, 1, 1], [0, 0, 1, 0]])
add("masked_softmax", lambda t: F.softmax(t.masked_fill(mask[:, None] == 0, -torch.inf), -1), x(37, 2, 3, 4), mask=mask.reshape(-1).tolist())

# Losses with weights and labels of every kind.
hard = torch.tensor([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]])


def focal(t, y, gamma, alpha):
    p = torch.sigmoid(t)
    p = p * y + (1 - p) * (1 - y)
    return (alpha * y + (1 - alpha) * (1 - y)) * (1 - p) ** gamma * F.binary_cross_entropy_with_logits(t, y, reduction="none")


def fixed(f, y):
    return lambda t, _: f(t, y)


labels = torch.tensor([[2], [0], [3], [1]])
squeezed = labels[:, 0]
add("focal_loss", fixed(lambda t, y: focal(t, y, 2, 0.25), hard), x(31, 2, 3, lo=-5, hi=5), hard.long(), gamma=2, alpha=0.25)
add("hinge", fixed(lambda t, y: F.relu(1 - (2 * y - 1) * t), hard), x(32, 2, 3), hard.long())
add("contrastive", fixed(lambda t, y: y * t ** 2 + (1 - y) * F.relu(1.5 - t) ** 2, hard), x(33, 2, 3, lo=0, hi=3), hard.long(), margin=1.5)
add("huber", lambda a, b: F.huber_loss(a, b, reduction="none", delta=0.7), x(34, 3, 4), x(35, 3, 4), delta=0.7)
add("bpr", lambda a, b: -F.logsigmoid(a - b), x(36, 3, 4), x(37, 3, 4))
add("bpr", lambda a, b: -F.logsigmoid(a - b), x(36, 3, 1), x(37, 3, 4))
add("cross_entropy_smoothed", fixed(lambda t, y: F.cross_entropy(t, y, reduction="none", label_smoothing=0.1), squeezed), x(38, 4, 5), labels,
    smoothing=0.1)
add("cross_entropy_ignoring", fixed(lambda t, y: F.cross_entropy(t, y, reduction="none", ignore_index=3), squeezed), x(39, 4, 5), labels, ignore=3)
shares = torch.softmax(x(41, 4, 5), 1)
add("cross_entropy_soft", lambda t: F.cross_entropy(t, shares, reduction="none"), x(40, 4, 5), shares=shares.flatten().tolist())
weights = torch.tensor([1.0, 0.5, 2.0, 3.0, 1.0])
add("cross_entropy_weighted", fixed(lambda t, y: F.cross_entropy(t, y, weight=weights, ignore_index=3), squeezed), x(42, 4, 5), labels,
    weights=weights.tolist(), ignore=3)
steps = torch.tensor([[0, 2, 1], [4, 4, 3]])
add("cross_entropy_of_steps", fixed(lambda t, y: F.cross_entropy(t.permute(0, 2, 1), y, reduction="none"), steps), x(43, 2, 3, 5), steps)
items = torch.tensor([[7], [8], [7], [9]])


def in_batch(u, v, q, _):
    s = u @ v.T / 0.5 - q[:, 0]
    same = (items == items.T) & ~torch.eye(4, dtype=torch.bool)
    return F.cross_entropy(s.masked_fill(same, -torch.inf), torch.arange(4), reduction="none")


add("in_batch_softmax", lambda u, v, i: in_batch(u, v, x(46, 4, 1, lo=-3, hi=0), i), x(44, 4, 3), x(45, 4, 3), items,
    temperature=0.5, log_q=x(46, 4, 1, lo=-3, hi=0)[:, 0].tolist())

# Sequences.
ids, table = torch.tensor([[1, 3, 0], [2, 2, 4]]), x(47, 5, 3)
table[0] = 0
add("embedding_sequence", lambda i, t: F.embedding(i, t, padding_idx=0), ids, table, padding_idx=0)
bag, starts = torch.tensor([1, 3, 1, 2, 2, 4]), torch.tensor([0, 2, 5])
values = x(48, 6, lo=0.5, hi=2)
add("embedding_bag", lambda i, t: F.embedding_bag(i, t, starts, mode="sum", per_sample_weights=values), bag, x(49, 5, 3), pool="sum",
    lengths=[2, 3, 1], values=values.tolist())
add("embedding_bag", lambda i, t: F.embedding_bag(i, t, starts, mode="max"), bag, x(50, 5, 3), pool="max", lengths=[2, 3, 1])
mask = torch.tensor([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
add("pool_masked_mean", lambda t: (t * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True), x(51, 2, 3, 4), pool="mean", mask=mask.tolist())
add("pool_masked_max", lambda t: t.masked_fill(mask[:, :, None] == 0, -torch.inf).amax(1), x(52, 2, 3, 4), pool="max", mask=mask.tolist())

# Layers. Weights are those of the parameters, which have shape [in out] here and [out in] there.
def drawn(seed, module):
    """The module with parameters that are drawn."""
    for i, p in enumerate(module.parameters()):
        p.data = x(seed + i, *p.shape, lo=-0.8, hi=0.8)
    return module.eval()


def attention_weights(name, m):
    w = {}
    for part, weight, bias in zip(["query", "key", "value"], m.in_proj_weight.chunk(3), m.in_proj_bias.chunk(3)):
        w[f"{name}.{part}.w_0"], w[f"{name}.{part}.b_0"] = weight.T, bias
    w[f"{name}.out.w_0"], w[f"{name}.out.b_0"] = m.out_proj.weight.T, m.out_proj.bias
    return w


mha = drawn(100, torch.nn.MultiheadAttention(4, 2, batch_first=True))
mask = torch.tensor([[1, 0, 1, 1, 1], [0, 0, 1, 0, 1]])
add("attention", lambda q, k, v: mha(q, k, v, key_padding_mask=mask == 0)[0], x(120, 2, 3, 4), x(121, 2, 5, 4), x(122, 2, 5, 4),
    params=attention_weights("a", mha), heads=2, mask=mask.reshape(-1).tolist())
causal = torch.triu(torch.ones(4, 4, dtype=torch.bool), 1)
add("attention_causal", lambda t: mha(t, t, t, attn_mask=causal)[0], x(123, 2, 4, 4), params=attention_weights("a", mha), heads=2)
for first in [False, True]:
    block = drawn(130, torch.nn.TransformerEncoderLayer(4, 2, 6, norm_first=first, batch_first=True, dropout=0.0))
    add("transformer", lambda t: block(t, src_mask=causal), x(150, 2, 4, 4), heads=2, hidden=6, norm_first=first, params={
        **attention_weights("t.attention", block.self_attn),
        "t.fc_0.w_0": block.linear1.weight.T, "t.fc_0.b_0": block.linear1.bias,
        "t.fc_1.w_0": block.linear2.weight.T, "t.fc_1.b_0": block.linear2.bias,
        "t.norm_0.w_0": block.norm1.weight, "t.norm_0.b_0": block.norm1.bias,
        "t.norm_1.w_0": block.norm2.weight, "t.norm_1.b_0": block.norm2.bias})

experts = [(x(160 + i, 4, 5), x(165 + i, 5)) for i in range(3)]
gates = [x(170 + i, 4, 3) for i in range(2)]


def mmoe(t):
    """Ma et al., 2018, formulas 5 to 7, and the sum of both tasks' results."""
    f = torch.stack([torch.relu(t @ w + b) for w, b in experts], 1)
    return sum(torch.einsum("ne,neh->nh", torch.softmax(t @ g, 1), f) * (1 + i) for i, g in enumerate(gates))


add("mmoe", mmoe, x(175, 3, 4), params={
    **{f"m.expert_{i}.fc_0.w_0": w for i, (w, _) in enumerate(experts)}, **{f"m.expert_{i}.fc_0.b_0": b for i, (_, b) in enumerate(experts)},
    **{f"m.gate_{i}.w_0": g for i, g in enumerate(gates)}})

w0, b0, w1, b1 = x(180, 12, 4), x(181, 4), x(182, 4, 1), x(183, 1)
mask = torch.tensor([[1.0, 0, 1, 1], [0, 0, 0, 0]])
for softmax in [False, True]:
    def din(q, k):
        """Zhou et al., 2018, formula 3, with the input of its authors' code."""
        e = q[:, None].expand_as(k)
        s = (torch.sigmoid(torch.cat([e, k, e - k, e * k], 2) @ w0 + b0) @ w1 + b1)[:, :, 0]
        if softmax:
            s = torch.where(mask.sum(1, keepdim=True) > 0, F.softmax(s.masked_fill(mask == 0, -1e30), 1), 0 * s)
        return ((s * mask)[:, :, None] * k).sum(1)

    add("din", din, x(184, 2, 3), x(185, 2, 4, 3), softmax=softmax, mask=mask.reshape(-1).tolist(),
        params={"d.fc_0.w_0": w0, "d.fc_0.b_0": b0, "d.score.w_0": w1, "d.score.b_0": b1})

unit = drawn(190, torch.nn.GRU(3, 4, batch_first=True))
weights = {"g.w_0": unit.weight_ih_l0.T, "g.w_1": unit.weight_hh_l0.T, "g.b_0": unit.bias_ih_l0, "g.b_1": unit.bias_hh_l0}
add("gru", lambda t: unit(t)[0], x(195, 2, 5, 3), params=weights)
# Convolutions.
add("conv2d_of", lambda t, w, b: F.conv2d(t, w, b, stride=2, padding=1, dilation=2, groups=2), x(60, 2, 4, 7, 6), x(61, 6, 2, 3, 2), x(62, 6),
    kernel=3, width=2, stride=2, padding=1, dilation=2, groups=2, same=0)
add("conv2d_of", lambda t, w, b: F.conv2d(t, w, b, padding="same", dilation=2), x(63, 2, 2, 5, 6), x(64, 3, 2, 3, 4), x(65, 3),
    kernel=3, width=4, stride=1, padding=0, dilation=2, groups=1, same=1)
add("conv1d", lambda t, w, b: F.conv1d(t.permute(0, 2, 1), w[..., 0], b, padding="same").permute(0, 2, 1), x(66, 2, 5, 4), x(67, 3, 4, 3, 1),
    x(68, 3), kernel=3)
add("global_avg", lambda t: t.mean((2, 3)), x(69, 2, 3, 4, 2))
add("global_max", lambda t: t.amax((2, 3)), x(70, 2, 3, 4, 2))

a = x(200, 3)
def dice(t):
    """Zhou et al., 2018, formula 5."""
    p = torch.sigmoid(F.batch_norm(t.reshape(-1, 3), None, None, training=True, eps=1e-9)).reshape(t.shape)
    return p * t + (1 - p) * a * t
add("dice", dice, x(201, 2, 4, 3), params={"dice_0.w_0": a})
add("dice", dice, x(202, 5, 3), params={"dice_0.w_0": a})

unit = drawn(210, torch.nn.LSTM(3, 4, batch_first=True))
weights = {"l.w_0": unit.weight_ih_l0.T, "l.w_1": unit.weight_hh_l0.T, "l.b_0": unit.bias_ih_l0, "l.b_1": unit.bias_hh_l0}
add("lstm", lambda t: unit(t)[0], x(215, 2, 5, 3), params=weights)
add("fm", lambda t: sum((t[:, i] * t[:, j]).sum(1, keepdim=True) for i in range(4) for j in range(i)), x(220, 3, 4, 5))
w0, b0, w1, b1, v = x(221, 4, 4), x(222, 4), x(223, 2, 4), x(224, 4), x(225, 4, 2)
def cross(t):
    """Wang et al., 2021, formula 2."""
    first = t * (t @ w0 + b0) + t
    return t * (first @ w0 + b0) + first
add("cross", cross, x(226, 3, 4), layers=2, rank=0,
    params={"c.fc_0.w_0": w0, "c.fc_0.b_0": b0, "c.fc_1.w_0": w0, "c.fc_1.b_0": b0})
add("cross", lambda t: t * (t @ v @ w1 + b1) + t, x(227, 3, 4), layers=0, rank=2,
    params={"c.fc_0.narrow.w_0": v, "c.fc_0.w_0": w1, "c.fc_0.b_0": b1})
for kernel, dilation in [(3, 1), (2, 2)]:
    add("conv1d_of_places", lambda t, w, b: F.conv1d(t.permute(0, 2, 1), w, b, dilation=dilation).permute(0, 2, 1),
        x(228, 2, 6, 4), x(229, 3, 4, kernel), x(230, 3), kernel=kernel, dilation=dilation)
# END

print(json.dumps({"source": f"PyTorch {torch.__version__.split('+')[0]}, CPU, torch_ops.py", "cases": cases}))
