package table

import (
	"errors"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/optimizer"
)

func boundedTable(t testing.TB, bytes int64, e optimizer.Entry) *Sparse {
	t.Helper()
	p := &optimizer.Param{Name: "e", Shape: []int{0, 16}, Embedding: true, MaxBytes: bytes, Entry: e}
	table, err := NewSparse(p, optimizer.Adagrad{}, Options{})
	check(t, err)
	return table
}

// fill pushes ids from first on until the table turns many away.
func fill(t testing.TB, table *Sparse, first uint64) {
	t.Helper()
	ids, g := make([]uint64, 500), make([]float32, 500*table.dim)
	for turnedAway := 0; turnedAway < 5000; {
		for i := range ids {
			ids[i] = first
			first++
		}
		res, err := table.Push(ids, g, 1)
		check(t, err)
		turnedAway += res.Full
	}
}

// TestBounded: small tables get what they need, others equal parts of what is left, and bounds that params have stay.
func TestBounded(t *testing.T) {
	const row = 56 // bytes
	param := func(name string, height int, bytes int64) *optimizer.Param {
		return &optimizer.Param{Name: name, Shape: []int{height, 2}, Embedding: true, MaxBytes: bytes}
	}
	for _, tt := range []struct {
		bytes int64
		want  []int64 // 0 is no bound
	}{
		{row * 10_100, []int64{row * 4500, row * 100, 0, row * 4500}},
		{row * 1_300, []int64{row * 400, row * 100, row * 400, row * 400}},
		{row * 50, []int64{1, row * 100, 1, 1}}, // which no table accepts
	} {
		params := []*optimizer.Param{param("open", 0, 0), param("own", 0, row*100), param("medium", 1000, 0), param("endless", math.MaxInt, 0)}
		for i, p := range Bounded(params, func(*optimizer.Param) optimizer.Rule { return optimizer.SGD{LR: 1} }, tt.bytes) {
			if p.MaxBytes != tt.want[i] || params[i].MaxBytes != 0 && i != 1 {
				t.Errorf("of %d bytes %s has %d, want %d", tt.bytes, p.Name, p.MaxBytes, tt.want[i])
			}
		}
	}
}

// TestBudgetIsKept: a table has as many rows as its bound has RowBytes, over and over as all are dropped and others come,
// and takes no more memory than the bound's and what the documents state above it.
func TestBudgetIsKept(t *testing.T) {
	for _, bytes := range []int64{64 << 10, 100_000, 1 << 20, 20 << 20} {
		for _, dim := range []int{1, 16, 400} {
			p := &optimizer.Param{Name: "e", Shape: []int{0, dim}, Embedding: true, MaxBytes: bytes}
			table, err := NewSparse(p, optimizer.Adagrad{}, Options{})
			check(t, err)
			rounds := max(2, law.Tries(min(100, 50<<20/int(bytes))))
			for round := range uint64(rounds) {
				fill(t, table, round<<32)
				st, want := table.Stats(), int(bytes)/RowBytes(p, optimizer.Adagrad{})
				if st.Rows != want || overBound(st) {
					t.Fatalf("round %d, %d rows, want %d: %+v", round, st.Rows, want, st)
				}
				if st.TurnedAway < 5000 || st.MaxBytes != int(bytes) {
					t.Errorf("%+v", st)
				}
				table.Tick()
				_, err := table.Shrink(Shrink{Unseen: 1})
				check(t, err)
			}
		}
	}
}

// overBound reports whether a table takes more than a tenth and 16 KiB above its bound.
func overBound(st Stats) bool { return st.Bytes > st.MaxBytes+st.MaxBytes/10+16<<10 }

// TestBudgetGivesRowsBack: a full table's rows fit into an empty one of other shards, and into itself after a load.
func TestBudgetGivesRowsBack(t *testing.T) {
	for _, shards := range []int{1, 4, 64} {
		full := boundedTable(t, 4<<20, optimizer.Entry{})
		fill(t, full, 0)
		p := *full.param
		other, err := NewSparse(&p, optimizer.Adagrad{}, Options{Shards: shards})
		check(t, err)
		for round := range 3 {
			for _, to := range []*Sparse{other, full.like()} {
				for r := range full.Rows(1) {
					if err := (Filler{Table: to}).Row(r); err != nil {
						t.Fatalf("%d shards, round %d: %v", shards, round, err)
					}
				}
				if to.Len() != full.Len() || to.bound.take() {
					t.Errorf("%d rows of %d are there, and there is room for more", to.Len(), full.Len())
				}
				if to != other {
					full.become(to)
				}
			}
			other.Clear()
		}
	}
}

