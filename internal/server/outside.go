package server

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/transport"
)

// DefaultReadRows is the number of rows a second that all readers together may read from a server, unless configured.
const DefaultReadRows = 10_000

const (
	// fewestReadRows is the least that a request counts as: it costs about as much as so many rows.
	fewestReadRows = 32
	mostReadRows   = 1000      // of a request
	mostReadBytes  = 256 << 10 // of the rows of an answer
	mostReads      = 16        // requests at a time
)

// outside answers readers that take no part in the job: the transport passes their requests only to it. They can read
// rows and what rows there are. A request waits only for a moment between two updates, neither for workers nor for a
// turn: what can't be answered now is refused, with the time after which to try again. The server keeps nothing of a
// reader between requests.
//
// The rows of an answer are as they were between two updates, and the answer has the number of those updates, and how
// often rows were dropped or loaded. While a period is being ended, readers are asked to come again.
type outside struct {
	st *state.Job
	// reading parses ids, as it does for workers, and part has the tables.
	reading *reading
	part    *state.Part
	// about answers a reader's first request: the embeddings, their sizes, and where their rows are. It never changes.
	about wire.Readable
	// rows is one allowance for all readers together.
	rows allowance
	// under is the number of requests that are being answered.
	under   atomic.Int32 // requests
	replies sync.Pool
	meter   *Meter
}

// newOutside answers from a server's tables, which may still be empty. A request for one embedding has at most
// mostReadRows rows, what a second allows, and as many as mostReadBytes hold.
func newOutside(c Config, st *state.Job, r *reading, m *Meter) *outside {
	o := &outside{st: st, reading: r, part: r.part, meter: m,
		about: wire.Readable{Server: c.Index, Servers: len(c.Endpoints), Fingerprint: c.Fingerprint.Sum()}}
	o.rows.aSecond = cmp.Or(c.ReadRows, DefaultReadRows)
	pool(&o.replies)
	for i := range c.Layout.Embeddings {
		e := &c.Layout.Embeddings[i]
		p := wire.ReadableParam{Name: e.Name, Index: uint32(e.Index), Dim: e.Dim(), Height: e.Height(),
			Most: min(mostReadRows, o.rows.aSecond, max(1, mostReadBytes/(4*e.Dim())))}
		p.On, p.Block = e.Blocks()
		o.about.Params = append(o.about.Params, p)
	}
	return o
}

// handle is the transport's handler of readers' requests. It runs on a goroutine of the transport for each request, as
// the door's does. Refusals are counted apart from the job's.
func (c *outside) handle(body []byte, out *transport.Reply) {
	r := c.replies.Get().(*state.Reply)
	out.Done = r.Done
	f := &r.Frame
	f.Header = wire.Header{}
	err := f.Parse(body)
	r.Reset(wire.Header{Op: wire.OpRead, Seq: f.Seq})
	if err == nil {
		defer c.meter.times[wire.OpRead].Since(time.Now())
		err = c.answer(f, r)
	}
	if err != nil {
		c.meter.unread.Add(1)
		refuse(r, err)
	}
	out.Parts = r.Parts()
}

// answer answers a reader's request, if this server can. The order of the refusals matters: a reader of another run of
// the job must learn that before it is asked to wait. The answer carries the run's number, which proves nothing, and
// the life of this process.
func (c *outside) answer(f *wire.Frame, r *state.Reply) error {
	g, index := c.st.Generation(), c.part.Index
	switch {
	case f.Op != wire.OpRead:
		return wire.Refuse(wire.StatusRefused, "%v is for processes of the job: a reader can read, and nothing else",
			f.Op)
	case g == nil:
		return wire.Refuse(wire.StatusNotReady, "server %d waits for server 0: is it running?", index)
	case f.Job != 0 && f.Job != g.Number:
		return wire.Refuse(wire.StatusBack, "the job of server %d was started again since it was read, and may have "+
			"older rows: read anew", index)
	case f.ServerLife > c.st.Lives.Own():
		return wire.Refuse(wire.StatusNotReady, "another process has the place of server %d, with its journal", index)
	case !c.published():
		return wire.Refuse(wire.StatusNotReady, "server %d has no weights yet, which worker 0 brings", index)
	}
	r.Header().Job, r.Header().ServerLife = g.Number, c.st.Lives.Own()
	defer c.under.Add(-1)
	if c.under.Add(1) > mostReads {
		return c.busy(10 * time.Millisecond)
	}
	var msg wire.Read
	if err := f.JSON(&msg); err != nil {
		return err
	}
	switch msg.What {
	case wire.ReadAbout:
		if err := c.charge(0); err != nil {
			return err
		}
		about := c.about
		about.Generation = g.Number
		return r.JSON(about)
	case wire.ReadRows:
		return c.given(f, r)
	case wire.ReadPage:
		return c.page(&msg, r)
	}
	return wire.Refuse(wire.StatusRefused, "server %d can't read %.20q: run the same build everywhere", index,
		msg.What)
}

// published reports whether there are weights. Before that, rows would be this server's own initial values.
func (c *outside) published() bool {
	c.st.Lock()
	defer c.st.Unlock()
	return c.st.Published
}

