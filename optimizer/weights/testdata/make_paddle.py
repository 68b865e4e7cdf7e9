"""Trains a small net for 30 steps in PaddlePaddle 2.6.2 and writes its parameters, and what it predicts, for TestPaddle.

    pip install paddlepaddle==2.6.2 'numpy<2'; python3 make_paddle.py
"""
import numpy as np
import paddle

paddle.enable_static()
paddle.seed(1)
rng = np.random.RandomState(1)
N = 16

numbers = paddle.static.data("numbers", [None, 5], "float32")
ids = paddle.static.data("ids", [None, 3], "int64")
image = paddle.static.data("image", [None, 1, 6, 6], "float32")
label = paddle.static.data("label", [None, 1], "float32")

emb = paddle.static.nn.embedding(ids, [12, 4], is_sparse=True, padding_idx=0)
h = paddle.concat([paddle.reshape(emb, [-1, 12]), numbers], axis=1)
h = paddle.static.nn.batch_norm(paddle.static.nn.fc(h, 8, activation="relu"))
h = paddle.static.nn.layer_norm(paddle.static.nn.fc(h, 6, activation="tanh"))
c = paddle.static.nn.conv2d(image, 3, 3, act="relu")
c = paddle.nn.functional.max_pool2d(c, 2, 2)
logit = paddle.static.nn.fc(paddle.concat([h, paddle.reshape(c, [-1, 12])], axis=1), 1)
pred = paddle.nn.functional.sigmoid(logit)
loss = paddle.mean(paddle.nn.functional.log_loss(pred, label))
test = paddle.static.default_main_program().clone(for_test=True)
paddle.optimizer.Adam(0.05).minimize(loss)


def batch():
    i = rng.randint(0, 12, [N, 3]).astype(np.int64)
    return {"numbers": rng.randn(N, 5).astype(np.float32), "ids": i, "image": rng.randn(N, 1, 6, 6).astype(np.float32),
            "label": (i[:, :1] % 2).astype(np.float32)}


exe = paddle.static.Executor(paddle.CPUPlace())
exe.run(paddle.static.default_startup_program())
for step in range(30):
    l, = exe.run(feed=batch(), fetch_list=[loss])
print("loss", l)

scope = paddle.static.global_scope()
kept = [v.name for v in test.list_vars() if v.persistable and v.name not in ("feed", "fetch")]
np.savez("paddle.npz", **{name: np.array(scope.find_var(name).get_tensor()) for name in kept + ["fc_0.b_0_moment1_0"]})
print(kept)

feed = batch()
out, = exe.run(test, feed=feed, fetch_list=[pred])
np.savez_compressed("paddle_predicts.npz", pred=out, **{k: v.astype(np.float32) for k, v in feed.items() if k != "label"})
