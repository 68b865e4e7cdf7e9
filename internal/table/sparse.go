package table

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofleet/gofleet/optimizer"
)

// Errors of a call that was refused as a whole, wrapped with the table's name and the numbers.
var (
	ErrShape = errors.New("table: wrong number of values")
	ErrID    = errors.New("table: id out of range")
)

// Options are the choices of a sparse table.
type Options struct {
	// Shards is the number of shards, each with a lock of its own, rounded up to a power of two; 0 means 8 for each
	// CPU.
	Shards int
	// Numbered rows are 4 bytes longer. [Sparse.Watch] and [Sparse.KeepOld] need them.
	Numbered bool
	// Telling makes pushes report which ids got no row, and Shrink which rows it dropped, so that both can be replayed.
	Telling bool
	// Spread calls of many ids work on several shards at a time, on the cores that there are: for a process that waits
	// for one call. Servers work on several calls.
	Spread bool
}

// Sparse is a table of rows found by id. All methods may be called from many goroutines at once.
type Sparse struct {
	entry
	byPush  bool     // see ByPush
	dropped []uint64 // by the last shrink, which has no other beside it
	tracked bool
	spread  bool
	remade  atomic.Bool // rows were dropped, or the table was replaced, since changes were last taken

	shards []shard
	bound  *bound        // of all shards; nil if there is none
	again  atomic.Int64  // the update before which no eviction is tried again
	turn   atomic.Uint32 // the shard with which the next call begins
	clock  clock
	calls  sync.Pool
	away   away
	times  callTimes

	filling filling
}

// Result is the outcome of a push: Applied + Waiting + Full is the number of its ids.
type Result struct {
	Applied int // rows updated; an id that comes twice counts twice
	Born    int // rows created because they were missing
	Waiting int // ids that the param's Entry keeps out, for now or for good: their gradients were dropped
	Full    int // ids without a row because MaxBytes is reached: their gradients were dropped
	// Refused are the ids that are counted in Waiting and Full, as often as they were pushed, in no particular order.
	// It is nil if there are none or the table is not Telling.
	Refused *[]uint64
}

// Clicks are, for each id of a push, how often it was shown and clicked, and the number of pushes it is folded of:
// len(ids) numbers each, for a param whose Entry counts them. Nil means one show of each, no click, and one push.
type Clicks struct {
	Show, Click []float32
	Pushes      []int32
}

// check returns why a push of so many ids can't have them.
func (n Clicks) check(p *optimizer.Param, ids int) error {
	if n.Pushes != nil && len(n.Pushes) != ids {
		return fmt.Errorf("%w: push of %q: %d counts of pushes for %d ids", ErrShape, p.Name, len(n.Pushes), ids)
	}
	if err := checkCounts(p, "show", ids, n.Show); err != nil {
		return err
	}
	return checkCounts(p, "click", ids, n.Click)
}

func checkCounts(p *optimizer.Param, what string, ids int, numbers []float32) error {
	if numbers != nil && len(numbers) != ids {
		return fmt.Errorf("%w: push of %q: %d %s counts for %d ids", ErrShape, p.Name, len(numbers), what, ids)
	}
	for _, x := range numbers {
		if !countable(x) {
			return fmt.Errorf("table: push of %q: a %s count is %v", p.Name, what, x)
		}
	}
	return nil
}

// countable reports whether a number can be a count of shows or clicks: not NaN, not infinite, not negative.
func countable(x float32) bool { return x >= 0 && x <= math.MaxFloat32 }

// NewSparse returns an empty table for an embedding. A nil rule makes a table whose values are only set and read.
func NewSparse(p *optimizer.Param, rule optimizer.Rule, o Options) (*Sparse, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	if !p.Embedding {
		return nil, fmt.Errorf("table: param %q is dense: a sparse table holds an embedding", p.Name)
	}
	if o.Shards < 0 || o.Shards > 1<<16 {
		return nil, fmt.Errorf("table: %q: %d shards: must be between 0 and 65536", p.Name, o.Shards)
	}
	t := &Sparse{entry: newEntry(p, rule, o), times: newCallTimes(), spread: o.Spread}
	t.shards, t.bound = newShards(powerOfTwo(o.Shards, 8*runtime.GOMAXPROCS(0)), &t.entry)
	if t.bound.full() {
		return nil, fmt.Errorf("table: %q: MaxBytes %d leaves no room for a row of %d bytes", p.Name, p.MaxBytes,
			4*t.stride+indexBytes)
	}
	if t.sweeps && p.Evict.Floor > 0 {
		return nil, fmt.Errorf("table: %q: its rule moves every row in every step, so that Evict.Floor would keep "+
			"all: leave it 0", p.Name)
	}
	t.calls.New = func() any { return &call{zeros: make([]float32, t.dim)} }
	return t, nil
}

func powerOfTwo(n, def int) int {
	if n == 0 {
		n = def
	}
	return 1 << bits.Len(uint(n-1))
}

// Pull is a training read: it copies the rows of ids into w, len(ids) rows of dim floats. Missing rows are created,
// unless the param's Entry or MaxBytes keeps them out: then they have the values of [Sparse.Peek]. step is the last
// finished step: rows of a rule that sweeps are brought up to it.
func (t *Sparse) Pull(ids []uint64, w []float32, step int64) error {
	defer t.times.reads.Since(time.Now())
	res, err := t.run("pull", ids, w, Clicks{}, step, (*Sparse).pullBlock)
	t.away.add(Result{Born: res.Born})
	return err
}

// Peek is an evaluation read: like Pull, but it creates no rows. A missing row has its initial value if the embedding
// has a height, and zeros if not.
func (t *Sparse) Peek(ids []uint64, w []float32, step int64) error {
	defer t.times.reads.Since(time.Now())
	_, err := t.run("peek", ids, w, Clicks{}, step, (*Sparse).peekBlock)
	return err
}

