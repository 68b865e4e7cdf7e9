package dataset

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/bits"
)

// selection selects rows by their position, from 0 in the order in which they come.
type selection struct {
	name string // the call that made it
	keep func(i int) bool
	end  int // end of the selected rows
}

const endless = math.MaxInt

// fixed returns d with its rows in their present order, whatever epoch is set later. Parts of it so have the same rows
// in every epoch: otherwise a row of one part could be in the other in the next.
func (d *Dataset) fixed() *Dataset {
	if v, ok := d.source.(*view); ok {
		return d.with(v.at(d.epoch))
	}
	return d.with(&still{d.source, d.epoch})
}

// still is a source with the same order in all epochs.
type still struct {
	Source
	epoch int
}

func (s *still) Open(epoch int) (Reader, error) { return s.OpenContext(context.Background(), epoch) }

func (s *still) OpenContext(ctx context.Context, _ int) (Reader, error) {
	return open(ctx, s.Source, s.epoch)
}

// Take keeps the first n rows, the same in every epoch, as with [Dataset.Split].
func (d *Dataset) Take(n int) *Dataset {
	if n < 0 {
		return d.fail("Take(%d): want 0 or more rows", n)
	}
	return d.fixed().choose(selection{fmt.Sprintf("Take(%d)", n), func(int) bool { return true }, n})
}

// Skip leaves out the first n rows, the same in every epoch, as with [Dataset.Split]. To continue a pass that was
// interrupted after n rows, apply it to the same order: Shuffle(seed).Epoch(epoch).Skip(n).
func (d *Dataset) Skip(n int) *Dataset {
	if n < 0 {
		return d.fail("Skip(%d): want 0 or more rows", n)
	}
	return d.fixed().choose(selection{fmt.Sprintf("Skip(%d)", n), func(i int) bool { return i >= n }, endless})
}

// Split divides the rows at random into two datasets: each row goes to the first with probability ratio. The choice is
// a function only of seed and the row's position, so the two never overlap, and files that don't fit into memory are
// split in the same way as rows in memory.
//
// Split, Take and Skip divide the rows in their order at the call. A [Dataset.Shuffle] before them keeps the epoch that
// was set there, 0 by default; [Dataset.Epoch] affects only shuffles after them. So the parts have the same rows in
// every epoch.
func (d *Dataset) Split(ratio float64, seed uint64) (first, second *Dataset) {
	if !(ratio >= 0 && ratio <= 1) {
		bad := d.fail("Split(%v): want a ratio between 0 and 1", ratio)
		return bad, bad
	}
	mine := func(i int) bool { return unit(mix(seed^mix(uint64(i)+1))) < ratio }
	name := fmt.Sprintf("part of Split(%v, %d)", ratio, seed)
	d = d.fixed()
	return d.choose(selection{"the first " + name, mine, endless}),
		d.choose(selection{"the second " + name, func(i int) bool { return !mine(i) }, endless})
}

// Shard keeps one worker's rows: every row whose position modulo workers is index. After [Dataset.Shuffle] with the
// same seed on all workers, each gets a random part, and together they have every row once. Directly after [FromFiles]
// positions are lines, so that lines of other workers need not be parsed.
func (d *Dataset) Shard(index, workers int) *Dataset {
	if workers < 1 || index < 0 || index >= workers {
		return d.fail("Shard(%d, %d): want an index from 0 to below the number of workers", index, workers)
	}
	if mine, ok := sharded(d.source, index, workers); ok {
		return d.with(mine)
	}
	return d.choose(shard(index, workers))
}

// ShardRows is Shard for results that are put back into the order of rows: the i-th row always belongs to worker
// i%workers. Shard of [Files] counts lines, including bad ones, so if SkipBad skips some, row i may belong to any
// worker; with ShardRows every worker then parses all lines.
func (d *Dataset) ShardRows(index, workers int) *Dataset {
	if index < 0 || index >= workers || !passesOver(d.source) {
		return d.Shard(index, workers)
	}
	return d.choose(shard(index, workers))
}

// passesOver reports whether lines of the source may be no rows.
func passesOver(s Source) bool {
	switch s := s.(type) {
	case *changed:
		return passesOver(s.Source)
	case *Files:
		return s.SkipBad > 0
	}
	return false
}

func shard(index, workers int) selection {
	return selection{fmt.Sprintf("Shard(%d, %d)", index, workers), func(i int) bool { return i%workers == index },
		endless}
}

// RandomShard keeps one worker's rows: the worker of each row is a function only of seed and the row's position, so
// that workers with the same rows and seed divide them at random without overlap. It needs no memory: with files, rows
// of other workers are skipped without parsing. The sizes of the parts differ, by a few times the square root of their
// mean.
func (d *Dataset) RandomShard(seed uint64, index, workers int) *Dataset {
	if workers < 1 || index < 0 || index >= workers {
		return d.fail("RandomShard(%d, %d): want an index from 0 to below the number of workers", index, workers)
	}
	name := fmt.Sprintf("RandomShard(%d, %d, %d)", seed, index, workers)
	mine := selection{name, func(i int) bool {
		w, _ := bits.Mul64(mix(^seed^mix(uint64(i)+1)), uint64(workers)) // ^: differs from the draws of Split
		return int(w) == index
	}, endless}
	if f, ok := d.source.(*Files); ok {
		return d.with(f.only(mine))
	}
	return d.choose(mine)
}

func (d *Dataset) choose(s selection) *Dataset {
	if v, ok := d.source.(*view); ok {
		return d.with(s.view(v))
	}
	return d.with(&chosen{d.source, s})
}

// view applies the selection to the order of rows in memory.
func (s selection) view(v *view) *view {
	end := min(s.end, v.len)
	n := 0
	for i := range end {
		if s.keep(i) {
			n++
		}
	}
	why := v.why
	if n == 0 && v.len > 0 {
		why = s.leavesNone(v.len, "rows")
	}
	return v.then(n, why, func(order []int, _ int) []int {
		kept := order[:0]
		for i, row := range order[:end] {
			if s.keep(i) {
				kept = append(kept, row)
			}
		}
		return kept
	})
}

// chosen applies a selection to streamed rows.
type chosen struct {
	Source
	selection
}

func (c *chosen) Open(epoch int) (Reader, error) { return c.OpenContext(context.Background(), epoch) }

func (c *chosen) OpenContext(ctx context.Context, epoch int) (Reader, error) {
	r, err := open(ctx, c.Source, epoch)
	if err != nil {
		return nil, err
	}
	return &chosenReader{Reader: r, selection: c.selection}, nil
}

type chosenReader struct {
	Reader
	selection
	seen int
}

// Read reads into t, and then closes the gaps of rows that are not selected.
func (r *chosenReader) Read(t *Table, n int) (int, error) {
	before := t.Len()
	for t.Len()-before < n {
		want := min(n-(t.Len()-before), r.end-r.seen)
		if want == 0 {
			break
		}
		first := t.Len()
		got, err := r.Reader.Read(t, want)
		t.keep(first, func(i int) bool { return r.keep(r.seen + i) })
		r.seen += got
		if err == io.EOF {
			break
		}
		if err != nil {
			return t.Len() - before, err
		}
	}
	return endOr(t.Len() - before)
}
