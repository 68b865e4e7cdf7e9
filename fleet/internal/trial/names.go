package trial

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/internal/wire"
)

// Envelope is the number of bytes before a frame in the job's transport; the frame's header follows unencoded.
const Envelope = 16

// NameOf names a message of a job by its sender and purpose, so that it has the same name in every run: a push by its
// number and its piece's, a message between servers by its content, and any other message of a worker by its kind
// alone, of which the third is the third in every run. The name excludes whatever differs between equal runs: keys,
// directories, rounds, weights.
func NameOf(req [][]byte) string {
	all := bytes.Join(req, nil)
	if len(all) < Envelope {
		return string(all)
	}
	h, err := wire.ParseHeader(all[Envelope:])
	if err != nil {
		return string(all) // a job without servers has no frames
	}
	var f wire.Frame
	if f.Parse(all[Envelope:]) != nil { // the frame is encoded
		f = wire.Frame{Header: h}
	}
	switch h.Op {
	case wire.OpReport:
		var r wire.Report
		_ = f.JSON(&r)
		return fmt.Sprintf("%v: server %d, process %d, new %t, ends %t", h.Op, r.Server, r.Process,
			len(r.Fingerprint) > 0, r.Ends)
	case wire.OpFence, wire.OpDrop, wire.OpNorms:
		says, _ := f.Blob()
		return fmt.Sprintf("%v: %s", h.Op, says)
	}
	if slices.ContainsFunc(f.Sections, func(s wire.Section) bool { return s.Kind == wire.KindChanged }) {
		h.Seq = 0 // the order in which servers are asked does not matter
	}
	p, _ := f.Piece()
	return fmt.Sprintf("%v %d of worker %d, life %d, piece %d", h.Op, h.Seq, h.Worker, h.Life, p.Number)
}
