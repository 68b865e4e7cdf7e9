package wire

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestIDs holds lists of ids, of numbers of every length and in every mixture, to encoding/binary's numbers: the same bytes,
// and the same ids of them; a list that was cut off anywhere is refused.
func TestIDs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		longest, n := 1+r.IntN(62), r.IntN(40)
		var ids []uint64
		var want []byte
		far := uint64(r.IntN(2)) * (1<<63 - 1<<20) // ids then pass the middle of 64 bits
		for next := uint64(0); len(ids) < n; {
			gap := r.Uint64()>>(63-r.IntN(longest+1)) + far
			if far = 0; next+gap < next {
				break
			}
			ids, want = append(ids, next+gap), binary.AppendUvarint(want, gap)
			if next += gap + 1; next == 0 {
				break
			}
		}
		got := putIDs(nil, ids)
		if !bytes.Equal(got, want) {
			t.Fatalf("%d are written as %x, want %x", ids, got, want)
		}
		back, err := appendIDs(nil, got, len(ids))
		if err != nil || !slices.Equal(back, ids) {
			t.Fatalf("%x is read as %d, want %d (%v)", got, back, ids, err)
		}
		for cut := range got {
			if back, err := appendIDs(nil, got[:cut], len(ids)); err == nil {
				t.Fatalf("%x, cut off after %d bytes, is read as %d", got, cut, back)
			}
		}
	}
}

// TestIDsBeyond64Bits refuses a list whose last numbers are short and lead past the largest id.
func TestIDsBeyond64Bits(t *testing.T) {
	text := append(binary.AppendUvarint(nil, math.MaxUint64-2), make([]byte, 8)...)
	if ids, err := appendIDs(nil, text, 9); err == nil {
		t.Errorf("ids beyond 64 bits are read as %d", ids)
	}
}

// TestUvarint reads numbers that [binary.PutUvarint] would write shorter or not at all, as [binary.Uvarint] does.
func TestUvarint(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 100_000 {
		var b [12]byte
		binary.LittleEndian.PutUint64(b[:], r.Uint64()|highBits&r.Uint64()|math.MaxUint64>>r.IntN(65)&highBits)
		binary.LittleEndian.PutUint32(b[8:], r.Uint32())
		text := b[:r.IntN(13)]
		v, n := uvarint(text)
		if want, size := binary.Uvarint(text); v != want || n != size {
			t.Fatalf("%x is %d of %d bytes, want %d of %d", text, v, n, want, size)
		}
	}
	for length := range 65 {
		d := uint64(math.MaxUint64) >> (64 - length)
		var got [binary.MaxVarintLen64]byte
		if n, want := putUvarint(got[:], d), binary.AppendUvarint(nil, d); !bytes.Equal(got[:n], want) {
			t.Errorf("%d bits are written as %x, want %x", bits.Len64(d), got[:n], want)
		}
	}
}
