package dataset

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// crowd is workers in one process that gather bytes.
type crowd struct {
	mu    sync.Mutex
	come  int
	data  [][]byte
	ready chan struct{}
	gone  []bool
	bytes []int // that each has sent
	most  int   // in one message
}

func newCrowd(workers int) *crowd {
	return &crowd{data: make([][]byte, workers), gone: make([]bool, workers), ready: make(chan struct{}), bytes: make([]int, workers)}
}

type member struct {
	workerOf
	c *crowd
}

func (m member) AllGatherBytes(_ context.Context, data []byte) ([][]byte, error) {
	m.c.mu.Lock()
	m.c.data[m.index], m.c.come = slices.Clone(data), m.c.come+1
	m.c.bytes[m.index] += len(data)
	m.c.most = max(m.c.most, len(data))
	all, ready := m.c.data, m.c.ready
	present := 0
	for _, gone := range m.c.gone {
		if !gone {
			present++
		}
	}
	if m.c.come == present {
		m.c.come, m.c.data, m.c.ready = 0, make([][]byte, m.workers), make(chan struct{})
		close(ready)
	}
	m.c.mu.Unlock()
	<-ready
	return all, nil
}

// each has every worker of the crowd that is there do its work.
func (c *crowd) each(work func(m member)) {
	var running sync.WaitGroup
	for w := range c.data {
		if !c.gone[w] {
			running.Go(func() { work(member{workerOf{w, len(c.data)}, c}) })
		}
	}
	running.Wait()
}

// shuffled is each worker's rows, as text, after prepare and GlobalShuffle.
func (c *crowd) shuffled(t *testing.T, seed uint64, format Format, prepare func(d *InMemoryDataset, m member) error) [][]string {
	t.Helper()
	out := make([][]string, len(c.data))
	c.each(func(m member) {
		d := &InMemoryDataset{Format: format, BatchSize: 1, MayBeEmpty: true}
		err := prepare(d, m)
		if err == nil {
			err = d.GlobalShuffle(t.Context(), m, seed)
		}
		if err != nil {
			t.Error(err)
			return
		}
		for batch, err := range d.Batches() {
			if err != nil {
				t.Error(err)
			}
			out[m.index] = append(out[m.index], rowText(batch))
		}
	})
	return out
}

func rowText(b Batch) string {
	var row []string
	for _, name := range slices.Sorted(maps.Keys(b)) {
		row = append(row, fmt.Sprint(name, b[name].Data()))
	}
	return strings.Join(row, " ")
}

// manyFiles are n files of rows in slot text, of which some are doubled, and one is empty.
func manyFiles(t *testing.T, n, rows int) (paths []string, all []string) {
	format := SlotText{Slots: []SlotColumn{{Column: Ints("x", 2)}, {Column: Floats("f")}, {Column: Varying(Ints("v"))}}}
	var texts []string
	for f := range n {
		var text strings.Builder
		for i := range rows * f {
			fmt.Fprintf(&text, "x:%d x:%d f:%v v:7 %s\n", f, i/2, float32(i)/3, strings.Repeat("v:8 ", i%4))
		}
		texts = append(texts, text.String())
	}
	paths = onDisk(t, texts...)
	for batch, err := range FromFiles(format, paths...).Batches(1) {
		law.Check(t, err)
		all = append(all, rowText(batch))
	}
	slices.Sort(all)
	return paths, all
}

var manyFormat = SlotText{Slots: []SlotColumn{{Column: Ints("x", 2)}, {Column: Floats("f")}, {Column: Varying(Ints("v"))}}}

