package train_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/internal/law"
)

// visits writes n rows of an id, a day that comes in no order, and a user, of whom each has some.
func visits(t *testing.T, n int) train.Files {
	t.Helper()
	var text strings.Builder
	text.WriteString("id,day,user\n")
	for i := range n {
		fmt.Fprintf(&text, "%d,%d,u%d\n", i, i*37%100, i%(n/5))
	}
	file := filepath.Join(t.TempDir(), "visits.csv")
	law.Check(t, os.WriteFile(file, []byte(text.String()), 0o600))
	return train.Files{Paths: []string{file}, Format: dataset.CSV{Schema: []dataset.CSVColumn{{Column: dataset.Ints("id")},
		{Column: dataset.Ints("day")}, {Column: dataset.Ints("user"), Hash: 1 << 32}}}}
}

// columnOf are the values of a column of Ints.
func columnOf(t *testing.T, rows *dataset.Dataset, name string) (values []int64) {
	t.Helper()
	b, err := rows.Batch(t.Context())
	law.Check(t, err)
	return b[name].Int64s()
}

// TestHeldOutBy: rows are held out by their order, by a column, or by groups, with a share of those that are taken on each side, and the
// two sides share no row, no moment, no group, in any epoch.
func TestHeldOutBy(t *testing.T) {
	t.Parallel()
	const n = 1000
	for name, c := range map[string]struct {
		change func(f *train.Files)
		by     string // of which nothing on one side is on the other
		after  bool   // and all on the test side comes behind it
	}{
		"Last":             {func(f *train.Files) { f.Last = true }, "id", true},
		"Last, Take":       {func(f *train.Files) { f.Last, f.Take = true, 500 }, "id", true},
		"LastBy":           {func(f *train.Files) { f.LastBy = "day" }, "day", true},
		"LastBy, Take":     {func(f *train.Files) { f.LastBy, f.Take = "day", 500 }, "day", true},
		"Last and LastBy":  {func(f *train.Files) { f.Last, f.LastBy = true, "day" }, "day", true},
		"GroupBy":          {func(f *train.Files) { f.GroupBy = "user" }, "user", false},
		"GroupBy, Take":    {func(f *train.Files) { f.GroupBy, f.Take = "user", 500 }, "user", false},
		"GroupBy, HeldOut": {func(f *train.Files) { f.GroupBy, f.HeldOut = "user", 0.5 }, "user", false},
	} {
		f := visits(t, n)
		c.change(&f)
		rows, test, err := f.Load(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all, held := n, 0.2
		if f.Take > 0 {
			all = f.Take
		}
		if f.HeldOut > 0 {
			held = f.HeldOut
		}
		mine := columnOf(t, rows, "id")
		if again, _, err := f.Load(t.Context()); err != nil || !slices.Equal(columnOf(t, again, "id"), mine) {
			t.Errorf("%s: a job that is started again has others to train on, %v", name, err)
		}
		if k := len(columnOf(t, test, "id")); k+len(mine) != all || float64(k) < (held-0.06)*float64(all) || float64(k) > (held+0.06)*float64(all) {
			t.Errorf("%s: %d and %d rows of %d", name, len(mine), k, all)
		}
		for epoch := range 3 {
			rows, test := rows.Shuffle(7).Epoch(epoch), test.Epoch(epoch)
			if got := slices.Sorted(slices.Values(columnOf(t, rows, "id"))); !slices.Equal(got, slices.Sorted(slices.Values(mine))) {
				t.Errorf("%s: in epoch %d there are others to train on", name, epoch)
			}
			trained, tested := columnOf(t, rows, c.by), columnOf(t, test, c.by)
			for _, v := range tested {
				if slices.Contains(trained, v) {
					t.Errorf("%s: %s %d is on both sides", name, c.by, v)
				}
			}
			if c.after && slices.Max(trained) >= slices.Min(tested) {
				t.Errorf("%s: to train on is %s %d, and held out is %d", name, c.by, slices.Max(trained), slices.Min(tested))
			}
		}
	}
}

// TestHeldOutByIsRefused: what would be passed over, or leaves a side empty, is refused by name.
func TestHeldOutByIsRefused(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(f *train.Files){
		"Files.Last and Files.GroupBy are set": func(f *train.Files) { f.Last, f.GroupBy = true, "user" },
		"Files.Test has files":                 func(f *train.Files) { f.LastBy, f.Test = "day", f.Paths },
		"that none are":                        func(f *train.Files) { f.GroupBy, f.HeldOut = "user", -1 },
		`LastBy`:                               func(f *train.Files) { f.LastBy, f.GroupBy = "day", "user" },
		`unknown column; want one of "id"`:     func(f *train.Files) { f.LastBy = "dya" },
		`all 1000 rows are on one side`:        func(f *train.Files) { f.Last, f.HeldOut = true, 1e-9 },
		`"day", a column of hashes`: func(f *train.Files) {
			f.LastBy = "day"
			f.Format = dataset.CSV{Schema: []dataset.CSVColumn{{Column: dataset.Ints("day"), Fields: []string{"user"}, Hash: 100}}}
		},
		`the column "same" has too few`: func(f *train.Files) {
			f.GroupBy = "same"
			f.Format = dataset.CSV{Schema: []dataset.CSVColumn{{Column: dataset.Ints("same"), Fields: []string{"user"}, Hash: 1}}}
		},
	} {
		f := visits(t, 1000)
		change(&f)
		if _, _, err := f.Load(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("wanted %q: %v", want, err)
		}
	}
}