// A full table goes on training what it has; what it hasn't reads as missing.
func TestFullTableTrains(t *testing.T) {
	table := boundedTable(t, 1<<20, optimizer.Entry{})
	fill(t, table, 1000)
	rows, g := table.IDs(), make([]float32, 16)
	for i := range g {
		g[i] = 1
	}
	res, err := table.Push([]uint64{rows[0], 1}, append(g, g...), 2)
	check(t, err)
	if res != (Result{Applied: 1, Full: 1}) {
		t.Fatalf("%+v, want one row trained and one turned away", res)
	}
	w := make([]float32, 32)
	w[16] = 9
	check(t, table.Pull([]uint64{rows[0], 1}, w, 2))
	if w[0] >= 0 || w[16] != 0 {
		t.Errorf("rows read %v and %v, want a trained one and zeros", w[0], w[16])
	}
	before := table.Len()
	err = table.Set([]uint64{rows[1], 1}, make([]float32, 32), 0)
	if !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "row 1 within 1048576 bytes, at 176 bytes a row") {
		t.Errorf("set: error %v", err)
	}
	if err := (Filler{Table: table}).Row(Row{ID: 1, W: g}); !errors.Is(err, ErrFull) {
		t.Errorf("restore: error %v", err)
	}
	if table.Len() != before {
		t.Errorf("%d rows, want %d as before", table.Len(), before)
	}
}

// What Shrink drops makes room for as many.
func TestShrinkMakesRoom(t *testing.T) {
	for _, e := range []optimizer.Entry{{}, {CountFilter: 2}} {
		table := boundedTable(t, 1<<20, e)
		push := func(first, n uint64) (res Result) {
			ids, g := make([]uint64, n), make([]float32, n*16)
			for i := range ids {
				ids[i] = first + uint64(i)
			}
			for range max(e.CountFilter, 1) {
				var err error
				res, err = table.Push(ids, g, 1)
				check(t, err)
			}
			return res
		}
		for first := uint64(0); push(first, 100).Full < 100; first += 100 {
		}
		rows := table.Len()
		table.Tick()
		_, err := table.Shrink(Shrink{Unseen: 1})
		check(t, err)
		for first := uint64(1 << 30); push(first, 100).Full < 100; first += 100 {
		}
		if again := table.Len(); again != rows {
			t.Errorf("%+v: %d rows fit after a shrink, %d before", e, again, rows)
		}
		if st := table.Stats(); overBound(st) {
			t.Errorf("%+v", st)
		}
	}
}

// Ids that wait and never come again take neither the rows' room nor more than their own.
func TestWaitingHasItsOwnShare(t *testing.T) {
	table := boundedTable(t, 1<<20, optimizer.Entry{CountFilter: 2})
	ids, g := make([]uint64, 1000), make([]float32, 16000)
	for round := range uint64(100) {
		for i := range ids {
			ids[i] = round*1000 + uint64(i)
		}
		_, err := table.Push(ids, g, 1)
		check(t, err)
		if st := table.Stats(); overBound(st) || st.Waiting*waiterBytes > st.MaxBytes/8 {
			t.Fatalf("%+v", st)
		}
	}
	res, err := table.Push(ids, g, 1)
	check(t, err)
	if res.Born < 900 {
		t.Errorf("%+v: the last thousand ids came twice and found room", res)
	}
}

func TestBudgetRefuses(t *testing.T) {
	p := &optimizer.Param{Name: "wide", Shape: []int{0, 10_000}, Embedding: true, MaxBytes: 40_000}
	if _, err := NewSparse(p, optimizer.SGD{}, Options{}); err == nil || !strings.Contains(err.Error(), `"wide": MaxBytes 40000`) {
		t.Errorf("error %v", err)
	}
	p.MaxBytes = 100_000
	if _, err := NewSparse(p, optimizer.SGD{}, Options{}); err != nil {
		t.Error(err)
	}
}

// The budget holds whoever fills the table, and what is in it is trained by all.
func TestBudgetRace(t *testing.T) {
	const workers, rounds = 4, 40
	table := boundedTable(t, 1<<19, optimizer.Entry{})
	var wg sync.WaitGroup
	for worker := range uint64(workers) {
		wg.Go(func() {
			ids, g := make([]uint64, 200), make([]float32, 3200)
			for round := range uint64(rounds) {
				for i := range ids {
					ids[i] = uint64(i) // the first hundred are everybody's
					if i >= 100 {
						ids[i] += 1000*worker + 100*round + 1<<20
					}
				}
				res, err := table.Push(ids, g, 1)
				if err != nil || res.Applied+res.Full != len(ids) {
					t.Errorf("%+v, %v", res, err)
				}
				if st := table.Stats(); overBound(st) {
					t.Errorf("%+v", st)
				}
			}
		})
	}
	wg.Wait()
	for r := range table.RowsOf(table.IDs()[:100], 1) {
		if r.ID >= 100 || r.Updates != workers*rounds {
			t.Errorf("row %d has %d updates, want %d", r.ID, r.Updates, workers*rounds)
		}
	}
	if st := table.Stats(); st.TurnedAway == 0 {
		t.Errorf("%+v: nobody was turned away", st)
	}
}