// TestGlobalShuffleLosesNothing: the rows of all workers together are the same before and after, whichever files each has read and in
// whatever order of calls; shares are random, a function of the seed, and can be shuffled again.
//
// Promise: [G9] workers that shuffle together have the same rows before and after
// Also: TestGlobalShuffleAfterDepartures, TestGlobalShuffleOfTheSameFiles, TestGlobalShuffleOnAJob (fleet)
func TestGlobalShuffleLosesNothing(t *testing.T) {
	law.Slow(t)
	paths, all := manyFiles(t, 5, 40)
	shard := func(m member) []string {
		mine, err := FileShard(paths, m.index, m.workers)
		law.Check(t, err)
		return mine
	}
	for name, prepare := range law.SomeOf(t, map[string]func(d *InMemoryDataset, m member) error{
		"shards, loaded": func(d *InMemoryDataset, m member) error {
			d.SetFileList(shard(m)...)
			return d.LoadIntoMemory(t.Context())
		},
		"shards, preloaded, the next ones under way": func(d *InMemoryDataset, m member) error {
			d.SetFileList(shard(m)...)
			err := errors.Join(d.PreloadIntoMemory(t.Context()), d.WaitPreloadDone())
			d.SetFileList(paths[0])
			t.Cleanup(func() { _ = d.WaitPreloadDone() })
			return errors.Join(err, d.PreloadIntoMemory(t.Context()))
		},
		"shards, read by itself": func(d *InMemoryDataset, m member) error {
			d.SetFileList(shard(m)...)
			return nil
		},
		"one worker has all": func(d *InMemoryDataset, m member) error {
			if m.index == 1 {
				d.SetFileList(paths...)
			}
			return d.LoadIntoMemory(t.Context())
		},
		"one worker reads by itself": func(d *InMemoryDataset, m member) error {
			if d.SetFileList(shard(m)...); m.index == 1 {
				return nil
			}
			return d.LoadIntoMemory(t.Context())
		},
		"shuffled twice": func(d *InMemoryDataset, m member) error {
			d.SetFileList(shard(m)...)
			return errors.Join(d.LoadIntoMemory(t.Context()), d.GlobalShuffle(t.Context(), m, 99))
		},
		"the same files, loaded": func(d *InMemoryDataset, m member) error {
			d.SetFileList(paths...)
			return d.LoadIntoMemory(t.Context())
		},
		"the same files, read by itself": func(d *InMemoryDataset, m member) error {
			d.SetFileList(paths...)
			return nil
		},
		"the same files, shuffled twice": func(d *InMemoryDataset, m member) error {
			d.SetFileList(paths...)
			return errors.Join(d.LoadIntoMemory(t.Context()), d.GlobalShuffle(t.Context(), m, 99))
		},
	}) {
		for _, workers := range []int{2, 3, 7} {
			one, two := newCrowd(workers).shuffled(t, 1, manyFormat, prepare), newCrowd(workers).shuffled(t, 2, manyFormat, prepare)
			again := newCrowd(workers).shuffled(t, 1, manyFormat, prepare)
			if !slices.EqualFunc(one, again, slices.Equal) || slices.EqualFunc(one, two, slices.Equal) {
				t.Errorf("%s, %d workers: the orders are no function of the seed", name, workers)
			}
			for w, mine := range one {
				if mean := len(all) / workers; len(mine) < mean*6/10 || len(mine) > mean*14/10 || slices.IsSorted(mine) {
					t.Errorf("%s, %d workers: worker %d has %d of %d rows, sorted %v", name, workers, w, len(mine), len(all), slices.IsSorted(mine))
				}
			}
			if got := slices.Sorted(slices.Values(slices.Concat(one...))); !slices.Equal(got, all) {
				t.Errorf("%s: %d workers have %d rows after the shuffle, %d before", name, workers, len(got), len(all))
			}
		}
	}
}

// TestGlobalShuffleInRounds: more rows than fit a message, in messages of bounded length.
func TestGlobalShuffleInRounds(t *testing.T) {
	law.Slow(t)
	const rows = 200_000
	c, sums := newCrowd(2), make([]int64, 2)
	sizes := make([]int, 2)
	c.each(func(m member) {
		text := make([]string, rows)
		for i := range text {
			text[i] = fmt.Sprint(m.index*rows + i)
		}
		d := &InMemoryDataset{Format: xFormat{}, BatchSize: 1000, FileList: onDisk(t, strings.Join(text, "\n"))}
		if err := errors.Join(d.LoadIntoMemory(t.Context()), d.GlobalShuffle(t.Context(), m, 3)); err != nil {
			t.Error(err)
		}
		for batch, err := range d.Batches() {
			if err != nil {
				t.Error(err)
				return
			}
			for _, x := range batch["x"].Int64s() {
				sums[m.index] += x
			}
		}
		sizes[m.index] = d.MemoryDataSize()
	})
	if sizes[0]+sizes[1] != 2*rows || sums[0]+sums[1] != rows*(2*rows-1) {
		t.Errorf("%v rows with the sums %v", sizes, sums)
	}
	if c.most > maxMessage+100 {
		t.Errorf("a message of %d bytes", c.most)
	}
	for w, sent := range c.bytes {
		if sent < rows*9 || sent > rows*11 { // about half of the rows travel, 16 bytes each and 4 for the places that they come from
			t.Errorf("worker %d sent %d bytes for %d rows", w, sent, rows)
		}
	}
}

// TestGlobalShuffleOfTheSameFiles sends no rows, and keeps those of files that have one name and other contents.
func TestGlobalShuffleOfTheSameFiles(t *testing.T) {
	law.Slow(t)
	needShell(t)
	paths, all := manyFiles(t, 4, 20)
	c := newCrowd(3)
	c.shuffled(t, 1, manyFormat, func(d *InMemoryDataset, m member) error {
		d.SetFileList(paths...)
		return nil
	})
	if slices.Max(c.bytes) > 1000 {
		t.Errorf("bytes sent: %v", c.bytes)
	}
	for _, load := range []bool{false, true} {
		got := newCrowd(3).shuffled(t, 1, manyFormat, func(d *InMemoryDataset, m member) error {
			d.SetFileList(paths...)
			if d.PipeCommand = "sed s/v:7/v:7/"; m.index == 1 {
				d.PipeCommand = "sed s/v:7/v:5/"
			}
			if load {
				return d.LoadIntoMemory(t.Context())
			}
			return nil
		})
		if n := len(slices.Concat(got...)); n != 3*len(all) {
			t.Errorf("loaded %v: %d rows after the shuffle, %d before", load, n, 3*len(all))
		}
	}
}