// Look is Peek, and reports in has which ids have a row.
func (t *Sparse) Look(ids []uint64, w []float32, has []bool, step int64) error {
	defer t.times.reads.Since(time.Now())
	_, err := t.run("look", ids, w, Clicks{}, step, func(t *Sparse, s *shard, c *call, b *block) {
		t.peekBlock(s, c, b)
		for i, it := range b.items {
			has[it.at] = b.rows[i] != nil
		}
	})
	return err
}

// Push applies the rule to the rows of ids with their gradients g, len(ids) rows of dim floats, as the update number
// step (1 for the first). A missing row is created first, unless the param's Entry or MaxBytes keeps it out: then its
// gradient is dropped, and counted.
func (t *Sparse) Push(ids []uint64, g []float32, step int64) (Result, error) {
	return t.PushClicks(ids, g, Clicks{}, step)
}

// PushClicks is Push with the shows and clicks of its ids.
func (t *Sparse) PushClicks(ids []uint64, g []float32, n Clicks, step int64) (Result, error) {
	return t.pushClicks(ids, g, n, step, t.pushes())
}

// pushes returns the function that pushes a block; all watches record the push if rows are numbered.
func (t *Sparse) pushes() blockFunc {
	if t.numbered {
		return pushForAll
	}
	return (*Sparse).pushBlock
}

func (t *Sparse) pushClicks(ids []uint64, g []float32, n Clicks, step int64, do blockFunc) (Result, error) {
	if t.rule == nil {
		return Result{}, fmt.Errorf("table: push to %q, which has no rule (it is frozen)", t.param.Name)
	}
	if err := n.check(t.param, len(ids)); err != nil {
		return Result{}, err
	}
	defer t.times.pushes.Since(time.Now())
	res, err := t.run("push", ids, g, n, step, do)
	if t.away.add(res); res.Full > 0 {
		t.filling.full(t, t.away.turnedAway.Load())
	}
	return res, err
}

// Set sets the values of rows, as of the given step (0: before the first), with the rule's initial state. The param's
// Entry does not apply. [ErrFull] names a row without room; the others are set.
func (t *Sparse) Set(ids []uint64, w []float32, step int64) error {
	_, err := t.run("set", ids, w, Clicks{}, step, (*Sparse).setBlock)
	return err
}

// blockFunc does the work of a call for one block, under the shard's lock.
type blockFunc func(*Sparse, *shard, *call, *block)

// run groups the ids and works through the shards, each block under its shard's lock.
func (t *Sparse) run(what string, ids []uint64, rows []float32, n Clicks, step int64, do blockFunc) (Result, error) {
	if len(rows) != len(ids)*t.dim {
		return Result{}, fmt.Errorf("%w: %s of %q: %d ids need %d×%d floats, have %d", ErrShape, what, t.param.Name,
			len(ids),
			len(ids), t.dim, len(rows))
	}
	return t.walk(what, ids, rows, n, step, do)
}

// walk is run for calls whose rows are not in one slice.
//
// Everything that can be wrong with a call is found before the first lock, so that a call is refused whole; under the
// locks only room can be lacking, which the result reports by id. Each call begins with another shard than the one
// before it: otherwise calls that come at the same time would follow each other from lock to lock.
func (t *Sparse) walk(what string, ids []uint64, rows []float32, n Clicks, step int64, do blockFunc) (Result, error) {
	c := t.calls.Get().(*call)
	defer t.calls.Put(c)
	largest := c.group(ids, len(t.shards), t.seed)
	if height := t.param.Height(); height > 0 && len(ids) > 0 && largest >= uint64(height) {
		return Result{}, fmt.Errorf("%w: %s of %q: id %d, the height is %d", ErrID, what, t.param.Name, largest, height)
	}
	c.prepare(rows, n, step, t.clock.Load())
	c.state.SetRateFactor(t.steps.factorAt(step))
	first := int(t.turn.Add(1))
	if hands := t.hands(len(ids)); hands > 1 {
		t.byHands(c, hands, first, do)
	} else {
		for i := range t.shards {
			i = (first + i) & (len(t.shards) - 1)
			t.runShard(i, c.of(i), c, do)
		}
	}
	if c.nearly {
		c.nearly = false
		t.filling.nearly(t)
	}
	if c.stops {
		c.stops = false
		t.filling.stops(t)
	}
	if c.grown {
		c.grown = false
		t.filling.outlier(t)
	}
	c.letGo()
	return c.res, c.err
}

// runShard processes a shard's group with three blocks in flight: while one is worked on, the rows of the next and the
// index lines of the one after it are prefetched.
func (t *Sparse) runShard(i int, group []item, c *call, do blockFunc) {
	if len(group) == 0 {
		return
	}
	s := &t.shards[i]
	s.Lock()
	defer s.Unlock()
	ready, next := &c.blocks[0], &c.blocks[1]
	s.prefetch(group[:min(len(group), 2*blockLen)])
	s.probe(ready, group[:min(len(group), blockLen)])
	for len(ready.items) > 0 {
		group = group[len(ready.items):]
		s.prefetch(group[min(len(group), blockLen):min(len(group), 2*blockLen)])
		s.probe(next, group[:min(len(group), blockLen)])
		c.prefetch(next.items, t.dim)
		s.verify(ready)
		do(t, s, c, ready)
		ready, next = next, ready
	}
}

// shardOf returns the shard of an id, and its hash there.
func (t *Sparse) shardOf(id uint64) (*shard, uint32) {
	h := mix(id ^ t.seed)
	return &t.shards[h>>shardShift(len(t.shards))], uint32(h)
}
