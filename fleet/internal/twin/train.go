package twin

import (
	"context"
	"fmt"
	"iter"
	"time"

	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/nn"
)

func (r *role) train(ctx context.Context, at string, c Call) error {
	own := c.Batches[r.worker]
	at = fmt.Sprintf("%s worker %d", at, r.worker)
	if n := r.l.Threads; n > 1 && !c.ByHand {
		_, err := nn.TrainThreads(ctx, r.g.Graph, n, func(thread int) iter.Seq2[map[string]*tensor.Dense, error] {
			return r.feeds(share(own, thread, n), c.pace(r.worker))
		}, nn.TrainOptions{MayBeEmpty: true})
		return err
	}
	before, exe := r.arrived(), r.executor("same")
	behind := func(step int, last []*tensor.Dense) error {
		r.trained(fmt.Sprintf("%s step %d", at, step), own[step], last)
		r.watch(before, "%s step %d", at, step)
		before = r.arrived()
		time.Sleep(c.pace(r.worker))
		if err := r.turn(ctx, c, step); err != nil {
			return err
		}
		for _, l := range c.Looks {
			if l.Worker == r.worker && l.Step == step {
				if err := r.look(ctx, fmt.Sprintf("%s behind step %d", at, step), l.Who, own[step]); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if !c.ByHand {
		o := nn.TrainOptions{Fetch: r.fetches(), MayBeEmpty: true}
		o.Step = func(_ context.Context, so nn.TrainResult) error {
			return behind(so.Steps-1+passed(own, so.Passed), so.Last())
		}
		_, err := exe.TrainFrom(ctx, r.feeds(own, 0), o)
		return err
	}
	for step, batch := range own {
		last, err := exe.Train(ctx, r.p.feed(batch, true), r.fetches()...)
		if err == nil {
			err = behind(step, last)
		}
		if err != nil {
			return err
		}
	}
	return nil // a barrier follows, which ends the epoch
}

// trained notes what a training step has read.
func (r *role) trained(at string, batch []int, last []*tensor.Dense) {
	r.see(numbers(last[0]), "%s trains on", at)
	last = last[1:]
	if r.g.drop != nil {
		r.see(r.kept(numbers(last[0])), "%s keeps", at)
		last = last[1:]
	}
	if !r.l.ordered() {
		return
	}
	for i, name := range r.p.Net.variables() {
		r.see(numbers(last[i]), "%s reads %s", at, name)
	}
	for i, t := range r.p.Net.tables() {
		w := numbers(last[len(r.p.Net.variables())+i])
		for k, id := range r.p.ids(i, batch) {
			r.see(w[k*t.Dim:][:t.Dim], "%s reads %s row %d", at, t.Name, id)
		}
	}
}

// kept are the factors of dropout, by what it has left.
func (r *role) kept(left []float64) []float64 {
	for i, v := range left {
		if v != 0 {
			left[i] = float64(1 / (1 - r.p.Net.Drop))
		}
	}
	return left
}

// passed is how many batches have so many samples, the first ones of an epoch.
func passed(batches [][]int, samples int) (n int) {
	for n < len(batches) && samples > 0 {
		samples -= len(batches[n])
		n++
	}
	return n
}

// share are the batches of a thread.
func share(batches [][]int, thread, threads int) (own [][]int) {
	for k := thread; k < len(batches); k += threads {
		own = append(own, batches[k])
	}
	return own
}

// feeds are batches one after the other, each behind a rest.
func (r *role) feeds(batches [][]int, pace time.Duration) iter.Seq2[map[string]*tensor.Dense, error] {
	return func(yield func(map[string]*tensor.Dense, error) bool) {
		for _, b := range batches {
			time.Sleep(pace)
			if !yield(r.p.feed(b, true), nil) {
				return
			}
		}
	}
}
