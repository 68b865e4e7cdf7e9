package table

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gofleet/gofleet/optimizer"
)

// imaged is what an image has, as whole values.
type imaged struct {
	Step    int64
	Rows    []Row
	Waiters []Waiter
	Clock   uint32
	W       []float32
	State   []float32
}

// now is what the store has, read while nothing changes it.
func now(s *Store) (is imaged) {
	t := s.Tables[0]
	is.Step, is.Clock, is.Waiters = s.Step(), t.Clock(), t.Waiters()
	for r := range t.Rows(s.Step()) {
		is.Rows = append(is.Rows, cloned(r))
	}
	is.W, is.State, _ = s.Blocks[0].Values.Snapshot()
	return is
}

// diff says where another differs; its many dense weights are compared first, and left out of the words.
func (is imaged) diff(o imaged) string {
	if !slices.Equal(is.W, o.W) || !slices.Equal(is.State, o.State) {
		return "dense weights or their state differ"
	}
	is.W, is.State, o.W, o.State = nil, nil, nil, nil
	return cmp.Diff(is, o)
}

func cloned(r Row) Row {
	r.W, r.State = slices.Clone(r.W), slices.Clone(r.State)
	return r
}

// TestImages changes a store while it is saved, row by row, in every way there is: the image is what it was.
func TestImages(t *testing.T) {
	for name, c := range map[string]struct {
		rule  optimizer.Rule
		entry optimizer.Entry
		o     Options
		dense optimizer.Rule
	}{
		"sgd":      {rule: optimizer.SGD{LR: .1}},
		"adam":     {rule: optimizer.Adam{LR: .1}},
		"sweeps":   {rule: optimizer.Adam{LR: .1, Dense: true}},
		"numbered": {rule: optimizer.Adagrad{LR: .1}, o: Options{Numbered: true}},
		"counted":  {rule: optimizer.SGD{LR: .1}, entry: optimizer.Entry{CountFilter: 3}},
		"clicked": {rule: optimizer.SGD{LR: .1}, entry: optimizer.Entry{ShowClick: optimizer.ShowClick{ShowCoeff: 1,
			ClickCoeff: 1, Threshold: 2}}},
		"whole": {rule: optimizer.SGD{LR: .1}, dense: optimizer.Lamb{LR: .1}},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(5) {
				if c.dense == nil {
					c.dense = c.rule
				}
				j := newImageJob(t, c.rule, c.dense, c.entry, c.o, seed)
				j.change(200)
				for range 2 {
					want := now(j.store)
					if diff := want.diff(j.read()); diff != "" {
						t.Fatalf("seed %d: %s", seed, diff)
					}
				}
			}
		})
	}
}

// imageJob changes a store by dice.
type imageJob struct {
	t     *testing.T
	r     *rand.Rand
	store *Store
}

func newImageJob(t *testing.T, rule, dense optimizer.Rule, entry optimizer.Entry, o Options, seed uint64) *imageJob {
	p := &optimizer.Param{Name: "e", Shape: []int{0, 3}, Embedding: true, Entry: entry}
	table, err := NewSparse(p, rule, o)
	if err != nil {
		t.Fatal(err)
	}
	n := 2*denseChunk + 7
	store := new(Store)
	d := &optimizer.Param{Name: "w", Shape: []int{n}}
	if err := store.AddBlock(Block{Param: d, Name: "w", Values: NewDense(n, dense)}); err != nil {
		t.Fatal(err)
	}
	if err := store.AddTable(table); err != nil {
		t.Fatal(err)
	}
	return &imageJob{t, rand.New(rand.NewPCG(seed, 1)), store}
}

