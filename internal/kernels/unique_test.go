package kernels

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

// checkUnique compares Unique with a map and the sort of the standard library.
func checkUnique(t *testing.T, ids []uint64, u *Uniquer) {
	t.Helper()
	before := slices.Clone(ids)
	unique, inverse := Unique(ids, u)
	if unique == nil { // which would be of a batch that is not known
		t.Fatal("nil is what is unique")
	}
	want := slices.Compact(slices.Sorted(slices.Values(before)))
	if !slices.Equal(unique, want) {
		t.Fatalf("Unique of %d ids = %v, want %v", len(ids), unique, want)
	}
	if len(inverse) != len(ids) || !slices.Equal(ids, before) {
		t.Fatalf("%d positions for %d ids, ids changed: %v", len(inverse), len(before), !slices.Equal(ids, before))
	}
	for i, p := range inverse {
		if unique[p] != ids[i] {
			t.Fatalf("unique[inverse[%d]] = %d, want %d", i, unique[p], ids[i])
		}
	}
}

func TestUnique(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	var u Uniquer
	for _, limit := range []uint64{1, 2, 300, 1_000_001, 1 << 40, 1<<64 - 1} {
		for _, n := range []int{0, 1, 2, 31, 32, 33, 500, 2047, 2048, 13312, 7} {
			ids := make([]uint64, n)
			for i := range ids {
				ids[i] = r.Uint64N(limit)
			}
			checkUnique(t, ids, &u)
		}
	}
}

// TestUniqueDigits: ids that differ in some bits only, wherever these are.
func TestUniqueDigits(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	var u Uniquer
	for shift := range 64 {
		ids := make([]uint64, 100)
		for i := range ids {
			ids[i] = r.Uint64N(1<<9)<<shift | 1
		}
		checkUnique(t, ids, &u)
	}
}

// TestSortIDs: few and many, in one digit and in all.
func TestSortIDs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var u Uniquer
	for _, n := range []int{0, 1, 100, 5000, 70_000} {
		for _, bits := range []int{1, 9, 20, 33, 64} {
			ids := make([]uint64, n)
			for i := range ids {
				ids[i] = r.Uint64() >> (64 - bits)
			}
			want := slices.Sorted(slices.Values(ids))
			if SortIDs(ids, &u); !slices.Equal(ids, want) {
				t.Errorf("%d ids of %d bits are not sorted", n, bits)
			}
		}
	}
}

func TestUniqueAllocatesNothingWarm(t *testing.T) {
	ids := make([]uint64, 5000)
	for i := range ids {
		ids[i] = uint64(i*7919) % 3001
	}
	var u Uniquer
	Unique(ids, &u)
	if n := testing.AllocsPerRun(10, func() { Unique(ids, &u) }); n != 0 {
		t.Errorf("%v allocations a call, want none", n)
	}
}

func FuzzUnique(f *testing.F) {
	f.Add([]byte{}, uint8(1))
	f.Add([]byte("the same ids the same ids the same ids"), uint8(2))
	f.Fuzz(func(t *testing.T, data []byte, width uint8) {
		var ids []uint64
		var word [8]byte
		for chunk := range slices.Chunk(data, int(width%8)+1) {
			word = [8]byte{}
			copy(word[:], chunk)
			ids = append(ids, binary.LittleEndian.Uint64(word[:]))
		}
		checkUnique(t, ids, new(Uniquer))
	})
}
