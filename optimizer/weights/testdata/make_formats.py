"""Writes what TestOtherWriters reads: arrays by numpy 1.26, vectors by gensim 4.4.

    pip install numpy gensim; python3 make_formats.py
"""
import gensim
import numpy as np

rows = np.array([[0.1, -2.5, 3e-7], [4, 5.25, 1e20]], np.float32)
ids = np.array([7, 2**63 + 5], np.uint64)
np.save("f4.npy", rows)
np.save("f8.npy", rows.astype(np.float64))
np.save("fortran.npy", np.asfortranarray(rows))
np.save("big.npy", rows.astype(">f4"))
np.save("struct.npy", np.zeros(2, [("a", "<f4")]))
for version in [(2, 0), (3, 0)]:
    with open(f"v{version[0]}.npy", "wb") as f:
        np.lib.format.write_array(f, rows, version)
np.savez("stored.npz", **{"user": rows, "user.ids": ids, "fc_0.b_0": rows[0], "scalar": np.float32(2)})
np.savez_compressed("packed.npz", **{"user": rows.astype(np.float64), "user.ids": ids.astype(np.int64)})

v = gensim.models.KeyedVectors(3)
v.add_vectors(["cat", "häuser"], rows)
v.save_word2vec_format("gensim.bin", binary=True)
v.save_word2vec_format("gensim.txt", binary=False)
