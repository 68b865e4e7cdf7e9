package update

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/table"
)

// portion is a range of an embedding's ids in an update. The workers of a round wait for it together, so that cores are idle: its
// rows are cut into portions, and several of them are folded and applied at a time.
type portion struct {
	embedding int
	param     int
	dim       int
	members   []gradient.Rows // that range of each push
	folder    gradient.Folder
	rows      gradient.Rows // the members folded
	dropped   int

	scaled      []float32 // gradients that were clipped
	show, click []float32
}

// portionRows is about how many of a member's rows are worth a goroutine.
const portionRows = 1024

// cut makes the portions of a round. A push that is an update of its own is not cut: others have theirs to apply.
func (c *scratch) cut() {
	l, round := c.t.layout, c.u.Pushes
	c.inUse = 0
	for e := range l.Embeddings {
		var longest []uint64
		for _, p := range round {
			if ids := p.Rows[e].IDs; len(ids) > len(longest) {
				longest = ids
			}
		}
		n := 1
		if len(round) > 1 {
			n = max(1, min(runtime.GOMAXPROCS(0), len(longest)/portionRows))
		}
		for k := range n {
			p := c.portion()
			p.embedding, p.param, p.dim = e, l.Embeddings[e].Index, l.Embeddings[e].Dim()
			p.take(round, longest, k, n)
		}
	}
}

// portion is the memory of one more.
func (c *scratch) portion() *portion {
	if c.inUse == len(c.portions) {
		c.portions = append(c.portions, new(portion))
	}
	c.inUse++
	return c.portions[c.inUse-1]
}

// take makes the portion the k-th of n ranges of ids, which hold about as many each of one member's.
func (p *portion) take(round []*Push, ids []uint64, k, n int) {
	p.members = p.members[:0]
	for _, push := range round {
		rows := push.Rows[p.embedding]
		from, to := 0, len(rows.IDs)
		if k > 0 {
			from, _ = slices.BinarySearch(rows.IDs, ids[len(ids)*k/n])
		}
		if k < n-1 {
			to, _ = slices.BinarySearch(rows.IDs, ids[len(ids)*(k+1)/n])
		}
		p.members = append(p.members, rows.Slice(from, to, p.dim))
	}
}

// each does something for every portion, on as many cores as there are, and returns the first error in the portions' order.
func (c *scratch) each(do func(*portion, *scratch) error) error {
	portions := c.portions[:c.inUse]
	if len(portions) == 1 {
		return do(portions[0], c)
	}
	errs := make([]error, len(portions))
	var next atomic.Int32
	work := func() {
		for i := int(next.Add(1)) - 1; i < len(portions); i = int(next.Add(1)) - 1 {
			errs[i] = do(portions[i], c)
		}
	}
	var others sync.WaitGroup
	for range c.helpers() {
		others.Go(work)
	}
	work()
	others.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// helpers is how many goroutines are worth their start, besides the one that is there.
func (c *scratch) helpers() int {
	rows := 0
	for _, p := range c.portions[:c.inUse] {
		for m := range p.members {
			rows += len(p.members[m].IDs)
		}
	}
	return min(runtime.GOMAXPROCS(0), c.inUse, rows/portionRows+1) - 1
}

// fold sums the members' rows; those of a round of one are the worker's own.
func (p *portion) fold(c *scratch) error {
	p.rows = p.members[0]
	if len(p.members) > 1 {
		p.rows = p.folder.Fold(p.dim, p.members, c.factors, c.t.o.Weighting)
	}
	return nil
}

// apply applies the gradients and notes how many the table's policies dropped.
func (p *portion) apply(c *scratch) (err error) {
	p.dropped = 0
	if len(p.rows.IDs) == 0 {
		return nil
	}
	var counts table.Counts
	counts.Show, counts.Click = p.rows.AppendClicks(p.show[:0], p.click[:0])
	if counts.Show != nil {
		p.show, p.click = counts.Show, counts.Click
	}
	var r table.Result
	if watches := c.u.Pushes[0].Watches; watches != nil {
		r, err = watches[p.embedding].Push(p.rows.IDs, p.rows.G, counts, c.u.Step)
	} else {
		r, err = c.t.store.Tables[p.embedding].PushCounts(p.rows.IDs, p.rows.G, counts, c.u.Step)
	}
	p.dropped = r.Waiting + r.Full
	return err
}
