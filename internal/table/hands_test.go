package table

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
)

// TestSpreadIsTheSame: after the same calls a table on whose calls several cores work has the rows, their places and
// the results of one by itself, also where ids wait for more pushes, and where they share a bound.
func TestSpreadIsTheSame(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for name, change := range map[string]func(*optimizer.Param){
		"plain":   func(*optimizer.Param) {},
		"entry":   func(p *optimizer.Param) { p.Entry.CountFilter = 2 },
		"bounded": func(p *optimizer.Param) { p.MaxBytes = 300 << 10 },
	} {
		t.Run(name, func(t *testing.T) {
			p := embedding(0, 3)
			change(p)
			var tables [2]*Sparse
			for i := range tables {
				made, err := NewSparse(p, optimizer.Adam{LR: 0.1}, Options{Shards: 8, Telling: true, Spread: i == 1})
				check(t, err)
				tables[i], made.seed = made, 7
			}
			r := rand.New(rand.NewPCG(5, 6))
			for step := int64(1); step < 9; step++ {
				ids := make([]uint64, 3*rowsForAHand)
				for i := range ids {
					ids[i] = r.Uint64N(1 << 12)
				}
				g := randomFloats(r, 3*len(ids))
				var pulled [2][]float32
				var pushed [2]Result
				for i, table := range tables {
					pulled[i] = make([]float32, 3*len(ids))
					check(t, table.Pull(ids, pulled[i], step-1))
					res, err := table.Push(ids, g, step)
					check(t, err)
					if res.Refused != nil {
						slices.Sort(*res.Refused)
					}
					pushed[i] = res
				}
				same(t, "pulled", pulled[0], pulled[1])
				alone, spread := pushed[0], pushed[1]
				if (alone.Refused == nil) != (spread.Refused == nil) || alone.Refused != nil && !slices.Equal(*alone.Refused, *spread.Refused) {
					t.Fatalf("step %d: other ids were refused", step)
				}
				if alone.Refused, spread.Refused = nil, nil; alone != spread {
					t.Fatalf("step %d: %+v, want %+v", step, spread, alone)
				}
			}
			a, b := rowsOf(tables[0], 8), rowsOf(tables[1], 8)
			if noSlots := slices.EqualFunc(a, b, func(a, b Row) bool {
				return a.ID == b.ID && a.Step == b.Step && slices.Equal(a.W, b.W) && slices.Equal(a.State, b.State)
			}); !noSlots || len(a) == 0 {
				t.Fatalf("%d rows, want the %d of the other table", len(b), len(a))
			}
			for i := range tables[0].shards {
				if !slices.Equal(numbersOf(&tables[0].shards[i]), numbersOf(&tables[1].shards[i])) {
					t.Fatalf("rows of shard %d have other places", i)
				}
			}
		})
	}
}

// numbersOf are the entries of a shard's index, which have rows' places.
func numbersOf(s *shard) (all []uint64) {
	for _, p := range s.index.places {
		all = append(all, p.entries[:]...)
	}
	return all
}

// TestPanicOfAHand: what a rule panics with is the call's error, in whichever hand.
func TestPanicOfAHand(t *testing.T) {
	for hand := range 2 {
		met := make(chan bool)
		err := Share(2, 2, func(at, _ int) {
			if at == hand {
				<-met
				panic("no")
			}
			met <- true // each has a unit
		})
		if err == nil || !strings.Contains(err.Error(), "the update rule or an initializer panicked: no (") {
			t.Errorf("hand %d: %v", hand, err)
		}
	}
}
