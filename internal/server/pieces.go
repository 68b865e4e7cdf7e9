package server

import (
	"slices"
	"sync"

	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/wire"
)

// pieces collects pushes that are too large for one frame, until the last piece of each makes it a push like any other:
// whole or refused.
//
// The server's lock guards which pushes are being collected. Each stage has a lock of its own for what has come of its
// push, so that copying a piece of some megabytes delays only other pieces of that push. The two locks are never held
// together.
type pieces struct {
	st      *state.Job
	roster  *roster.Roster
	part    *state.Part
	summing *summing
	// stages has a nil map for a worker without pushes under way. Guarded by the server's lock.
	stages []map[uint64]*stage // by worker and sequence number
}

// stage holds the received pieces of a push.
type stage struct {
	mu sync.Mutex // guards the fields below; pieces of one push come concurrently
	// got records which pieces have come.
	got []bool // by number; the last piece is never among them
	// dense is nil before the first dense piece, and stays nil if pieces are added up.
	dense []float32
	// rows are copies, since the frames of earlier pieces are gone by then.
	rows [][]gradient.Rows // by number and embedding
	// bytes is the size of the rows and their ids in memory.
	bytes int
}

const (
	// maxStages is more than a worker sends: two for each of its threads.
	maxStages = 64
	// maxStageBytes bounds the rows of one push; its dense values are as many as the server holds.
	maxStageBytes = 16 << 30
)

// handle stores a piece of a push. A repeated piece changes nothing. It returns when the piece is copied, or, if pieces
// are added up, when its span is in the sum.
func (c *pieces) handle(f *wire.Frame) error {
	piece, err := f.Piece()
	if err != nil {
		return err
	}
	if piece.Number == piece.Of-1 {
		return wire.Refuse(wire.StatusRefused, "the last piece of a push is the step")
	}
	st, err := c.stage(f, piece.Of)
	if err != nil || st == nil {
		return err
	}
	dense, from, err := st.put(c.part, f, piece.Number, !c.summing.on)
	if err != nil || dense == nil || !c.summing.on {
		return err
	}
	c.st.Lock()
	defer c.st.Unlock()
	if c.roster.Window(int(f.Worker)).Knows(f.Seq) {
		return nil
	}
	return c.summing.span(f, dense, from)
}

// stage returns where the pieces of a frame's push are collected; nil if that push has been seen and needs none any
// more. Such a late piece changes nothing and is answered without an error: the outcome of the push is in the answer to
// its last piece. stage makes the stage with the first piece that arrives, whichever number that has, since pieces
// overtake each other.
func (c *pieces) stage(f *wire.Frame, n int) (*stage, error) {
	c.st.Lock()
	defer c.st.Unlock()
	if err := c.st.Sender(f); err != nil || c.roster.Window(int(f.Worker)).Knows(f.Seq) {
		return nil, err
	}
	stages := c.stages[f.Worker]
	st := stages[f.Seq]
	switch {
	case st != nil && len(st.got) != n-1:
		return nil, wire.Refuse(wire.StatusRefused, "step %d of worker %d has %d pieces, and now %d", f.Seq, f.Worker,
			len(st.got)+1, n)
	case st != nil:
		return st, nil
	case len(stages) >= maxStages:
		return nil, wire.Refuse(wire.StatusRefused, "worker %d has begun %d pushes and ended none", f.Worker, maxStages)
	case stages == nil:
		stages = make(map[uint64]*stage)
		c.stages[f.Worker] = stages
	}
	st = &stage{got: make([]bool, n-1), rows: make([][]gradient.Rows, n-1)}
	stages[f.Seq] = st
	return st, nil
}

// forget drops the received pieces of a worker whose life is over. The caller holds the lock. Late pieces begin no
// push, since their sender is refused.
func (c *pieces) forget(worker int) {
	c.stages[worker] = nil
	c.summing.lost(worker, c.st.Mode.Open())
}

// used drops the stage of a push that has been put together. The caller holds the lock. The push keeps the stage's
// memory.
func (c *pieces) used(p *push) { delete(c.stages[p.worker], p.seq) }

// read reads a push from a frame that is its last piece, or all of it. It waits for nothing. An error refuses the
// frame, which has changed nothing.
func (c *pieces) read(p *push, f *wire.Frame) error {
	if err := p.parse(f); err != nil {
		return err
	}
	piece, err := f.Piece()
	if err != nil {
		return err
	}
	if piece.Of > 1 {
		return c.assemble(p, f, piece)
	}
	if c.summing.on {
		return wire.Refuse(wire.StatusRefused, "worker %d pushed a gradient of %d dense values in one frame, others "+
			"push it in pieces: give all processes the same bound of messages", f.Worker, c.part.Floats)
	}
	return p.whole(c.part, f)
}

