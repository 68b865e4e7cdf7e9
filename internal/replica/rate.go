package replica

import (
	"context"

	"github.com/gofleet/gofleet/internal/collective"
	"github.com/gofleet/gofleet/optimizer"
)

// rateOf is the learning rate of a rule in the n-th update.
func (t *Trainer) rateOf(r optimizer.Rule, n int) float64 {
	switch r := r.(type) {
	case optimizer.Rated:
		s := optimizer.State{Step: int64(n), RateFactor: t.Local().RateFactor()}
		return s.Rate(r.LearningRate())
	case optimizer.Wrapper:
		return t.rateOf(r.Unwrap(), n)
	}
	return 0
}

// SetRateFactor implements [backend.Trainer]. Rank 0 sends the factor to all when they next meet: in their next update,
// or with LocalSGD after the exchange.
func (t *Trainer) SetRateFactor(_ context.Context, factor float64) error {
	if _, err := t.ready(); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wanted = factor
	return nil
}

// RateFactor implements [backend.Trainer]. It is the factor that this worker has.
func (t *Trainer) RateFactor(context.Context) (float64, error) { return t.rate(), nil }

func (t *Trainer) rate() float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.wanted != 0 {
		return t.wanted
	}
	return t.Local().RateFactor()
}

// hasNews reports whether there is a factor to send to the others.
func (t *Trainer) hasNews() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.wanted != 0
}

// takeRate broadcasts rank 0's factor, after all have been informed that there is one.
func (t *Trainer) takeRate(ctx context.Context) error {
	t.mu.Lock()
	factor := []float64{t.wanted}
	t.mu.Unlock()
	if err := collective.Broadcast(ctx, t.group, 0, factor); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.wanted == factor[0] { // no other was set meanwhile
		t.wanted = 0
	}
	t.Local().Store().SetRateFactor(factor[0])
	return nil
}