// charge counts rows that are about to be read. An error refuses them, with the time after which they would be allowed.
func (c *outside) charge(rows int) error {
	if wait := c.rows.take(max(rows, fewestReadRows), time.Now()); wait > 0 {
		return c.busy(wait)
	}
	return nil
}

// busy is the refusal of a reader that asks for too much, with the time after which to try again. The frame has that
// time too, so that a reader need not read the text.
func (c *outside) busy(wait time.Duration) error {
	refusal := wire.Refuse(wire.StatusBusy, "readers have %d rows a second of server %d (FLEET_READ_ROWS), and have "+
		"had them: come again in %v", c.rows.aSecond, c.part.Index, wait.Round(time.Millisecond))
	refusal.Retry = wait
	return refusal
}

// given answers with the rows of given ids. The ids ascend, and must all be on this server. A bit for each reports
// whether the row exists; one that does not has the initial values.
func (c *outside) given(f *wire.Frame, r *state.Reply) error {
	at := slices.IndexFunc(f.Sections, func(s wire.Section) bool { return s.Kind == wire.KindIDs })
	if at < 0 {
		return wire.Refuse(wire.StatusRefused, "no ids say which rows are to be read")
	}
	if len(r.Asked) == 0 {
		r.Asked = append(r.Asked, state.Asked{})
	}
	a := &r.Asked[0]
	if err := c.reading.parseIDs(a, f.Sections[at]); err != nil {
		return err
	}
	if most := c.about.Params[a.Embedding].Most; len(a.IDs) > most {
		return wire.Refuse(wire.StatusRefused, "%d rows, and a request of a reader has %d at most", len(a.IDs), most)
	}
	if err := c.charge(len(a.IDs)); err != nil {
		return err
	}
	has, err := c.look(a, r)
	if err != nil {
		return err
	}
	bits := make([]byte, (len(has)+7)/8)
	for i, is := range has {
		if is {
			bits[i/8] |= 1 << (i % 8)
		}
	}
	if err := r.JSON(wire.ReadOut{Has: bits}); err != nil {
		return err
	}
	r.Bare(f.Sections[at].Param, a.Rows)
	return nil
}

// page answers with rows by their places. A place keeps its id as long as this process keeps the table: rows that are
// created while a reader goes through the places may or may not be in its pages, and none comes twice.
func (c *outside) page(msg *wire.Read, r *state.Reply) error {
	e, err := c.part.Embedding(msg.Param)
	if err != nil {
		return err
	}
	n := max(1, min(msg.Rows, c.about.Params[e].Most))
	if err := c.charge(n); err != nil {
		return err
	}
	a := state.Asked{Embedding: e}
	var answer wire.ReadOut
	a.IDs, answer.Next, answer.Done = c.part.Store.Tables[e].Page(msg.From, n)
	has, err := c.look(&a, r)
	if err != nil {
		return err
	}
	ids, rows, dim := a.IDs[:0], a.Rows[:0], c.part.Dim(e)
	for i, id := range a.IDs {
		if has[i] { // the row may have been dropped since
			ids, rows = append(ids, id), append(rows, a.Rows[i*dim:][:dim]...)
		}
	}
	if err := r.JSON(answer); err != nil {
		return err
	}
	r.Rows(msg.Param, ids, rows)
	return nil
}

// look reads rows between two updates, and returns which of them exist. Updates wait while it reads, which is why a
// request has few rows. The header's version is the number of updates in the rows, its round how often rows were
// remade.
func (c *outside) look(a *state.Asked, r *state.Reply) (has []bool, err error) {
	a.Rows, has = state.Grow(a.Rows, len(a.IDs)*c.part.Dim(a.Embedding)), make([]bool, len(a.IDs))
	c.part.Updates.Between(func() {
		remade := c.st.Remade.Load()
		if remade%2 == 1 {
			refusal := wire.Refuse(wire.StatusBusy, "server %d ends a period: come again", c.part.Index)
			refusal.Retry, err = 10*time.Millisecond, refusal
			return
		}
		r.Header().Version, r.Header().Round = uint64(c.part.Store.Applied()), remade/2
		err = c.part.Store.Tables[a.Embedding].Look(a.IDs, a.Rows, has, c.part.Store.Step())
	})
	c.meter.read.Add(int64(len(a.IDs)))
	return has, err
}

// allowance limits the rows that may be read in a second; the rows of one second may be read at once, and are lost if
// they are not read within it. A request is let in whatever its size as soon as any rows are left, and what it takes
// beyond them is owed: if it had to wait for all of its rows, small requests could keep a large one waiting for ever.
type allowance struct {
	// aSecond is the allowance in rows, left how many may be read now, below 0 if some are owed, and at when left was
	// computed.
	aSecond int
	mu      sync.Mutex
	left    float64
	at      time.Time
}

// take takes n rows, at most a second's, or returns after how long there are some again.
func (a *allowance) take(n int, now time.Time) (wait time.Duration) {
	most := float64(a.aSecond)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.at.IsZero() {
		a.left = most
	} else {
		a.left = min(most, a.left+most*max(0, now.Sub(a.at).Seconds()))
	}
	if a.at = now; a.left <= 0 {
		return max(time.Millisecond, time.Duration(-a.left/most*float64(time.Second)))
	}
	a.left -= min(float64(n), most)
	return 0
}