// assemble makes a push of its last piece and the earlier ones. If some are missing, the push is incomplete, which
// matters only if it was not seen before. The slices in p alias the stage and the frame, both of which live until the
// push is done.
func (c *pieces) assemble(p *push, f *wire.Frame, piece wire.Piece) error {
	last, err := p.read(c.part, f)
	if err != nil {
		return err
	}
	p.grad.Dense = nil
	st, err := c.stage(f, piece.Of)
	if err != nil || st == nil {
		return err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	switch i := slices.Index(st.got, false); {
	case i >= 0 && c.summing.on: // the gradient was begun again
		p.incomplete = again(int(f.Worker), mode.Round(f.Round))
		return nil
	case i >= 0 && c.st.Returned: // the piece may have come to the process before, and is lost
		return wire.Refuse(wire.StatusAgain, "step %d of worker %d: server %d was started again since piece %d of %d "+
			"came: begin again with the first", f.Seq, f.Worker, c.part.Index, i+1, piece.Of)
	case i >= 0:
		p.incomplete = wire.Refuse(wire.StatusRefused, "step %d of worker %d: piece %d of %d has not come",
			f.Seq, f.Worker, i+1, piece.Of)
		return nil
	}
	from, _, _ := f.Span(c.part.Floats)
	if p.last, p.from = last, from; !c.summing.on {
		p.grad.Dense = st.room(c.part)
		copy(p.grad.Dense[from:], last)
	}
	for e := range p.grad.Rows {
		if p.grad.Rows[e], err = st.join(e, p.grad.Rows[e]); err != nil {
			return wire.Refuse(wire.StatusRefused, "push of worker %d to server %d: embedding %q: %v",
				f.Worker, c.part.Index, c.part.Layout.Embeddings[e].Name, err)
		}
	}
	return nil
}

// put copies a piece out of its frame, with its dense values if keep is true, and returns those values. dense is nil if
// the piece is stored already and keep is true. A refused piece may be sent again.
func (st *stage) put(of *state.Part, f *wire.Frame, number int, keep bool) (dense []float32, from int, err error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.got[number] && keep {
		return nil, 0, nil
	}
	var p push
	if dense, err = p.read(of, f); err != nil {
		return nil, 0, err
	}
	from, _, _ = f.Span(of.Floats)
	if st.got[number] {
		return dense, from, nil
	}
	for e := range p.grad.Rows {
		r := &p.grad.Rows[e]
		r.G, r.Clicks = slices.Clone(r.G), slices.Clone(r.Clicks)
		st.bytes += 8*len(r.IDs) + 4*len(r.G) + 4*len(r.Clicks)
	}
	if st.bytes > maxStageBytes {
		return nil, 0, wire.Refuse(wire.StatusRefused, "the rows of one push of worker %d are more than %d bytes",
			f.Worker, maxStageBytes)
	}
	if dense != nil && keep {
		copy(st.room(of)[from:], dense)
	}
	st.rows[number], st.got[number] = p.grad.Rows, true
	return dense, from, nil
}

// room returns memory for all dense values of the server. It is made once for a push, and goes with its stage.
func (st *stage) room(of *state.Part) []float32 {
	if st.dense == nil {
		st.dense = make([]float32, of.Floats)
	}
	return st.dense
}

// join concatenates the rows of an embedding, in the order of the pieces. Ids must ascend from piece to piece.
func (st *stage) join(e int, last gradient.Rows) (all gradient.Rows, err error) {
	var parts []gradient.Rows
	for _, rows := range st.rows {
		parts = append(parts, rows[e])
	}
	for _, part := range append(parts, last) {
		if n := len(all.IDs); n > 0 && len(part.IDs) > 0 && part.IDs[0] <= all.IDs[n-1] {
			return all, wire.Refuse(wire.StatusRefused, "id %d after %d", part.IDs[0], all.IDs[n-1])
		}
		all.IDs, all.G, all.Clicks = append(all.IDs, part.IDs...), append(all.G, part.G...),
			append(all.Clicks, part.Clicks...)
	}
	if all.Clicks != nil && len(all.Clicks) != 2*len(all.IDs) {
		return all, wire.Refuse(wire.StatusRefused, "shows and clicks of %d rows of %d", len(all.Clicks)/2,
			len(all.IDs))
	}
	return all, nil
}
