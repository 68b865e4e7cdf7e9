package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/gofleet/gofleet/nn"
)

// evaluate evaluates with the others, again if a worker has left with its share of the test rows, and calls the hooks.
func (r *Run) evaluate(ctx context.Context, so nn.TrainResult, end bool) error {
	pace := r.meter.drain()
	if c := r.tests.constant; c != nil && r.others.front == 0 { // a worker that comes in the middle waits for the rest
		words, _, err := r.meet(ctx, word{Kind: measures, Ended: end, Sums: c.mine, Of: math.MaxInt32})
		if err != nil {
			return err
		}
		c.gather(words)
	}
	for {
		tallies, told, spreads := r.tests.tallies(), []float64(nil), []float64(nil)
		sums := []float64{float64(so.Samples), float64(so.Passed + r.past.extra), so.Loss * so.Weight, so.Weight}
		if r.tests.rows != nil {
			own, apart, err := measure(ctx, r.tests.exe, r.tests.share(r.others.place, r.others.beside),
				r.tests.nodes(), r.tests.predictions(), tallies, r.tests.constant)
			if err != nil {
				return err
			}
			if err := r.tests.exe.Close(ctx); err != nil {
				return err
			}
			sums, spreads = append(sums, own...), apart
			for _, t := range tallies {
				told = append(told, t.Sums...)
			}
		}
		if r.others.leads {
			if factor, err := r.Fleet.RateFactor(ctx); err == nil {
				pace.LR = r.meter.rate(r.Job.Rule, factor)
			}
		}
		words, _, err := r.meet(ctx, word{Kind: measures, Ended: end, Sums: sums, Chances: told,
			Spreads: spreads, Of: r.others.beside, Pace: pace})
		if err != nil {
			return err
		}
		if complete(words) {
			return r.conclude(ctx, words)
		}
	}
}

// complete reports whether all workers with a share of the test rows have measured it.
func complete(words []word) bool {
	n, of := 0, 0
	for _, w := range words {
		if w.Kind == measures {
			n, of = n+1, max(of, w.Of)
		}
	}
	return n >= of
}

// adopt takes an evaluation that the others have made without this worker, and reports whether it is the epoch's last.
func (r *Run) adopt(ctx context.Context, words []word) (end bool, err error) {
	err = r.conclude(ctx, words)
	return err == nil && r.History[len(r.History)-1].End, err
}

// conclude makes an evaluation of all measurements, and calls the hooks.
func (r *Run) conclude(ctx context.Context, words []word) error {
	e, err := r.tests.join(words)
	if err != nil {
		return err
	}
	e.Epoch, e.Examples = min(r.Epoch+1, r.Job.Epochs), e.Examples+r.past.before
	r.past.middles++
	if e.End {
		r.past.middles = 0
		r.past.partly = part{Trained: e.Examples - r.past.before, Rows: r.shares.all}
		r.past.before, r.others.front, r.past.extra = e.Examples, max(r.others.front, e.Epoch), 0
		for i, w := range words {
			if w.Kind == measures {
				r.past.counted[r.others.here[i]] = e.Epoch
			}
		}
		r.others.miss(r.Epoch)
	}
	var before Pace
	if n := len(r.History); n > 0 {
		before = r.Pace(r.History[n-1])
	}
	r.paces.add(e, before, words)
	r.tests.judge(words)
	r.History = append(r.History, e)
	if r.others.leads {
		label := r.label()
		fmt.Fprintf(r.Job.Stdout, "%s%s: %s\n", r.Pace(e).ofAll(label, r.Fleet.WorkerNum()), label,
			r.tests.describe(e, ""))
		r.tests.warnUnmeasured(e)
		r.tests.warnDead(words, e)
	}
	r.shown.publish(&r.curve, r.History)
	if err := r.hooks.evaluated(ctx, r, e); err != nil {
		return err
	}
	// a job that ends while a worker is in a hook evaluates again
	if _, _, err := r.meet(ctx, word{Kind: acts, Ended: e.End}); err != nil {
		return err
	}
	if err := r.record(); err != nil || e.End { // at an epoch's end all meet in any case
		return err
	}
	_, _, err = r.meet(ctx, word{Kind: acts}) // no worker trains on before the evaluation is recorded
	return err
}

// recall takes a history that is longer than this worker's.
func (r *Run) recall(words []word) error {
	for _, w := range words {
		var m memory
		if w.Kind != recalls || w.Known <= len(r.History) || len(w.History) == 0 {
			continue
		}
		if err := json.Unmarshal(w.History, &m); err != nil {
			return fmt.Errorf("train: the history of another worker: %w", err)
		}
		if err := errors.Join(r.remember(m), r.record()); err != nil { // for the next checkpoints
			return err
		}
		r.paces.recall(r.History, r.hooks)
	}
	return nil
}
