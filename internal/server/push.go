package server

import (
	"math"

	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/update"
	"github.com/gofleet/gofleet/internal/wire"
)

// push is one worker's gradient for this server, with the memory it is read into. Unless they came in a narrow format,
// its floats alias the request, which lives as long as its handler waits: the handler of a noted push therefore waits
// until its update is made, even when its own wait has failed.
type push struct {
	// worker, life, seq and round are copied from the frame.
	worker int
	life   uint32
	seq    uint64
	round  mode.Round
	// request outlives the push: it answers repeated requests.
	request *roster.Request // its place in the worker's window
	// grad is read by the update.
	grad update.Push
	// positions are the places in the data that the pushing threads have reached. They count for checkpoints when the
	// push does.
	positions []progress.Position
	// denseRoom and rowsRoom hold floats that came in a narrow format and were widened, so that a push allocates
	// nothing of its size. Both stay with the push in its pool.
	denseRoom []float32
	rowsRoom  [][]float32 // by embedding
	// If pieces are added up as they come, last are the dense values of the last piece, from place from on, and sum is
	// the whole gradient of the round.
	last []float32
	from int
	sum  []float32
	// incomplete names the missing pieces.
	incomplete error
}

// parse copies the sender, the samples and the positions of a frame. It resets what an earlier push has left in this
// memory.
func (p *push) parse(f *wire.Frame) (err error) {
	p.worker, p.life, p.seq, p.round = int(f.Worker), f.Life, f.Seq, mode.Round(f.Round)
	p.grad.Samples, p.incomplete, p.last, p.sum = int(f.Samples), nil, nil, nil
	if p.positions, err = f.Positions(p.positions[:0]); err != nil {
		return wire.Refuse(wire.StatusRefused, "push of worker %d: %v", f.Worker, err)
	}
	return nil
}

// count is the number of embedding rows in a push.
func (p *push) count() (n int) {
	for i := range p.grad.Rows {
		n += len(p.grad.Rows[i].IDs)
	}
	return n
}

// whole reads the gradients of a frame that has all of them, and checks all, so that nothing of a wrong push is
// applied. A push has a gradient for every dense value of this server, since a missing one would leave a part of the
// weights behind, and rows for any number of ids. A server without dense values gets no dense gradient.
func (p *push) whole(of *state.Part, f *wire.Frame) (err error) {
	if p.grad.Dense, err = p.read(of, f); err != nil {
		return err
	}
	if len(p.grad.Dense) != of.Floats {
		return wire.Refuse(wire.StatusRefused,
			"worker %d pushed %d dense gradients to server %d, which holds %d values",
			f.Worker, len(p.grad.Dense), of.Index, of.Floats)
	}
	return nil
}

// read reads the rows of one frame into p, and returns its dense values. It checks every number: a NaN or an infinity
// would stay in the weights for good, and the worker's own check does not cover the way here.
func (p *push) read(of *state.Part, f *wire.Frame) ([]float32, error) {
	for len(p.grad.Rows) < len(of.Layout.Embeddings) {
		p.grad.Rows, p.rowsRoom = append(p.grad.Rows, gradient.Rows{}), append(p.rowsRoom, nil)
	}
	for i := range p.grad.Rows {
		p.grad.Rows[i].IDs, p.grad.Rows[i].G, p.grad.Rows[i].Clicks = p.grad.Rows[i].IDs[:0], nil, nil
	}
	for _, sec := range f.Sections {
		var err error
		switch sec.Kind {
		case wire.KindRows:
			err = p.readRows(of, sec)
		case wire.KindClicks:
			err = p.readClicks(of, sec)
		}
		if err != nil {
			return nil, wire.Refuse(wire.StatusRefused, "push of worker %d to server %d: %v", f.Worker, of.Index, err)
		}
	}
	dense, from, _, err := of.Weights(f, of.Floats, &p.denseRoom)
	if err != nil {
		return nil, err
	}
	if i := kernels.FirstNotFinite(dense); i >= 0 {
		return nil, wire.Refuse(wire.StatusRefused, "push of worker %d to server %d: the gradient of %s is %v",
			f.Worker, of.Index, of.BlockAt(from+i), dense[i])
	}
	return dense, nil
}

// readRows reads the gradients of one embedding's rows, and refuses numbers that are not finite, ids of other servers,
// and an embedding that is frozen or comes twice.
func (p *push) readRows(of *state.Part, sec wire.Section) error {
	e, err := of.Embedding(sec.Param)
	if err != nil {
		return err
	}
	rows, emb := &p.grad.Rows[e], &of.Layout.Embeddings[e]
	name, dim := emb.Name, emb.Dim()
	if emb.Frozen {
		return wire.Refuse(wire.StatusRefused, "embedding %q is frozen", name)
	}
	if rows.G != nil {
		return wire.Refuse(wire.StatusRefused, "embedding %q comes twice", name)
	}
	if rows.IDs, err = sec.IDs(rows.IDs); err != nil {
		return err
	}
	if rows.G, err = sec.RowsIn(&p.rowsRoom[e]); err != nil {
		return err
	}
	if len(rows.G) != len(rows.IDs)*dim {
		return wire.Refuse(wire.StatusRefused, "embedding %q: %d values for %d rows of width %d", name, len(rows.G),
			len(rows.IDs), dim)
	}
	if i := kernels.FirstNotFinite(rows.G); i >= 0 {
		return wire.Refuse(wire.StatusRefused, "the gradient of row %d of %q is %v", rows.IDs[i/dim], name, rows.G[i])
	}
	return of.CheckIDs(emb, rows.IDs)
}

// readClicks reads the shows and clicks of rows that were read before. They belong to counters of rows, not to
// gradients: two numbers a row, finite and not negative.
func (p *push) readClicks(of *state.Part, sec wire.Section) error {
	e, err := of.Embedding(sec.Param)
	if err != nil {
		return err
	}
	rows, name := &p.grad.Rows[e], of.Layout.Params[sec.Param].Name
	clicks, err := sec.Clicks()
	if err != nil {
		return err
	}
	if len(clicks) != 2*len(rows.IDs) || rows.Clicks != nil {
		return wire.Refuse(wire.StatusRefused, "embedding %q: shows and clicks of %d rows, it has %d (or they come "+
			"twice)",
			name, len(clicks)/2, len(rows.IDs))
	}
	for i, x := range clicks {
		if !(x >= 0 && x <= math.MaxFloat32) {
			return wire.Refuse(wire.StatusRefused, "row %d of %q was shown or clicked %v times", rows.IDs[i/2], name, x)
		}
	}
	rows.Clicks = clicks
	return nil
}
