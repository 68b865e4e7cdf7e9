package fleet

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/gofleet/gofleet/internal/accumulate"
	"github.com/gofleet/gofleet/optimizer"
)

// merging makes a session push as rarely as Strategy.GradientMerge says.
func (f *Fleet) merging(s optimizer.Session, params []*optimizer.Param) optimizer.Session {
	c := f.job.strategy.GradientMerge
	if c.KSteps <= 1 {
		return s
	}
	m := accumulate.New(s, params, c)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.merged = append(slices.DeleteFunc(f.merged, (*accumulate.Session).Over), m)
	return m
}

// pushRest pushes what sessions have gathered for a push that has not come: at an epoch's end nothing more will.
func (f *Fleet) pushRest(ctx context.Context) error {
	f.mu.Lock()
	merged := slices.Clone(f.merged)
	f.mu.Unlock()
	errs := make([]error, len(merged))
	var wg sync.WaitGroup
	for i, m := range merged {
		wg.Go(func() { errs[i] = m.Rest(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
