package session

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/exchange"
	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/rules"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/optimizer"
)

// modelCopy is a worker's copy of the model, which its sessions train together, with the old values from which changes
// are computed. Weights and old values of a row, and of a part of a dense param, change together under the table's
// lock, so that their difference is always what the worker has trained and not sent.
type modelCopy struct {
	// store is locked part by part: threads train different rows concurrently.
	store table.Store    // of the fields below; it numbers this worker's updates, and has their rate
	dense []*table.Dense // by param; nil for embeddings and frozen params
	// old is subtracted from the copy's weights for the next exchange.
	old [][]float32 // by dense param: the servers' values after the last exchange
	// rows are in the order of the layout's embeddings.
	rows []copiedRows // by embedding
	// version counts the changes of the dense weights, each after it was made. A session whose arrays have this version
	// has nothing to copy.
	version atomic.Uint64
	// whole is read-locked by a step while it trains the copy, and locked while an exchange takes the changes: an
	// exchange takes only whole steps.
	whole sync.RWMutex
	// taken and sorter are memory of takeRows; one exchange uses them at a time.
	taken  gradient.Rows // of one embedding, unordered
	sorter kernels.Uniquer
}

// copiedRows are the worker's rows of an embedding.
type copiedRows struct {
	*table.Sparse
	of  *layout.Embedding
	old *table.Old
	// since is, by server, the tick of the table's clock since which all rows of the server are sent again; 0 if only
	// changed rows are. It is not 0 between the first page of all rows and the last.
	since []uint32
}

// newModelCopy makes a copy of the layout's params with their weights, trained by the rule.
func newModelCopy(l *layout.Layout, rule optimizer.Rule) (*modelCopy, error) {
	c := &modelCopy{dense: make([]*table.Dense, len(l.Params)), old: make([][]float32, len(l.Params))}
	for i, p := range l.Params {
		if p.Frozen && !p.Embedding {
			continue
		}
		add := c.addDense
		if p.Embedding {
			add = c.addRows
		}
		if err := add(i, p, rules.For(rule, p)); err != nil {
			return nil, err
		}
	}
	for e := range c.rows {
		c.rows[e].of, c.rows[e].since = &l.Embeddings[e], make([]uint32, len(l.Parts))
	}
	return c, nil
}

// addRows and addDense make the table of one param, and set the servers' values of it to its initial values.
func (c *modelCopy) addRows(_ int, p *optimizer.Param, rule optimizer.Rule) error {
	t, err := table.NewSparse(p, rule, table.Options{Numbered: true})
	if err != nil {
		return err
	}
	t.ByPush()
	old, err := t.KeepOld()
	if err != nil {
		return err
	}
	c.rows = append(c.rows, copiedRows{Sparse: t, old: old})
	return c.store.AddTable(t)
}

func (c *modelCopy) addDense(i int, p *optimizer.Param, rule optimizer.Rule) error {
	c.dense[i], c.old[i] = table.NewDense(p.Size(), rule), slices.Clone(p.W)
	if err := c.store.AddBlock(table.Block{Param: p, Name: p.Name, Values: c.dense[i]}); err != nil {
		return err
	}
	return c.dense[i].Set(p.W)
}

// pullRows copies rows into a step; for an evaluation it creates none.
func (c *modelCopy) pullRows(st *optimizer.Step) error {
	for e := range st.Rows {
		read := c.rows[e].Pull
		if st.Eval {
			read = c.rows[e].Peek
		}
		if err := read(st.Rows[e].IDs, st.Rows[e].W, 0); err != nil {
			return err
		}
	}
	return nil
}

// pullDense copies the dense weights into params that have version has, and returns the version that they have then. It
// copies nothing if that is the current version.
func (c *modelCopy) pullDense(params []*optimizer.Param, has uint64) (uint64, error) {
	version := c.version.Load()
	if has == version {
		return has, nil
	}
	for i, d := range c.dense {
		if d == nil {
			continue
		}
		if err := d.Pull(params[i].W); err != nil {
			return has, err
		}
	}
	return version, nil
}

