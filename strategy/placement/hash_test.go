package placement

import "testing"

func TestHashString(t *testing.T) {
	vectors := map[string]int64{
		"":                         0,
		"fc_0.w_0":                 -9044970359023213108,
		"fc_0.b_0":                 -9044951358959213007,
		"fc_1.w_0":                 958817846073683169,
		"fc_1.b_0":                 958830846137683228,
		"fc_2.w_0":                 -6591013876211870006,
		"fc_2.b_0":                 -6591026876147869665,
		"embedding":                -1121608774033003274,
		"SparseFeatFactors.block0": 6002222403782987535,
		"SparseFeatFactors.block1": 6002222403782987534,
	}
	for s, want := range vectors {
		if got := hashString(s); got != want {
			t.Errorf("hash of %q = %d, want %d", s, got, want)
		}
	}
}

func TestFloorMod(t *testing.T) {
	for x := int64(-7); x <= 7; x++ {
		got := floorMod(x, 3)
		if got < 0 || got > 2 || (x-int64(got))%3 != 0 {
			t.Errorf("%d modulo 3 = %d", x, got)
		}
	}
}
