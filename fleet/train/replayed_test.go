package train_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/train"
)

// replayed is what a job's evaluations say that it has decided.
type replayed struct {
	factor, best float64
	stops        int // the evaluation that ends the job, counted from 1; 0 is none
}

// replay decides by a job's evaluations, as the docs of Plateau, EarlyStopping and BestModel say.
func (d drawn) replay(history []train.Evaluation) replayed {
	r, patience := replayed{factor: 1, best: math.Inf(1)}, d.Lower-1
	if patience == 0 {
		patience = 10
	}
	lowest, worse, since := math.Inf(1), 0, 0
	for i, e := range history {
		v := e.Value(nil)
		if since++; v < r.best {
			r.best, since = v, 0
		}
		if since >= d.Patience && r.stops == 0 {
			r.stops = i + 1
		}
		switch worse++; {
		case v < lowest*(1-1e-4):
			lowest, worse = v, 0
		case worse > max(patience, 0):
			worse = 0
			if fall := 0.05 * r.factor * 0.7; fall >= 1e-8 {
				r.factor *= 0.3
			}
		}
	}
	return r
}

// TestHooksFollowTheHistory: in every mode a job that is stopped anywhere and goes on evaluates where an undisturbed one does,
// and its rate, its end and its best model are what all of its evaluations say.
//
// Promise: [G6] in modes that are not in step a job that goes on evaluates where an undisturbed one does, and its
// rate, end and best model are what all its evaluations say
func TestHooksFollowTheHistory(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	play := func(t *testing.T, d drawn, servers int, dir string, stops bool) (got lasting) {
		// servers wait for workers that are gone
		synctest.Test(t, func(t *testing.T) { got = d.play(t, servers, dir, stops) })
		return got
	}
	seeds, falls, stops := 0, 0, 0
	trial.EachSeed(t, 8, func(seed trial.Seed) {
		seeds++
		t.Run(fmt.Sprint(seed.N), func(t *testing.T) {
			d, r := draw(seed.N), rand.New(rand.NewPCG(seed.N, 8))
			d.Servers, d.Again = 1+r.IntN(2), 1+r.IntN(3)
			if d.Mode = []string{"async", "half_async", "ssp", "geo", "local sync"}[r.IntN(5)]; d.Mode == "local sync" {
				d.Servers, d.Again, d.Workers = 0, 0, 2+r.IntN(2)
			}
			whole := play(t, d, d.Servers, t.TempDir(), false)
			dir := t.TempDir()
			play(t, d, d.Servers, dir, true)
			again := play(t, d, d.Again, dir, false)
			upTo := min(len(whole.History), len(again.History))
			for _, got := range []lasting{whole, again} {
				if s := d.replay(got.History).stops; s > 0 { // behind it a job trains on what it has read ahead
					upTo = min(upTo, s)
				}
			}
			for i := range upTo {
				want, got := whole.History[i], again.History[i]
				if got.Epoch != want.Epoch || got.End != want.End || got.Examples != want.Examples {
					t.Errorf("%+v: evaluation %d is %+v, undisturbed %+v", d, i, got, want)
				}
			}
			for _, got := range []lasting{whole, again} {
				want := d.replay(got.History)
				if math.Abs(got.Factor-want.factor) > 1e-9 || math.Abs(got.Best-want.best) > 1e-4 {
					t.Errorf("%+v: the factor is %v, the best model's loss %v; the history says %+v", d, got.Factor,
						got.Best, want)
				}
				// A job that is stopped within an epoch evaluates once more, at its end.
				last, stopped := len(got.History), got.Stopped != ""
				if stopped != (want.stops > 0) || stopped && want.stops != last && want.stops != last-1 {
					t.Errorf("%+v: %q behind %d evaluations; the history says %+v", d, got.Stopped, len(got.History),
						want)
				}
			}
			if again.Factor < 1 {
				falls++
			}
			if again.Stopped != "" {
				stops++
			}
		})
	})
	if falls < seeds/4 || stops < seeds/4 {
		t.Errorf("of %d jobs the rate fell in %d, and %d were stopped early: this shows little", seeds, falls, stops)
	}
}
