package table

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/lr"
)

// factored is a store of a block and a table, and its twin, which is trained by rules whose own rate is the factored one.
type factored struct {
	Store
	step int64
}

func newFactored(t fataler, rule optimizer.Rule) *factored {
	f := new(factored)
	check(t, f.AddBlock(Block{Param: dense("fc", 3), Name: "fc", Values: NewDense(3, rule)}))
	emb, err := NewSparse(embedding(0, 2), rule, Options{Shards: 2})
	check(t, err)
	check(t, f.AddTable(emb))
	return f
}

func (f *factored) update(t fataler, ids []uint64) {
	f.step = f.Advance()
	g := make([]float32, 2*len(ids))
	for i := range g {
		g[i] = float32(i%5)/3 - 0.5
	}
	check(t, f.Blocks[0].Values.Push([]float32{1, -0.5, 0.25}, f.step))
	_, err := f.Tables[0].Push(ids, g, f.step)
	check(t, err)
	f.Finish(f.step)
}

// changing is a rate that changes after some updates.
type changing struct{ at *[]float64 }

func (c changing) Rate(n int64) float64 { return (*c.at)[n] }

// TestReplayedStepsHaveTheirRates trains rows now and then, under rules of which some move rows in every step, while the factor on the rate
// changes: each step, replayed or not, has the factor of its own update, as a schedule has its rate.
func TestReplayedStepsHaveTheirRates(t *testing.T) {
	for name, rule := range map[string]func(lr.Schedule) optimizer.Rule{
		"sgd":    func(s lr.Schedule) optimizer.Rule { return optimizer.SGD{LR: 0.1, Schedule: s} },
		"lazy":   func(s lr.Schedule) optimizer.Rule { return optimizer.Adam{LR: 0.1, Schedule: s} },
		"sweeps": func(s lr.Schedule) optimizer.Rule { return optimizer.Adam{LR: 0.1, Schedule: s, Dense: true} },
		"decays": func(s lr.Schedule) optimizer.Rule {
			return optimizer.Decay{Rule: optimizer.Adam{LR: 0.1, Schedule: s, Dense: true}, L2: 0.1}
		},
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				var rates []float64
				f, twin := newFactored(t, rule(nil)), newFactored(t, rule(changing{&rates}))
				by := 1.0
				for range rapid.IntRange(1, 20).Draw(t, "steps") {
					if rapid.Bool().Draw(t, "changes") {
						by = rapid.SampledFrom([]float64{0.1, 0.5, 1, 2}).Draw(t, "factor")
						f.SetRateFactor(by)
					}
					if rapid.IntRange(0, 5).Draw(t, "moves") == 0 {
						f = moved(t, f, rule(nil))
					}
					if rates = append(rates, 0.1*by); f.RateFactor() != by {
						t.Fatalf("the factor is %v, want %v", f.RateFactor(), by)
					}
					ids := rapid.SliceOfNDistinct(rapid.Uint64Range(0, 6), 0, 3, rapid.ID).Draw(t, "ids")
					slices.Sort(ids)
					f.update(t, ids)
					twin.update(t, ids)
				}
				same(t, "dense", pulled(t, &twin.Store), pulled(t, &f.Store))
				same(t, "rows", weightsOf(twin.Tables[0], twin.Step()), weightsOf(f.Tables[0], f.Step()))
			})
		})
	}
}

// TestFactorsOfUpdatesThatAreMadeAgain: a store that goes back to an earlier update keeps the factor that was set last.
func TestFactorsOfUpdatesThatAreMadeAgain(t *testing.T) {
	f, twin := newFactored(t, optimizer.SGD{LR: 0.1}), newFactored(t, optimizer.SGD{LR: 0.1})
	f.update(t, nil)
	f.SetRateFactor(2)
	f.update(t, nil)
	f.SetRateFactor(1)
	w, state, step := twin.Blocks[0].Values.Snapshot()
	check(t, f.Blocks[0].Values.Restore(w, state, step))
	f.SetStep(0)
	for range 3 {
		f.update(t, nil)
		twin.update(t, nil)
	}
	same(t, "dense", pulled(t, &twin.Store), pulled(t, &f.Store))
}

// moved goes on with another store to which everything was carried, as a checkpoint does.
func moved(t fataler, f *factored, rule optimizer.Rule) *factored {
	to := newFactored(t, rule)
	w, state, step := f.Blocks[0].Values.Snapshot()
	check(t, to.Blocks[0].Values.Restore(w, state, step))
	for r := range f.Tables[0].Rows(f.Step()) {
		check(t, Filler{Table: to.Tables[0]}.Row(r))
	}
	to.SetStep(f.Step())
	to.SetRateFactors(f.RateFactors(f.RateFactor()))
	return to
}

func pulled(t fataler, s *Store) []float32 {
	w := make([]float32, s.Blocks[0].Values.Len())
	check(t, s.Blocks[0].Values.Pull(w))
	return w
}

func weightsOf(t *Sparse, step int64) (all []float32) {
	for r := range t.Rows(step) {
		all = append(append(all, float32(r.ID)), r.W...)
	}
	return all
}

// TestStartedUpdateKeepsItsFactor: an update that has begun keeps its factor.
func TestStartedUpdateKeepsItsFactor(t *testing.T) {
	for _, rule := range []optimizer.Rule{optimizer.SGD{LR: 1}, tallyRate{}} {
		t.Run(fmt.Sprintf("%T", rule), func(t *testing.T) {
			f := newFactored(t, rule)
			before := pulled(t, &f.Store)
			first := f.Advance()
			f.SetRateFactor(0.5)
			second := f.Advance()
			f.SetRateFactor(0.25)
			for _, step := range []int64{second, first} {
				check(t, f.Blocks[0].Values.Push([]float32{1, 1, 1}, step))
				f.Finish(step)
			}
			if got, want := pulled(t, &f.Store)[0], before[0]-1.5; got != want {
				t.Errorf("weight %v, want %v", got, want)
			}
			if f.SetRateFactor(1); f.RateFactors(1) != nil {
				t.Errorf("the factors are %v", f.RateFactors(1))
			}
		})
	}
}

// tallyRate is plain gradient descent that sweeps, and never rests.
type tallyRate struct{ tally }

func (tallyRate) Rests(_, _ []float32) bool { return true }
func (tallyRate) Update(w, g, _ []float32, s *optimizer.State) {
	for i := range w {
		w[i] -= float32(s.Rate(1, nil)) * g[i]
	}
}
