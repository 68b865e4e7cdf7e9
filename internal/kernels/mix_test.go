package kernels

import "testing"

func TestMixIsFrozen(t *testing.T) {
	vectors := map[uint64]uint64{
		0:         0,
		1:         0x5692161d100b05e5,
		2:         0xdbd238973a2b148a,
		1 << 63:   0x25c26ea579cea98a,
		1<<64 - 1: 0xb4d055fcf2cbbd7b,
	}
	for id, want := range vectors {
		if got := Mix(id); got != want {
			t.Errorf("Mix(%#x) = %#x, want %#x", id, got, want)
		}
	}
}

// Ids in runs and in strides spread evenly: within 5 % of the mean on every server.
func TestMixSpreads(t *testing.T) {
	const ids = 100000
	for _, stride := range []uint64{1, 2, 3, 1000, 1 << 32} {
		for _, servers := range []uint64{2, 3, 4, 7} {
			count := make([]int, servers)
			for i := range uint64(ids) {
				count[Mix(i*stride)%servers]++
			}
			for s, n := range count {
				if mean := float64(ids) / float64(servers); float64(n) < 0.95*mean || float64(n) > 1.05*mean {
					t.Errorf("stride %d: server %d of %d has %d of %d ids", stride, s, servers, n, ids)
				}
			}
		}
	}
}
