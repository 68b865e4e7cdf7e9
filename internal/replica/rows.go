package replica

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/gofleet/gofleet/internal/collective"
	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/optimizer"
)

var errRows = errors.New("truncated or malformed rows")

// travelling are the embeddings whose rows are sent, in their order.
type travelling []*optimizer.Param

// append encodes a worker's rows: i64 weight, -1 for one that has ended its epoch; then for each embedding u64 count,
// ids and floats; and for an embedding that counts shows and clicks, u64 the number of these, 0 or two for each id, and
// their values. Floats are padded with zeros to a multiple of 8 bytes.
func (all travelling) append(b []byte, p collective.Part, rows []gradient.Rows) []byte {
	le := binary.LittleEndian
	if p.Ended {
		return le.AppendUint64(b, math.MaxUint64)
	}
	b = le.AppendUint64(b, uint64(p.Weight))
	for e, param := range all {
		r := rows[e]
		b = append(le.AppendUint64(b, uint64(len(r.IDs))), collective.Bytes(r.IDs)...)
		b = appendFloats(b, r.G)
		if param.Entry.Counts() {
			b = appendFloats(le.AppendUint64(b, uint64(len(r.Clicks))), r.Clicks)
		}
	}
	return b
}

func appendFloats(b []byte, f []float32) []byte {
	return append(append(b, collective.Bytes(f)...), make([]byte, len(f)%2*4)...)
}

// takeFloats returns n floats at the start of b, in its memory, and the rest of b.
func takeFloats(b []byte, n uint64) (f []float32, rest []byte, err error) {
	size := 4*n + 4*(n%2)
	if n > uint64(len(b)) || size > uint64(len(b)) {
		return nil, nil, errRows
	}
	return collective.Elements[float32](b[:4*n]), b[size:], nil
}

// takeClicks returns the shows and clicks of n rows, and the rest of b.
func takeClicks(b []byte, n int) (clicks []float32, rest []byte, err error) {
	if len(b) < 8 {
		return nil, nil, errRows
	}
	has := binary.LittleEndian.Uint64(b)
	if has != 0 && has != uint64(2*n) {
		return nil, nil, errRows
	}
	return takeFloats(b[8:], has)
}

// parse decodes what append has written, in b's memory; n is -1 for a worker that has ended.
func (all travelling) parse(b []byte) (n int, rows []gradient.Rows, err error) {
	le := binary.LittleEndian
	if len(b) < 8 {
		return 0, nil, errRows
	}
	n, b = int(int64(le.Uint64(b))), b[8:]
	if n < 0 {
		return n, nil, nil
	}
	rows = make([]gradient.Rows, len(all))
	for e, p := range all {
		if len(b) < 8 {
			return 0, nil, errRows
		}
		count, row := le.Uint64(b), uint64(8+4*p.Dim())
		b = b[8:]
		if count > uint64(len(b))/row {
			return 0, nil, errRows
		}
		r := &rows[e]
		r.IDs, b = collective.Elements[uint64](b[:8*count]), b[8*count:]
		r.G, b, err = takeFloats(b, count*uint64(p.Dim()))
		if err == nil && p.Entry.Counts() {
			r.Clicks, b, err = takeClicks(b, len(r.IDs))
		}
		if err != nil {
			return 0, nil, err
		}
	}
	if len(b) > 0 {
		return 0, nil, errRows
	}
	return n, rows, nil
}