// train makes an update of the copy, numbered by number, and copies the dense weights after it into params, which had
// version has. It returns the version that they have then. Threads may call it concurrently. An error leaves a part of
// the update in the copy, and the worker can't go on.
func (c *modelCopy) train(own gradient.Step, number func() int64, params []*optimizer.Param, has uint64) (uint64,
	error) {
	c.whole.RLock()
	defer c.whole.RUnlock()
	step := number()
	defer c.store.Finish(step)
	for i, d := range c.dense {
		if d == nil {
			continue
		}
		if err := d.PushPull(own.Dense[i], params[i].W, step); err != nil {
			return has, err
		}
	}
	if c.version.Add(1) == has+1 {
		has++ // all changes are this session's
	}
	for e, r := range own.Rows {
		if len(r.IDs) == 0 {
			continue
		}
		if _, err := c.rows[e].Push(r.IDs, r.G, step); err != nil {
			return has, err
		}
	}
	return has, nil
}

// goOn sets the number of updates of the copy to updates.
func (c *modelCopy) goOn(updates int64) {
	c.whole.Lock()
	defer c.whole.Unlock()
	c.store.SetStep(updates)
}

// take moves the n-th part of the changes into delta: of dense params and of rows trained since the last take; of other
// rows it moves all that is left, unless keep is set. reset is called without a step in between. Steps wait for take,
// and take waits for the steps under way.
func (c *modelCopy) take(delta *gradient.Step, n int, keep bool, reset func()) {
	c.whole.Lock()
	defer c.whole.Unlock()
	reset()
	for i, d := range c.dense {
		if d != nil {
			d.Edit(func(at int, w, _ []float32) { mode.Take(delta.Dense[i][at:], w, c.old[i][at:at+len(w)], n) })
		}
	}
	for e := range c.rows {
		c.takeRows(e, &delta.Rows[e], n, keep)
	}
}

// takeRows is take for an embedding. What it leaves of a row is sent whole by the next take, unless the row is trained
// again before. Ids are sent in ascending order, each once.
func (c *modelCopy) takeRows(e int, push *gradient.Rows, n int, keep bool) {
	dim, t := c.rows[e].Param().Dim(), &c.taken
	t.IDs, t.G = t.IDs[:0], t.G[:0]
	c.rows[e].old.Take(func(id uint64, latest, old []float32, trained bool) (left bool) {
		share := n
		if !trained {
			share = 1
			if keep {
				return true
			}
		}
		t.IDs, t.G = append(t.IDs, id), append(t.G, old...)
		return mode.Take(t.G[len(t.G)-dim:], latest, old, share)
	})
	ids, places := kernels.Unique(t.IDs, &c.sorter)
	push.Want(ids, dim)
	for i, place := range places {
		copy(push.G[int(place)*dim:][:dim], t.G[i*dim:])
	}
}

// receive stores the servers' dense weights, by param. The worker's changes since the take are kept on top of them.
func (c *modelCopy) receive(arrived [][]float32) {
	for i, d := range c.dense {
		if d != nil {
			d.Edit(func(at int, w, _ []float32) { mode.Receive(w, c.old[i][at:], arrived[i][at:at+len(w)]) })
		}
	}
	c.version.Add(1)
}

// receiveRows stores rows of a server. If these were the last of all rows that it has, its other rows no longer exist
// there, as after a shrink or a load; unsent changes of them stay, as for a new row. Pages of one server come in order,
// and pages of several servers concurrently.
func (c *modelCopy) receiveRows(server int, p *exchange.Page) error {
	r := &c.rows[p.Embedding]
	if p.All {
		r.since[server] = r.Tick()
	}
	receive := func(latest, old, p []float32) {
		if old != nil {
			mode.Receive(latest, old, p)
		} else {
			copy(latest, p)
		}
	}
	if err := r.old.Receive(p.IDs, p.W, receive); err != nil {
		return err
	}
	if since := r.since[server]; since > 0 && !p.More {
		r.since[server] = 0
		r.old.Renew(since, func(id uint64) bool { return r.of.Owns(server, id) }, receive)
	}
	return nil
}
