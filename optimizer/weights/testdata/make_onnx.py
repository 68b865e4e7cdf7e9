"""Writes typed.onnx and external.onnx, whose arrays are read by TestONNX, with Python's onnx (pip install onnx numpy)."""
import numpy as np
import onnx
from onnx import TensorProto as T, helper, numpy_helper

x = np.array([[0, -1.5, 0.1], [65504, 2**-24, 3]])
kinds = {"float32": T.FLOAT, "float64": T.DOUBLE, "float16": T.FLOAT16, "bfloat16": T.BFLOAT16}
tensors = [helper.make_tensor("typed." + name, kind, x.shape, x.ravel()) for name, kind in kinds.items()]
tensors += [numpy_helper.from_array(x.astype(t), "raw." + t) for t in ("float32", "float64", "float16")]
bits = (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)  # cut, where make_tensor rounds
raw = T(name="raw.bfloat16", data_type=T.BFLOAT16, dims=x.shape, raw_data=bits.tobytes())
ids = np.array([7, 2**40, 2**64 - 3], np.uint64)
tensors += [raw, helper.make_tensor("emb", T.FLOAT, (3, 2), range(6)), helper.make_tensor("emb.ids", T.UINT64, (3,), ids),
            helper.make_tensor("more", T.FLOAT, (2, 1), [8, 9]), helper.make_tensor("more.ids", T.INT64, (2,), [5, -1]),
            helper.make_tensor("few", T.FLOAT, (2, 1), [8, 9]), helper.make_tensor("few.ids", T.INT32, (2,), [5, -1]),
            helper.make_tensor("some", T.FLOAT, (2, 1), [8, 9]), numpy_helper.from_array(np.array([5, 6], np.uint32), "some.ids"),
            helper.make_tensor("scalar", T.FLOAT, (), [4]), helper.make_tensor("empty", T.FLOAT, (0, 2), []),
            helper.make_tensor("bytes", T.UINT8, (2,), [1, 2])]
graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", [helper.make_tensor_value_info("x", T.FLOAT, ["N"])],
                          [helper.make_tensor_value_info("y", T.FLOAT, ["N"])], tensors)
onnx.save(helper.make_model(graph), "typed.onnx")

both = [numpy_helper.from_array(np.arange(n, n + 6, dtype=np.float32).reshape(2, 3), f"w{n}") for n in (0, 100)]
graph = helper.make_graph([], "g", [], [], both)
onnx.save(helper.make_model(graph), "external.onnx", save_as_external_data=True, location="external.bin", size_threshold=0)
