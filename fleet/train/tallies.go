package train

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
)

// tallies are numbers that a worker has measured. An AUC has 131,073 of them, most of which are 0: only the others are
// encoded, each after the number of zeros before it.
type tallies []float64

// plus are sums, of which t may be none yet.
func (t tallies) plus(more tallies) tallies {
	if t == nil {
		return slices.Clone(more)
	}
	for i, v := range more {
		t[i] += v
	}
	return t
}

// GobEncode is for encoding/gob.
func (t tallies) GobEncode() ([]byte, error) {
	b, next := binary.AppendUvarint(nil, uint64(len(t))), 0
	for i, v := range t {
		if bits := math.Float64bits(v); bits != 0 {
			b = binary.LittleEndian.AppendUint64(binary.AppendUvarint(b, uint64(i-next)), bits)
			next = i + 1
		}
	}
	return b, nil
}

// GobDecode is for encoding/gob.
func (t *tallies) GobDecode(b []byte) error {
	bad := errors.New("numbers that were measured are cut off")
	size, n := binary.Uvarint(b)
	if n <= 0 || size > maxTallies {
		return bad
	}
	all, next := make(tallies, size), uint64(0)
	for b = b[n:]; len(b) > 0; next++ {
		zeros, n := binary.Uvarint(b)
		if n <= 0 || len(b) < n+8 || zeros >= size-next {
			return bad
		}
		next += zeros
		all[next] = math.Float64frombits(binary.LittleEndian.Uint64(b[n:]))
		b = b[n+8:]
	}
	*t = all
	return nil
}

const maxTallies = 1 << 27 // a thousand AUCs
