"""PaddlePaddle beside gofleet: one process, or with MODE=async one role of a job, which fleetrun may start.

    paddle_peer.py FOLDER NET ROWS SEED      NET is wide, in batches of 512 under Adam, or seed, in batches of 10 under SGD
"""
import os, sys, time
import numpy as np

if os.environ.get("TRAINING_ROLE") == "TRAINER":  # it wants an address of its own
    own = os.environ["PADDLE_TRAINER_ENDPOINTS"].split(",")[int(os.environ["PADDLE_TRAINER_ID"])]
    os.environ["POD_IP"], os.environ["PADDLE_PORT"] = own.split(":")
import paddle
import paddle.distributed.fleet as fleet
from clicks import HEIGHT, Watch, auc, load, show

folder, net, rows, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
servers = os.environ.get("MODE") == "async"
dim, layers, batch = (9, (512, 256, 128, 32), 512) if net == "wide" else (10, (400, 400, 400), 10)
reach = 0.01 if net == "wide" else 1.0
layer, attr, start = paddle.static.nn, paddle.ParamAttr, paddle.nn.initializer
paddle.enable_static()
paddle.seed(seed)
if servers:
    fleet.init()


def rows_of(ids):
    a = attr(name="rows", initializer=start.Uniform(-reach, reach))
    if servers:
        found = layer.sparse_embedding(ids, [HEIGHT, dim], param_attr=a)
    else:
        found = layer.embedding(ids, [HEIGHT, dim], is_sparse=True, param_attr=a)
    return paddle.reshape(found, [-1, dim])


label = paddle.static.data("label", [None, 1], "float32")
counts = paddle.static.data("counts", [None, 13], "float32")
ids = [paddle.static.data("C%d" % i, [None, 1], "int64") for i in range(26)]
hidden, width = paddle.concat([rows_of(x) for x in ids] + [counts], axis=1), 26 * dim + 13
for size in layers:
    hidden = layer.fc(hidden, size, activation="relu", weight_attr=attr(initializer=start.Normal(std=width ** -0.5)))
    width = size
chance = paddle.nn.functional.sigmoid(layer.fc(hidden, 1) + layer.fc(counts, 1))
loss = paddle.mean(paddle.nn.functional.log_loss(chance, label))
looking = paddle.static.default_main_program().clone(for_test=True)
rule = paddle.optimizer.Adam(1e-3, lazy_mode=True) if net == "wide" else paddle.optimizer.SGD(1e-4)
if servers:
    fleet.DistributedStrategy.__repr__ = lambda self: "strategy"  # 2.6 prints it, and fails with newer protobufs
    strategy = fleet.DistributedStrategy()
    strategy.a_sync = True
    rule = fleet.distributed_optimizer(rule, strategy)
rule.minimize(loss)
if servers and fleet.is_server():
    fleet.init_server()
    fleet.run_server()
    sys.exit(0)
run = paddle.static.Executor(paddle.CPUPlace())
run.run(paddle.static.default_startup_program())
worker, workers = 0, 1
if servers:
    fleet.init_worker()
    worker, workers = fleet.worker_index(), fleet.worker_num()


def feed(labels, counts, ids):
    return {"label": labels, "counts": counts, **{"C%d" % i: ids[:, i:i + 1] for i in range(26)}}


def slots(labels, counts, ids):
    """A file of this worker's rows as Paddle's readers take them."""
    path = "%s.%d.slots" % (os.path.join(folder, net), worker)
    with open(path, "w") as f:
        for y, c, i in zip(labels, counts, ids):
            f.write("1 %d 13 %s %s\n" % (y[0], " ".join("%.5g" % v for v in c), " ".join("1 %d" % v for v in i)))
    return path


def dense():
    """What changes when dense weights do."""
    found = [paddle.static.global_scope().find_var(p.name).get_tensor() for p in main.all_parameters() if p.name.startswith("fc")]
    return sum(float(np.abs(np.array(w)).sum()) for w in found)


main = paddle.static.default_main_program()
data = [a[worker::workers] for a in load(folder, "train", rows)]
steps = len(data[0]) // batch
data = [a[:steps * batch] for a in data]
if servers:  # train_from_dataset alone pulls dense weights again; fed steps train on the first ones
    reader = paddle.distributed.InMemoryDataset()
    reader.init(batch_size=batch, thread_num=1, pipe_command="cat", use_var=[label, counts] + ids)
    reader.set_filelist([slots(*data)])
    reader.load_into_memory()
    fleet.barrier_worker()
    before, began = dense(), time.perf_counter()
    run.train_from_dataset(main, reader, thread=1)
    figures = {"examples/s": steps * batch / (time.perf_counter() - began)}
    if dense() == before:
        sys.exit("dense weights are the first ones: updates have not arrived")
else:
    watch = Watch()
    for i in range(0, steps * batch, batch):
        value, = run.run(main, feed=feed(*(a[i:i + batch] for a in data)), fetch_list=[loss])
        watch.losses.append(value)
    figures, test = watch.end(steps * batch), load(folder, "test")
    parts = zip(*(np.array_split(a, len(a) // 1000 + 1) for a in test))
    scores = [run.run(looking, feed=feed(*part), fetch_list=[chance])[0] for part in parts]
    figures["AUC"] = auc(np.concatenate(scores)[:, 0], test[0][:, 0])
show(figures)
if servers:
    fleet.stop_worker()