// change does something to the store, so many times.
func (j *imageJob) change(times int) {
	table, block := j.store.Tables[0], j.store.Blocks[0].Values
	for range times {
		ids := make([]uint64, 1+j.r.IntN(40))
		w := make([]float32, 3*len(ids))
		for i := range ids {
			ids[i] = j.r.Uint64N(300)
		}
		for i := range w {
			w[i] = float32(j.r.NormFloat64())
		}
		var err error
		switch j.r.IntN(20) {
		case 0:
			err = table.Pull(ids, w, j.store.Step())
		case 1:
			err = table.Set(ids, w, j.store.Step())
		case 2:
			err = table.Peek(ids, w, j.store.Step())
		case 3:
			err = Filler{Table: table}.Row(Row{ID: ids[0], W: w[:3], Seen: 1})
		case 4:
			table.Tick()
			_, err = table.Shrink(Shrink{Unseen: 3})
		case 5:
			if err = (Filler{Table: table}).Row(Row{ID: ^uint64(0), W: w[:3]}); err == nil && table.marked {
				_, err = table.Shrink(Shrink{Decay: .9})
			}
		case 6:
			block.Edit(func(_ int, w, _ []float32) { w[0]++ })
		case 7:
			err = block.SetAt(j.r.IntN(block.Len()-3), w[:3])
		default:
			step := j.store.Advance()
			if _, err = table.Push(ids, w, step); err == nil && j.r.IntN(4) == 0 {
				g := make([]float32, block.Len())
				g[j.r.IntN(len(g))] = 1
				err = block.Push(g, step)
			}
			j.store.Finish(step)
		}
		if err != nil {
			j.t.Fatal(err)
		}
	}
}

// read reads an image while the store changes.
func (j *imageJob) read() (is imaged) {
	m := j.store.Image(func(string) bool { return true })
	defer m.Close()
	defer m.Close()
	j.change(20)
	t := m.Tables[0]
	is.Step, is.Clock = m.Step, t.Clock
	b := m.Blocks[0]
	_ = b.EachWeight(func(w []float32) error { is.W = append(is.W, w...); j.change(1); return nil })
	_ = b.EachState(func(s []float32) error { is.State = append(is.State, s...); j.change(1); return nil })
	if is.State == nil {
		is.State = []float32{}
	}
	if len(is.W) != b.Len() || len(is.State) != b.StateLen() {
		j.t.Fatalf("%d weights of %d, %d of state of %d", len(is.W), b.Len(), len(is.State), b.StateLen())
	}
	t.IDs()
	j.change(20)
	for rows := range t.Rows() {
		for i := range rows.IDs {
			is.Rows = append(is.Rows, cloned(rows.row(&t.Table.kind, i)))
		}
		j.change(5)
	}
	for _, id := range t.Waiters() {
		is.Waiters = append(is.Waiters, t.Waiter(id))
		j.change(1)
	}
	return is
}

// TestImagesBesideWriters is for the race detector, and for the sum of what many write at once.
func TestImagesBesideWriters(t *testing.T) {
	j := newImageJob(t, optimizer.SGD{LR: 1}, optimizer.SGD{LR: 1}, optimizer.Entry{}, Options{}, 1)
	table := j.store.Tables[0]
	ids := make([]uint64, 5000)
	for i := range ids {
		ids[i] = uint64(i)
	}
	if err := table.Set(ids, make([]float32, 3*len(ids)), 0); err != nil {
		t.Fatal(err)
	}
	push := func(step int64) {
		g := make([]float32, 3*len(ids))
		for i := range g {
			g[i] = -1
		}
		if _, err := table.Push(ids, g, step); err != nil {
			t.Error(err)
		}
	}
	push(1)
	m := j.store.Image(func(string) bool { return true })
	var writers sync.WaitGroup
	for w := range int64(3) {
		writers.Go(func() {
			for step := range int64(5) {
				push(2 + w + 3*step)
			}
		})
	}
	rows := 0
	for some := range m.Tables[0].Rows() {
		rows += len(some.IDs)
		for i := range some.IDs {
			if r := some.row(&table.kind, i); r.W[0] != 1 || r.W[2] != 1 || r.Updates != 1 {
				t.Fatalf("row %d: %v after %d updates", r.ID, r.W, r.Updates)
			}
		}
	}
	writers.Wait()
	m.Close()
	if rows != len(ids) {
		t.Errorf("%d rows", rows)
	}
	for r := range table.Rows(0) {
		if r.W[0] != 16 {
			t.Fatalf("row %d: %v", r.ID, r.W)
		}
	}
}
