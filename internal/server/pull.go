package server

import (
	"github.com/gofleet/gofleet/internal/count"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
)

// reading answers requests for rows, dense weights, rows that others have changed, and all rows of a table page by
// page. It reads tables while updates change them, without the server's lock. Its methods run on the goroutines of
// requests, many at a time.
type reading struct {
	st *state.Job
	// inHand has the cut whose lists scans read. scanned is guarded by the lock.
	inHand *inHand
	part   *state.Part
	store  *table.Store // part's
	// changed and delays note what workers have received.
	changed *changed
	delays  *delays
	// maxFrame is in bytes; pages of changed rows keep below it.
	maxFrame int
	// foreseeing reports that answers to pushes have predicted weights, so that a version does not identify the weights
	// that a worker has.
	foreseeing bool
	// bounded is set in lockstep modes: weights that were predicted before others' pushes came lack those pushes.
	bounded bool                // an answer waits for others' pushes, and must include them
	scanned map[uint32][]uint64 // ids of tables whose rows are being scanned, by param
}

// parse reads the requests of a frame into the reply, and refuses the frame before anything is applied: if the answer
// would exceed the message bound, if an id is out of range, or if a row is on another server. It reads into memory that
// the reply keeps from request to request.
func (c *reading) parse(f *wire.Frame, r *state.Reply) error {
	bytes, n := 0, 0
	r.Ahead.Version = 0
	if f.Version != wire.NoDense {
		from, to, err := f.Span(c.part.Floats)
		if err != nil {
			return err
		}
		bytes = 4 * (to - from)
	}
	for _, sec := range f.Sections {
		if sec.Kind != wire.KindIDs {
			continue
		}
		if len(r.Asked) == n {
			r.Asked = append(r.Asked, state.Asked{})
		}
		if err := c.parseIDs(&r.Asked[n], sec); err != nil {
			return err
		}
		bytes += 4 * len(r.Asked[n].IDs) * c.part.Dim(r.Asked[n].Embedding)
		n++
	}
	if bytes > c.part.Limit {
		return wire.Refuse(wire.StatusRefused,
			"pull of worker %d makes %d bytes, a message of server %d has at most %d",
			f.Worker, bytes, c.part.Index, c.part.Limit)
	}
	r.Wanted = n
	return nil
}

// parseIDs reads the ids of one embedding. They must ascend, and all be on this server.
func (c *reading) parseIDs(a *state.Asked, sec wire.Section) (err error) {
	if a.Embedding, err = c.part.Embedding(sec.Param); err != nil {
		return err
	}
	a.Peek = sec.Peek()
	if a.IDs, err = sec.IDs(a.IDs[:0]); err != nil {
		return err
	}
	if err := c.part.CheckIDs(&c.part.Layout.Embeddings[a.Embedding], a.IDs); err != nil {
		return wire.Refuse(wire.StatusRefused, "pull: %v", err)
	}
	return nil
}

// pull adds the parsed rows to the reply, and the dense weights unless the worker has them. With peek no row is
// created.
//
// The version is read before the weights. An update in between makes the weights newer than their version, so that they
// are sent once more with the next answer; in the other order a worker would assume an update that it does not have.
// After a push the weights may be there already, as the momentum is predicted to move them; their version is that of
// the update that computed them. If the push has waited for others since, the updates with those pushes replace the
// prediction. pull takes no lock of the server but to find what has changed. Rows and weights may be of different
// updates, none older than the caller has waited for.
func (c *reading) pull(f *wire.Frame, r *state.Reply, peek bool) error {
	version := c.part.Updates.Version()
	r.Header().Version = version
	if r.Ahead.Version > 0 && (r.Ahead.Version == version || !c.bounded) {
		r.Header().Version = r.Ahead.Version
		r.Dense(r.Ahead.Dense)
	} else if f.Version != wire.NoDense && (f.Version != version || peek && c.foreseeing) {
		// the sender may have predicted weights
		if err := c.pullDense(f, r, peek); err != nil {
			return err
		}
	}
	for i := range r.Asked[:r.Wanted] {
		a := &r.Asked[i]
		a.Rows = state.Grow(a.Rows, len(a.IDs)*c.part.Dim(a.Embedding))
		if count.Profiling() {
			label(f, c.part.Layout.Embeddings[a.Embedding].Name)
		}
		if err := c.pullRows(a.Embedding, a.IDs, a.Rows, peek || a.Peek); err != nil {
			return err
		}
		r.Bare(uint32(c.part.Layout.Embeddings[a.Embedding].Index), a.Rows)
	}
	if r.Wanted > 0 && count.Profiling() {
		label(f, "")
	}
	return c.pullChanged(f, r)
}

