package parquet

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"

	"github.com/parquet-go/parquet-go"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/internal/law"
)

type visit struct {
	Text  string  `parquet:"text,dict"`
	Other *string `parquet:"other,optional,dict"`
	Plain string  `parquet:"plain"`
	Words []int32 `parquet:"words,list"`
	Half  float64 `parquet:"half"`
	Late  *bool   `parquet:"late,optional"`
}

// visits are n rows, of which the bad ones have a half where the schema wants a whole number.
func visits(n int, bad ...int) []visit {
	random := rand.New(rand.NewPCG(3, 4))
	rows := make([]visit, n)
	for i := range rows {
		r := &rows[i]
		r.Text, r.Plain, r.Half = fmt.Sprint(random.IntN(99)), fmt.Sprint(i), float64(i)
		r.Words = make([]int32, i%4)
		for w := range r.Words {
			r.Words[w] = int32(i + w)
		}
		if i%3 > 0 {
			r.Other, r.Late = new(fmt.Sprint(random.IntN(7))), new(i%2 > 0)
		}
		if slices.Contains(bad, i) {
			r.Half += .5
		}
	}
	return rows
}

var visitSchema = []dataset.CSVColumn{
	{Column: dataset.Ints("C", 3), Fields: []string{"text", "other", "plain"}, Hash: 1 << 30},
	{Column: dataset.Varying(dataset.Ints("words"))},
	{Column: dataset.Ints("half")},
	{Column: dataset.Floats("late"), Missing: "-1"},
}

// passed is what a pass has read, by Reads of several sizes, and how it ended.
func passed(t *testing.T, f *Files) (*dataset.Table, error) {
	t.Helper()
	table, err := dataset.NewTable(f.Columns()...)
	law.Check(t, err)
	r, err := f.Open(0)
	law.Check(t, err)
	defer r.Close()
	for i := 0; ; i++ {
		before := table.Len()
		n, err := r.Read(table, 1+i%3*5000)
		if n != table.Len()-before || n == 0 && err == nil {
			t.Fatalf("a Read of %d rows: %d, %v", table.Len()-before, n, err)
		}
		if err != nil {
			if _, again := r.Read(table, 1); again != err {
				t.Errorf("after %v: %v", err, again)
			}
			return table, err
		}
	}
}

// sameRows says whether two tables have the same rows of visits, from the same places.
func sameRows(a, b *dataset.Table) bool {
	for r := range min(a.Len(), b.Len()) {
		if a.Place(r) != b.Place(r) {
			return false
		}
	}
	return a.Len() == b.Len() && slices.Equal(a.Ints(0), b.Ints(0)) && slices.Equal(a.Ints(1), b.Ints(1)) && slices.Equal(a.Ints(2), b.Ints(2)) &&
		slices.Equal(a.Floats(3), b.Floats(3))
}

