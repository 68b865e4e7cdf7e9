package server

import (
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
)

// reading answers what a frame asks for: rows, dense weights, rows that others have changed, and all rows of a table
// page by page. It reads tables beside the updates that change them, without the server's lock.
type reading struct {
	st       *state
	holding  *holding
	part     *part
	changed  *changed
	delays   *delays
	maxFrame int
	// foreseeing says that answers to pushes have foreseen weights, so that a version does not say which weights a
	// worker has.
	foreseeing bool
	bounded    bool                // an answer waits for others' pushes, and has to have them
	scanned    map[uint32][]uint64 // ids of tables whose rows are being scanned, by param
}

// parse takes what a frame asks for into the reply, and refuses it before anything is applied: if the answer would be
// over the message bound, if an id is out of range, or if a row lives on another server.
func (c *reading) parse(f *wire.Frame, r *reply) error {
	bytes, n := 0, 0
	r.ahead.Version = 0
	if f.Version != wire.NoDense {
		from, to, err := f.Span(c.part.floats)
		if err != nil {
			return err
		}
		bytes = 4 * (to - from)
	}
	for _, sec := range f.Sections {
		if sec.Kind != wire.KindIDs {
			continue
		}
		if len(r.asked) == n {
			r.asked = append(r.asked, asked{})
		}
		if err := c.parseIDs(&r.asked[n], sec); err != nil {
			return err
		}
		bytes += 4 * len(r.asked[n].ids) * c.part.dim(r.asked[n].e)
		n++
	}
	if bytes > c.part.limit {
		return wire.Refuse(wire.StatusRefused,
			"pull of worker %d makes %d bytes, a message of server %d has at most %d",
			f.Worker, bytes, c.part.index, c.part.limit)
	}
	r.wanted = n
	return nil
}

func (c *reading) parseIDs(a *asked, sec wire.Section) (err error) {
	if a.e, err = c.part.embedding(sec.Param); err != nil {
		return err
	}
	if a.ids, err = sec.IDs(a.ids[:0]); err != nil {
		return err
	}
	if err := c.part.checkIDs(&c.part.layout.Embeddings[a.e], a.ids); err != nil {
		return wire.Refuse(wire.StatusRefused, "pull: %v", err)
	}
	return nil
}

// pull adds to the reply what was parsed, and the dense weights unless the worker has them. With peek no row is
// created.
//
// The version is read before the weights. An update that comes between makes weights newer than their version says, so
// that they are sent once more with the next answer; the other way round a worker would believe that it has an update
// which it lacks. After a push the weights may be there already, as momentum will have moved them; their version is
// that of the update that left them. Where a push has waited for others since, these count more than what it foresaw.
func (c *reading) pull(f *wire.Frame, r *reply, peek bool) error {
	version := c.part.updates.Version()
	r.Header().Version = version
	if r.ahead.Version > 0 && (r.ahead.Version == version || !c.bounded) {
		r.Header().Version = r.ahead.Version
		r.Dense(r.ahead.Dense)
	} else if f.Version != wire.NoDense && (f.Version != version || peek && c.foreseeing) {
		// what the sender has may be foreseen
		if err := c.pullDense(f, r, peek); err != nil {
			return err
		}
	}
	for i := range r.asked[:r.wanted] {
		a := &r.asked[i]
		a.rows = grow(a.rows, len(a.ids)*c.part.dim(a.e))
		if err := c.pullRows(a.e, a.ids, a.rows, peek); err != nil {
			return err
		}
		r.Bare(uint32(c.part.layout.Embeddings[a.e].Index), a.rows)
	}
	return c.pullChanged(f, r)
}

// pullDense adds the dense weights, or the span of them that is asked for. No gradient is computed at the weights of a
// peek.
func (c *reading) pullDense(f *wire.Frame, r *reply, peek bool) error {
	from, to, err := f.Span(c.part.floats)
	if err != nil || from == to {
		return err
	}
	r.dense = grow(r.dense, to-from)
	err = c.part.eachBlock(from, to, func(d *table.Dense, at, lo, hi int) error { return d.PullAt(at, r.dense[lo:hi]) })
	if err != nil {
		return err
	}
	if !peek {
		c.delays.note(int(f.Worker), from, r.dense)
	}
	r.Dense(r.dense)
	return nil
}

func (c *reading) pullRows(e int, ids []uint64, w []float32, peek bool) error {
	step := c.part.store.Step()
	if peek {
		return c.part.store.Tables[e].Peek(ids, w, step)
	}
	return c.part.store.Tables[e].Pull(ids, w, step)
}

const (
	replyOverhead = 512 // header and sections' heads
	maxIDBytes    = 10
)

// pullChanged adds to the reply the rows of the tables that a frame asks for by what has changed, as many as fit into a
// frame, and of the first of them at least one: every answer brings something.
func (c *reading) pullChanged(f *wire.Frame, r *reply) error {
	room, n := c.maxFrame-replyOverhead, 0
	for _, sec := range f.Sections {
		if sec.Kind != wire.KindChanged {
			continue
		}
		e, err := c.part.embedding(sec.Param)
		if err != nil {
			return err
		}
		changes, err := c.changed.of(f)
		if err != nil {
			return err
		}
		bytes, least := 4*c.part.dim(e)+maxIDBytes, 0
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

// addChanged adds rows of an embedding that have changed, the n-th that has any.
func (c *reading) addChanged(r *reply, n, e int, ids []uint64) error {
	if len(r.changed) == n {
		r.changed = append(r.changed, nil)
	}
	r.changed[n] = grow(r.changed[n], len(ids)*c.part.dim(e))
	if err := c.pullRows(e, ids, r.changed[n], true); err != nil {
		return err
	}
	r.Rows(uint32(c.part.layout.Embeddings[e].Index), ids, r.changed[n])
	return nil
}
