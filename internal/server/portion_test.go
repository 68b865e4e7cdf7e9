package server

import (
	"io"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// TestRoundsByPortions applies rounds of many and of few rows on one core and on four: the rows are the same, bit for bit.
func TestRoundsByPortions(t *testing.T) {
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
	s := sparseServer(t, rule)
	r := rand.New(rand.NewPCG(1, 1))
	for step, n := range []int{10, 9000, 0, 5000} {
		var round []*push
		for w := range 3 {
			p := &push{worker: w, samples: 8 << w, rows: make([]gradient.Rows, 2)}
			for e := range p.rows {
				p.rows[e] = someRows(r, n*(w+1)*(e+1)/6)
			}
			round = append(round, p)
		}
		if _, err := s.fold(update{step: int64(step + 1), pushes: round}); err != nil {
			t.Fatal(err)
		}
		if n == 9000 {
			c := &scratch{}
			c.begin(s, update{pushes: round})
			if c.inUse != min(3, cuts)+min(4, cuts) {
				t.Errorf("%d portions on %d cores", c.inUse, cuts)
			}
		}
	}
	for e, table := range s.store.Tables {
		ids := table.IDs()
		slices.Sort(ids)
		rows[e] = make([]float32, 3*len(ids))
		if err := table.Peek(ids, rows[e], 4); err != nil {
			t.Fatal(err)
		}
	}
	return rows
}

// sparseServer is a server of two embeddings without a height, of three columns each, and of nothing else.
func sparseServer(t *testing.T, rule optimizer.Rule) *Server {
	var params []*optimizer.Param
	for _, name := range []string{"a", "b"} {
		params = append(params, &optimizer.Param{Name: name, Shape: []int{0, 3}, Embedding: true, Init: optimizer.Uniform{Low: -1, High: 1}})
	}
	strategy := strategy.Sync().WithDefaults()
	where, err := strategy.PlacementOptions()
	if err != nil {
		t.Fatal(err)
	}
	l, err := layout.New(params, 1, where)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Config{Workers: 3, Endpoints: []string{"server:1"}, Layout: l, Rule: rule, Strategy: strategy,
		Fingerprint: l.Fingerprint(rule, "test"), Transport: transport.NewMemory(), Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return s
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