// TestRowsByMany: rows, their places and errors are the same, however many goroutines make them, of groups of any size, also of a group that
// several share; what a varying column has in each row is seen by its Shard.
func TestRowsByMany(t *testing.T) {
	law.Slow(t)
	const large = partRows + partRows/2
	rows := visits(large)
	whole := written(t, rows[:5000], 700)
	bad := written(t, visits(5000, 2345, 2400), 700, parquet.PageBufferSize(500))
	shared := written(t, rows, large, parquet.PageBufferSize(5000), parquet.DataPageVersion(1), parquet.Compression(&parquet.Snappy))
	spoilt := slices.Clone(whole)
	copy(spoilt[len(spoilt)/3:], make([]byte, 5000))
	files := fstest.MapFS{"a": {Data: whole}, "none": {Data: written[visit](t, nil, 1)}, "shared": {Data: shared}, "bad": {Data: bad},
		"late": {Data: written(t, visits(large, large-1), large, parquet.PageBufferSize(9000))}, "cut": {Data: whole[:len(whole)/2]}, "spoilt": {Data: spoilt}}
	for _, c := range law.Some(t, []struct {
		paths string
		rows  int
		err   string
	}{
		{"a none shared a", large + 10_000, "EOF"},
		{"none", 0, "EOF"},
		{"a bad a", 7345, "dataset: bad row: bad:2346: field half: want an integer, got 2345.5"},
		{"a late", 5000 + large - 1, fmt.Sprintf("dataset: bad row: late:%d: field half", large)},
		{"a cut", 5000, "dataset: cut: "},
		{"a gone", 5000, "dataset: open gone"},
		{"spoilt a", -1, "dataset: spoilt:"},
	}) {
		want, ended := passed(t, &Files{FS: files, Paths: strings.Fields(c.paths), Schema: visitSchema, Threads: 1})
		if c.rows >= 0 && want.Len() != c.rows || !strings.HasPrefix(ended.Error(), c.err) {
			t.Errorf("%s: %d rows, then %v", c.paths, want.Len(), ended)
		}
		for _, threads := range []int{2, 8} {
			got, err := passed(t, &Files{FS: files, Paths: strings.Fields(c.paths), Schema: visitSchema, Threads: threads})
			if err.Error() != ended.Error() || !sameRows(got, want) {
				t.Errorf("%s: %d goroutines: %d rows, then %v; one alone: %d rows, then %v", c.paths, threads, got.Len(), err, want.Len(), ended)
			}
		}
	}
	one, err := dataset.New(&Files{FS: files, Paths: []string{"shared"}, Schema: visitSchema, Threads: 1}).Shard(1, 3).Table(t.Context())
	law.Check(t, err)
	many, err := dataset.New(&Files{FS: files, Paths: []string{"shared"}, Schema: visitSchema}).Shard(1, 3).Table(t.Context())
	if err != nil || !sameRows(one, many) {
		t.Errorf("a share of %d rows, by one %d: %v", many.Len(), one.Len(), err)
	}
}

// TestManyEndEarly: a loop that breaks, a context that ends and a bad row leave no goroutine and no open file behind.
func TestManyEndEarly(t *testing.T) {
	files := fstest.MapFS{"a": {Data: written(t, visits(20_000), 500)}, "bad": {Data: written(t, visits(5000, 700), 500)}}
	enough := errors.New("enough")
	for name, pass := range map[string]func(ctx context.Context, f *Files) error{
		"a loop that breaks": func(_ context.Context, f *Files) error {
			for _, err := range dataset.New(f).Batches(10) {
				return err
			}
			return nil
		},
		"a loop whose context ends": func(ctx context.Context, f *Files) (err error) {
			ctx, cancel := context.WithCancelCause(ctx)
			defer cancel(nil)
			for _, err = range dataset.New(f).Prefetch(2).BatchesContext(ctx, 10) {
				cancel(enough)
			}
			if errors.Is(err, enough) {
				return nil
			}
			return fmt.Errorf("the pass went on after its context had ended: %w", err)
		},
		"a load whose context ends": func(ctx context.Context, f *Files) error {
			ctx, cancel := context.WithCancelCause(ctx)
			f.FS = counted{f.FS, new(atomic.Int64), func() { cancel(enough) }}
			if _, err := dataset.New(f).Load(ctx); !errors.Is(err, enough) {
				return fmt.Errorf("loaded after its context had ended: %w", err)
			}
			return nil
		},
		"a bad row": func(ctx context.Context, f *Files) error {
			f.Paths = []string{"a", "bad", "a"}
			if _, err := dataset.New(f).Load(ctx); err == nil || !strings.Contains(err.Error(), "bad:701") {
				return fmt.Errorf("a bad row: %w", err)
			}
			return nil
		},
	} {
		synctest.Test(t, func(t *testing.T) { // which fails when a goroutine is left
			var open atomic.Int64
			f := &Files{FS: counted{FS: files, open: &open}, Paths: []string{"a", "a"}, Schema: visitSchema, Threads: 3}
			if err := pass(t.Context(), f); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if n := open.Load(); n != 0 {
				t.Errorf("%s: %d files are open", name, n)
			}
		})
	}
}
