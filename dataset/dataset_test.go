package dataset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/internal/law"
)

// numbers is a dataset of n rows: x is the row's number, pair twice and three times it.
func numbers(n int) *Dataset {
	x, pair := make([]int64, n), make([]float32, 2*n)
	for i := range n {
		x[i], pair[2*i], pair[2*i+1] = int64(i), float32(2*i), float32(3*i)
	}
	return FromColumns(IntValues("x", x), FloatValues("pair", pair, 2))
}

// streamed is the same rows as d, hiding that they could be had in any order.
func streamed(d *Dataset) *Dataset { return New(struct{ Source }{d.source}) }

// xs is column x of all batches, checking pair on the way.
func xs(t *testing.T, d *Dataset, size int) []int64 {
	t.Helper()
	out := []int64{}
	for batch, err := range d.MayBeEmpty().Batches(size) {
		law.Check(t, err)
		x, pair := batch["x"].Data().([]int64), batch["pair"].Data().([]float32)
		if !slices.Equal(batch["x"].Shape(), tensor.Shape{len(x), 1}) || !slices.Equal(batch["pair"].Shape(), tensor.Shape{len(x), 2}) {
			t.Fatalf("shapes %v and %v of %d rows", batch["x"].Shape(), batch["pair"].Shape(), len(x))
		}
		for i, v := range x {
			if pair[2*i] != float32(2*v) || pair[2*i+1] != float32(3*v) {
				t.Fatalf("row %d has pair %v", v, pair[2*i:2*i+2])
			}
		}
		out = append(out, x...)
	}
	return out
}

func TestBatchesCutAPass(t *testing.T) {
	for _, c := range []struct {
		rows, size int
		dropLast   bool
		want       []int // batch sizes
	}{
		{6, 2, false, []int{2, 2, 2}},
		{7, 3, false, []int{3, 3, 1}},
		{7, 3, true, []int{3, 3}},
		{2, 3, false, []int{2}},
		{2, 3, true, nil},
		{0, 3, false, nil},
	} {
		for _, ahead := range []int{0, 1, 4} {
			d := numbers(c.rows).Prefetch(ahead).MayBeEmpty()
			if c.dropLast {
				d = d.DropLast()
			}
			var got []int
			for batch, err := range d.Batches(c.size) {
				law.Check(t, err)
				got = append(got, batch["x"].Shape()[0])
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%d rows by %d, dropLast %v, ahead %d: %v, want %v", c.rows, c.size, c.dropLast, ahead, got, c.want)
			}
		}
	}
}

// A batch keeps its values until two more have been yielded, with and without a goroutine ahead.
func TestBatchesLive(t *testing.T) {
	for _, ahead := range []int{0, 1, 5} {
		var kept []Batch
		n := int64(0)
		for batch, err := range numbers(40).Prefetch(ahead).Batches(2) {
			law.Check(t, err)
			copied := Batch{"x": batch["x"], "pair": batch["pair"]}
			kept = append(kept, copied)
			for back := range min(len(kept), 2) {
				x := kept[len(kept)-1-back]["x"].Data().([]int64)
				if want := n - int64(2*back); x[0] != want || x[1] != want+1 {
					t.Fatalf("ahead %d: the batch %d before row %d holds %v", ahead, back, n, x)
				}
			}
			n += 2
		}
	}
}

// A pass allocates its ring of batches and its order, and nothing for each batch.
func TestBatchesAllocateNothing(t *testing.T) {
	pass := func(batches int) float64 {
		d := numbers(64 * batches)
		return testing.AllocsPerRun(3, func() {
			for range d.Batches(64) {
			}
		})
	}
	if short, long := pass(20), pass(500); long > short+10 { // 10: the tensor package pools headers
		t.Errorf("%v allocations for 500 batches, %v for 20", long, short)
	}
}

func TestMap(t *testing.T) {
	double := func(b Batch) error {
		x := b["x"].Data().([]int64)
		for i := range x {
			x[i] *= 2
		}
		return nil
	}
	add := func(b Batch) error { b["more"] = b["x"]; return nil }
	for _, ahead := range []int{0, 2} {
		seen := int64(0)
		for batch, err := range numbers(10).Map(double).Prefetch(ahead).Map(add).Batches(3) {
			law.Check(t, err)
			for _, x := range batch["more"].Data().([]int64) {
				if x != 2*seen {
					t.Fatalf("row %d became %d", seen, x)
				}
				seen++
			}
		}
		if seen != 10 {
			t.Errorf("%d rows", seen)
		}
	}
	broken := errors.New("broken")
	for _, err := range numbers(10).Map(func(Batch) error { return broken }).Batches(3) {
		if err != broken {
			t.Errorf("error %v", err)
		}
	}
}