// pullDense adds the dense weights, or the span of them that the frame asks for. The weights are remembered for delay
// compensation, except those of a peek, at which no gradient is computed.
func (c *reading) pullDense(f *wire.Frame, r *state.Reply, peek bool) error {
	from, to, err := f.Span(c.part.Floats)
	if err != nil || from == to {
		return err
	}
	r.Weights = state.Grow(r.Weights, to-from)
	err = c.part.EachBlock(from, to, func(d *table.Dense, at, lo, hi int) error {
		return d.PullAt(at, r.Weights[lo:hi])
	})
	if err != nil {
		return err
	}
	if !peek {
		c.delays.remember(int(f.Worker), from, r.Weights)
	}
	r.Dense(r.Weights)
	return nil
}

// pullRows reads rows into w, len(ids) times the width of the embedding. With peek an unknown id gets the initial
// values of its row, and no row is created.
func (c *reading) pullRows(e int, ids []uint64, w []float32, peek bool) error {
	step := c.store.Step()
	if peek {
		return c.store.Tables[e].Peek(ids, w, step)
	}
	return c.store.Tables[e].Pull(ids, w, step)
}

const (
	// replyOverhead and maxIDBytes are upper bounds in bytes.
	replyOverhead = 512 // header and sections' heads
	maxIDBytes    = 10
)

// pullChanged adds changed rows to the reply, of the tables whose changes a frame asks for: as many as fit into a
// frame, and at least one row of the first table, so that every answer makes progress. A section All marks the rows
// that follow as all that there are, and Changed says that there are more to ask for.
func (c *reading) pullChanged(f *wire.Frame, r *state.Reply) error {
	room, n := c.maxFrame-replyOverhead, 0
	for _, sec := range f.Sections {
		if sec.Kind != wire.KindChanged {
			continue
		}
		e, err := c.part.Embedding(sec.Param)
		if err != nil {
			return err
		}
		changes, err := c.changed.of(f)
		if err != nil {
			return err
		}
		bytes, least := 4*c.part.Dim(e)+maxIDBytes, 0
		if n == 0 {
			least = 1
		}
		a := changes.Ask(f.Seq, e, max(least, room/bytes))
		room -= len(a.IDs) * bytes
		if a.All {
			r.All(sec.Param)
		}
		if a.More {
			r.Changed(sec.Param)
		}
		if len(a.IDs) == 0 {
			continue
		}
		if err := c.addChanged(r, n, e, a.IDs); err != nil {
			return err
		}
		n++
	}
	return nil
}

// addChanged adds changed rows of an embedding to the reply, as its n-th list. The reply reuses its memory for rows by
// that number.
func (c *reading) addChanged(r *state.Reply, n, e int, ids []uint64) error {
	if len(r.ChangedRows) == n {
		r.ChangedRows = append(r.ChangedRows, nil)
	}
	r.ChangedRows[n] = state.Grow(r.ChangedRows[n], len(ids)*c.part.Dim(e))
	if err := c.pullRows(e, ids, r.ChangedRows[n], true); err != nil {
		return err
	}
	r.Rows(uint32(c.part.Layout.Embeddings[e].Index), ids, r.ChangedRows[n])
	return nil
}
