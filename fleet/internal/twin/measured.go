package twin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
	"github.com/gofleet/gofleet/strategy"
)

// Of a worker with several threads the ledger alone judges the weights. The averages of batch norm are its own, which
// no other worker moves before they meet: where threads wait for each other, what one of them evaluates between two
// steps has the averages that it saves there. These threads are executors of the program's own, since a thread of
// nn.TrainThreads that takes time behind a step has the others wait for a mutex, where virtual time stands still.

// measures says whether threads of a leg evaluate and save between their steps.
func (l Leg) measures(n Net) bool {
	return n.Norm > 0 && l.Threads > 1 && l.mortal() && len(l.Strikes) == 0 &&
		l.kind() == string(strategy.ModeHalfAsync)
}

// drawMeasures has the threads of a last leg measure, which needs batch norm.
func (p *Program) drawMeasures(may bool) {
	n := p.Net
	if n.Norm = 0.5; may && p.Legs[len(p.Legs)-1].measures(n) {
		p.Net = n
	}
}

// threads train, each with an executor of its own, of which the first measures.
func (r *role) threads(ctx context.Context, at string, c Call, own [][]int) error {
	errs := make([]error, r.l.Threads)
	var running sync.WaitGroup
	for thread := range errs {
		running.Go(func() {
			exe, o := nn.NewExecutor(r.g.Graph), nn.TrainOptions{MayBeEmpty: true}
			exe.SetThread(thread, len(errs))
			if thread == 0 {
				o.Step = func(ctx context.Context, so nn.TrainResult) error {
					return r.measured(ctx, fmt.Sprintf("%s step %d", at, so.Steps))
				}
			}
			_, err := exe.TrainFrom(ctx, r.feeds(share(own, thread, len(errs)), c.pace(r.worker)), o)
			errs[thread] = errors.Join(err, exe.Close(ctx))
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

// measured evaluates and saves, and compares the averages of both.
func (r *role) measured(ctx context.Context, at string) error {
	exe := nn.NewExecutor(r.g.Graph)
	seen, err := exe.Eval(ctx, nil, r.g.Node(normMean), r.g.Node(normVariance))
	if err != nil {
		return err
	}
	evaluated := [][]float64{numbers(seen[0]), numbers(seen[1])}
	if err := exe.Close(ctx); err != nil {
		return err
	}
	dir := r.at(at + " measured")
	if err := r.f.SaveInferenceModel(ctx, dir, nn.Inference(r.g.pred)); err != nil {
		return err
	}
	m, err := serve.Load(dir)
	if err != nil {
		return err
	}
	for _, p := range m.Graph.Params() {
		i := slices.Index(r.p.Net.frozen(), p.Name)
		if i >= 0 && !slices.Equal(wide(p.W), evaluated[i]) {
			return fmt.Errorf("%s: %s is evaluated as %v and saved as %v", at, p.Name, evaluated[i], p.W)
		}
	}
	return nil
}
