package update

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/rules"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// TestRoundsByPortions applies rounds of many and of few rows on one core and on four: the rows are the same, bit for bit.
func TestRoundsByPortions(t *testing.T) {
	law.Slow(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for name, rule := range map[string]optimizer.Rule{
		"adagrad": optimizer.Adagrad{LR: 0.1},
		"clipped": optimizer.ClipByGlobalNorm{Rule: optimizer.SGD{LR: 0.1}, Norm: 1},
	} {
		t.Run(name, func(t *testing.T) {
			runtime.GOMAXPROCS(1)
			want := playRounds(t, rule, 1)
			runtime.GOMAXPROCS(4)
			if diff := cmp.Diff(want, playRounds(t, rule, 4)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// playRounds has three workers push to two embeddings, and returns all rows of both. The largest round is to be cut as
// often as that.
func playRounds(t *testing.T, rule optimizer.Rule, cuts int) (rows [2][]float32) {
	tables := sparseTables(t, rule)
	r := rand.New(rand.NewPCG(1, 1))
	for step, n := range []int{10, 9000, 0, 5000} {
		var round []*Push
		for w := range 3 {
			p := &Push{Samples: 8 << w, Rows: make([]gradient.Rows, 2)}
			for e := range p.Rows {
				p.Rows[e] = someRows(r, n*(w+1)*(e+1)/6)
			}
			round = append(round, p)
		}
		if _, err := tables.Apply(&Update{Step: int64(step + 1), Pushes: round}); err != nil {
			t.Fatal(err)
		}
		if n == 9000 {
			c := &scratch{}
			c.gather(tables, &Update{Pushes: round})
			if c.inUse != min(3, cuts)+min(4, cuts) {
				t.Errorf("%d portions on %d cores", c.inUse, cuts)
			}
		}
	}
	for e, table := range tables.store.Tables {
		ids := table.IDs()
		slices.Sort(ids)
		rows[e] = make([]float32, 3*len(ids))
		if err := table.Peek(ids, rows[e], 4); err != nil {
			t.Fatal(err)
		}
	}
	return rows
}

// sparseTables are those of two embeddings without a height, of three columns each.
func sparseTables(t *testing.T, rule optimizer.Rule) *Tables {
	store := new(table.Store)
	var params []*optimizer.Param
	for _, name := range []string{"a", "b"} {
		p := &optimizer.Param{Name: name, Shape: []int{0, 3}, Embedding: true, Init: optimizer.Uniform{Low: -1, High: 1}}
		params = append(params, p)
		of, err := table.NewSparse(p, rule, table.Options{})
		if err == nil {
			err = store.AddTable(of)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	where, err := strategy.Sync().WithDefaults().PlacementOptions()
	if err != nil {
		t.Fatal(err)
	}
	l, err := layout.New(params, 1, where)
	if err != nil {
		t.Fatal(err)
	}
	clip, _ := rules.ClipperOf(rule)
	norms, _ := clip.(optimizer.NormClipper)
	return New(store, l, 0, Options{Clip: norms})
}

// someRows are about n gradients of three columns, of ids that others have too.
func someRows(r *rand.Rand, n int) gradient.Rows {
	rows := gradient.Rows{IDs: []uint64{}}
	for range n {
		rows.IDs = append(rows.IDs, r.Uint64N(20_000))
	}
	slices.Sort(rows.IDs)
	rows.IDs = slices.Compact(rows.IDs)
	for range 3 * len(rows.IDs) {
		rows.G = append(rows.G, r.Float32()-0.5)
	}
	return rows
}
