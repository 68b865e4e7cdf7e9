package exchange

import (
	"fmt"

	"github.com/gofleet/gofleet/internal/wire"
)

// floats returns the number of dense values on a server.
func (x *Exchange) floats(s int) int { return x.s.Layout.Parts[s].Floats }

func (x *Exchange) wantsDense(s int) bool { return x.Dense != nil && !x.NoDense && x.floats(s) > 0 }

// span returns the values [from, to) of a server's dense blocks, in the order of frames.
func (x *Exchange) span(s int, dense [][]float32, from, to int) [][]float32 {
	l := &x.lanes[s]
	l.pieces = l.pieces[:0]
	for _, b := range x.s.Layout.Parts[s].Blocks {
		if lo, hi := max(from, b.At), min(to, b.At+b.Size); lo < hi {
			l.pieces = append(l.pieces, dense[b.Param][b.Offset:][lo-b.At:hi-b.At])
		}
	}
	return l.pieces
}

// putDense adds the dense gradients [from, to) of a server to its frame.
func (x *Exchange) putDense(s int, dense [][]float32, from, to int) {
	b, pieces := &x.lanes[s].build, x.span(s, dense, from, to)
	if x.s.Payload == wire.Float32 {
		b.Dense(pieces...)
	} else {
		b.DenseAs(x.s.Payload, pieces...)
	}
}

// readDense copies the dense values [from, to) of a server into Dense.
func (x *Exchange) readDense(s int, version uint64, sec wire.Section, from, to int) error {
	w, err := sec.Dense()
	if err != nil {
		return err
	}
	if len(w) != to-from || x.Dense == nil {
		return fmt.Errorf("%d dense weights came, %d were asked for", len(w), to-from)
	}
	if x.Install != nil {
		x.Install.Lock()
		defer x.Install.Unlock()
		x.Arrived.Add(1)
		if version < x.Newest[s] {
			return nil // another request was faster
		}
		x.Newest[s] = version
	}
	for _, p := range x.span(s, x.Dense, from, to) {
		w = w[copy(p, w):]
	}
	return nil
}