// What is wrong with an argument comes out at the first batch, from Err, and from Load.
func TestWrongArguments(t *testing.T) {
	good := numbers(4)
	first, second := good.Split(1.5, 0)
	for name, d := range map[string]*Dataset{
		"Take":           good.Take(-1),
		"Skip":           good.Skip(-1).Take(1),
		"Shard index":    good.Shard(2, 2),
		"Shard workers":  good.Shard(0, 0),
		"Split first":    first,
		"Split second":   second,
		"Prefetch":       good.Prefetch(-1),
		"Shuffle stream": streamed(good).Shuffle(1),
		"ShuffleWindow":  good.ShuffleWindow(0, 1),
		"Generate":       Generate(-1, nil, Floats("x")),
		"no format":      New(&Files{}),
		"SkipBad":        New(&Files{Format: Criteo{}, SkipBad: -1}),
	} {
		if !errors.Is(d.Err(), ErrOption) {
			t.Errorf("%s: Err is %v", name, d.Err())
		}
		if _, err := d.Load(t.Context()); !errors.Is(err, ErrOption) {
			t.Errorf("%s: Load gave %v", name, err)
		}
		n := 0
		for _, err := range d.Batches(2) {
			n++
			if !errors.Is(err, ErrOption) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, known := d.Len(); n != 1 || known {
			t.Errorf("%s: %d batches, length known %v", name, n, known)
		}
	}
	for _, err := range good.Batches(0) {
		if !errors.Is(err, ErrOption) {
			t.Errorf("Batches(0): %v", err)
		}
	}
}

func TestWrongColumns(t *testing.T) {
	for name, d := range map[string]*Dataset{
		"no columns":     FromColumns(),
		"uneven rows":    FromColumns(IntValues("a", make([]int64, 3)), FloatValues("b", make([]float32, 4))),
		"not whole rows": FromColumns(FloatValues("b", make([]float32, 5), 2)),
		"same name":      FromColumns(FloatValues("b", nil), IntValues("b", nil)),
		"no name":        FromColumns(FloatValues("", nil)),
		"bad shape":      FromColumns(FloatValues("b", nil, 2, 0)),
		"bad type":       Generate(1, nil, Column{Name: "b", Type: tensor.Float64}),
		"offsets name":   Generate(1, nil, Varying(Ints("b")), Ints("b.offsets")),
		"varying shape":  Generate(1, nil, Column{Name: "b", Type: tensor.Int64, Shape: []int{2}, Varying: true}),
	} {
		if !errors.Is(d.Err(), ErrColumn) {
			t.Errorf("%s: %v", name, d.Err())
		}
	}
}

// TestErrorsSayTheirPackageOnce: an error that goes through several calls has one beginning.
func TestErrorsSayTheirPackageOnce(t *testing.T) {
	unknown := Generate(1, nil, Column{Name: "b", Type: tensor.Float64})
	_, moments := unknown.Moments(t.Context(), "x")
	_, none := numbers(3).Moments(t.Context(), "nothing")
	for name, err := range map[string]error{
		"the moments of a wrong dataset": moments,
		"the moments of no column":       none,
		"rows of twins":                  numbers(3).MapRows(nil, Ints("a"), Ints("a")).Err(),
		"a wrong dataset's selection":    unknown.Select("x").Err(),
		"a selection of nothing":         numbers(3).Select("nothing").Err(),
	} {
		if err == nil || strings.Count(err.Error(), "dataset: ") != 1 || !errors.Is(err, ErrOption) && !errors.Is(err, ErrColumn) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLoad(t *testing.T) {
	rows, err := streamed(numbers(10_000)).Load(t.Context())
	law.Check(t, err)
	if n, known := rows.Len(); n != 10_000 || !known {
		t.Errorf("%d rows, known %v", n, known)
	}
	if got := xs(t, rows.Shuffle(1), 100); slices.IsSorted(got) || len(got) != 10_000 {
		t.Error("rows from a stream can't be shuffled after Load")
	}
	stopped, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if _, err := numbers(3).Load(stopped); !errors.Is(err, why) {
		t.Errorf("load under an ended context: %v", err)
	}
}

func TestGenerate(t *testing.T) {
	odd := errors.New("odd")
	d := Generate(5, func(i int, row Row) error {
		row.Ints(0)[0] = int64(i)
		for range i + 1 {
			row.AppendFloat(1, float32(i))
		}
		if i == 4 {
			return odd
		}
		return nil
	}, Ints("i"), Varying(Floats("v")))
	var got []string
	for batch, err := range d.Batches(2) {
		if errors.Is(err, odd) {
			got = append(got, err.Error())
			continue
		}
		got = append(got, fmt.Sprint(batch["i"].Data(), batch["v"].Data(), batch["v.offsets"].Data()))
	}
	want := []string{"[0 1] [0 1 1] [0 1 3]", "[2 3] [2 2 2 3 3 3 3] [0 3 7]", "dataset: row 4: odd"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	empty := Generate(2, func(int, Row) error { return nil }, Varying(Floats("v")))
	for batch, err := range empty.Batches(2) {
		if err != nil || batch["v"].Dtype() != tensor.Float32 || len(batch["v"].Float32s()) > 0 || !slices.Equal(batch["v.offsets"].Int64s(), []int64{0, 0, 0}) {
			t.Errorf("a batch without a value: %v, %v", batch["v.offsets"], err)
		}
	}
}