// TestGlobalShuffleRefuses: what keeps workers from shuffling together is told to all of them.
func TestGlobalShuffleRefuses(t *testing.T) {
	paths := onDisk(t, "1\n2\n3\n", "4\n5\n6\n", "bad\n")
	for name, c := range map[string]struct {
		shuffle func(d *InMemoryDataset, m member) error
		words   string
	}{
		"seeds": {func(d *InMemoryDataset, m member) error {
			return errors.Join(d.LoadIntoMemory(t.Context()), d.GlobalShuffle(t.Context(), m, uint64(m.index)))
		}, "seed"},
		"columns": {func(d *InMemoryDataset, m member) error {
			if m.index == 1 {
				d.Format = MultiSlot{Slots: []SlotColumn{{Column: Ints("y")}}}
				d.FileList = onDisk(t, "1 7\n")
			}
			return errors.Join(d.LoadIntoMemory(t.Context()), d.GlobalShuffle(t.Context(), m, 1))
		}, "columns"},
		"a bad line": {func(d *InMemoryDataset, m member) error {
			d.SetFileList(paths[m.index+1])
			return d.GlobalShuffle(t.Context(), m, 1)
		}, "bad line"},
		"a missing file of some": {func(d *InMemoryDataset, m member) error {
			if d.SetFileList(paths[m.index]); m.index == 1 {
				d.SetFileList("nowhere")
			}
			return d.GlobalShuffle(t.Context(), m, 1)
		}, "nowhere"},
	} {
		newCrowd(2).each(func(m member) {
			d := &InMemoryDataset{Format: xFormat{}, FileList: paths[m.index : m.index+1]}
			if err := c.shuffle(d, m); err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("%s, worker %d: %v", name, m.index, err)
			}
		})
	}
	d := &InMemoryDataset{Format: xFormat{}, FileList: paths[:1]}
	if err := errors.Join(d.LoadIntoMemory(t.Context()), d.GlobalShuffle(t.Context(), workerOf{0, 2}, 1)); err == nil {
		t.Error("a worker that can't exchange rows")
	}
	if err := d.GlobalShuffle(t.Context(), workerOf{0, 1}, 1); err != nil || d.MemoryDataSize() != 3 {
		t.Errorf("alone: %v", err)
	}
}

// TestGlobalShuffleAfterDepartures: the workers that are left share what they have.
func TestGlobalShuffleAfterDepartures(t *testing.T) {
	paths, all := manyFiles(t, 4, 20)
	for _, same := range []bool{false, true} {
		for _, load := range []bool{false, true} {
			c := newCrowd(3)
			c.gone[1] = true
			got := c.shuffled(t, 1, manyFormat, func(d *InMemoryDataset, m member) error {
				if d.SetFileList(paths...); !same {
					d.SetFileList(paths[m.index:][:2]...) // 0 1, 2 3
				}
				if load {
					return d.LoadIntoMemory(t.Context())
				}
				return nil
			})
			if rows := slices.Sorted(slices.Values(slices.Concat(got...))); !slices.Equal(rows, all) || len(got[1]) > 0 {
				t.Errorf("same %v, load %v: %d rows, want %d", same, load, len(rows), len(all))
			}
		}
	}
}

// TestGlobalShuffleIsGivenNonsense: damaged messages are errors.
func TestGlobalShuffleIsGivenNonsense(t *testing.T) {
	path := onDisk(t, "1\n2\n3\n4\n5\n6\n7\n8\n")
	for cut := range 3 {
		d := &InMemoryDataset{Format: xFormat{}, FileList: path}
		law.Check(t, d.LoadIntoMemory(t.Context()))
		if err := d.GlobalShuffle(t.Context(), &liar{cut: cut}, 1); err == nil {
			t.Errorf("cut %d: no error", cut)
		}
		if d.MemoryDataSize() != 8 {
			t.Error("the rows have gone")
		}
	}
	if _, err := os.Stat(path[0]); err != nil {
		t.Error(err)
	}
}

// liar is two workers of which the other's messages are damaged.
type liar struct {
	cut, calls int
}

func (*liar) WorkerIndex() int { return 0 }
func (*liar) WorkerNum() int   { return 2 }
func (l *liar) AllGatherBytes(_ context.Context, data []byte) ([][]byte, error) {
	theirs := slices.Clone(data)
	if l.calls++; l.calls == 1 {
		theirs = []byte(strings.Replace(string(theirs), `"Print":"`, `"Print":"0`, 1))
	}
	if l.calls == 1+min(l.cut, 1) {
		theirs = [][]byte{[]byte("{"), {lastRound, 200, 1}, {lastRound, 5, 1, 2, 3, 4, 5}}[l.cut]
	}
	return [][]byte{data, theirs}, nil
}
