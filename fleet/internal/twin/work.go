package twin

import (
	"context"
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/nn"
	"gorgonia.org/tensor"
)

// work makes a worker's calls.
func (r *role) work(ctx context.Context) error {
	r.worker, r.exe = r.f.WorkerIndex(), map[string]*executor{}
	defer r.unserve()
	if from := r.l.From; from.Dir != "" && !from.WeightsOnly {
		r.chain = r.chainOf(from.Dir, from.Only)
	}
	for k, c := range r.l.Calls {
		if err := r.call(ctx, c.At, c); err != nil {
			return fmt.Errorf("call %d, %s: %w", k, c.Do, err)
		}
	}
	if err := r.f.BarrierWorker(ctx); err != nil {
		return err
	}
	at := r.l.End
	if r.l.agrees() {
		y, err := r.executor("same").Eval(ctx, r.p.feed(firstFew(), false), r.g.pred)
		if err != nil {
			return err
		}
		r.see(numbers(y[0]), "%s worker %d copies", at, r.worker)
	}
	if err := r.publish(ctx, at, Call{Dir: at}); err != nil {
		return err
	}
	if r.l.tells() {
		factor, err := r.f.RateFactor(ctx)
		if err != nil {
			return err
		}
		r.see([]float64{factor}, "%s rate", at)
	}
	s := r.f.Stats()
	r.see([]float64{float64(s.Work.Examples)}, "%s worker %d trains examples", at, r.worker)
	if c := s.Counts; !r.l.copies() {
		r.see([]float64{float64(c.Steps)}, "%s worker %d steps", at, r.worker)
		r.see([]float64{float64(c.Rows + c.Dropped)}, "%s worker %d pushes rows", at, r.worker)
		r.see([]float64{float64(c.NotFinite)}, "%s worker %d guards", at, r.worker)
		if r.l.known() {
			r.see([]float64{float64(c.Pushes), float64(c.Stale)}, "%s worker %d counts pushes", at, r.worker)
		}
	}
	if r.l.Servers == 0 {
		r.held()
	}
	for _, exe := range r.exe {
		if err := exe.Close(ctx); err != nil {
			return err
		}
	}
	return r.f.StopWorker(ctx)
}

// together makes a call of worker 0 between two barriers.
func (r *role) together(ctx context.Context, do func() error) error {
	if err := r.f.BarrierWorker(ctx); err != nil {
		return err
	}
	if r.worker == 0 {
		if err := do(); err != nil {
			return err
		}
	}
	return r.f.BarrierWorker(ctx)
}

func (r *role) call(ctx context.Context, at string, c Call) error {
	switch c.Do {
	case train:
		return r.train(ctx, at, c)
	case look:
		return r.look(ctx, fmt.Sprintf("%s worker %d", at, r.worker), c.Who, c.Samples)
	case reopen:
		return r.close(ctx, "same")
	case barrier:
		return r.f.BarrierWorker(ctx)
	case rate:
		return r.together(ctx, func() error { return r.f.SetRateFactor(ctx, c.Factor) })
	case shrink:
		return r.shrink(ctx, at, c)
	case save:
		return r.together(ctx, func() error {
			if err := r.f.SavePersistables(ctx, r.at(c.Dir), c.Only...); err != nil {
				return err
			}
			return r.inspect(ctx, at, c.Dir)
		})
	case batch:
		o := fleet.SaveOptions{Mode: fleet.SaveBatch, Shrink: c.shrinks()}
		if err := r.f.BarrierWorker(ctx); err != nil {
			return err
		}
		if _, err := r.f.SaveModel(ctx, r.at(c.Dir), o); err != nil {
			return err
		}
		return r.together(ctx, func() error { return r.inspect(ctx, at, c.Dir) })
	case load:
		return r.load(ctx, c.Dir, c.Only)
	case publish:
		return r.publish(ctx, at, c)
	}
	return fmt.Errorf("twin: unknown call %q", c.Do)
}

// executor is one of the worker's.
type executor struct{ *nn.Executor }

// executor is that of a name, made when it is asked for; "fresh" is a new one each time.
func (r *role) executor(name string) *executor {
	if r.exe[name] == nil {
		r.exe[name] = &executor{nn.NewExecutor(r.g.Graph)}
	}
	return r.exe[name]
}

func (r *role) close(ctx context.Context, name string) error {
	exe := r.exe[name]
	if exe == nil {
		return nil
	}
	delete(r.exe, name)
	return exe.Close(ctx)
}

func (r *role) look(ctx context.Context, at, who string, samples []int) error {
	before := r.arrived()
	got, err := r.executor(who).Eval(ctx, r.p.feed(samples, false), r.g.pred)
	if err != nil {
		return fmt.Errorf("an evaluation by the %s executor: %w", who, err)
	}
	r.see(numbers(got[0]), "%s sees", at)
	r.watch(before, "%s sees", at)
	if who == "fresh" {
		return r.close(ctx, who)
	}
	return nil
}

func numbers(t *tensor.Dense) (all []float64) {
	for _, v := range t.Data().([]float32) {
		all = append(all, float64(v))
	}
	return all
}

// fetches of a training step: predictions first, then, where the order of pushes decides, all that a step reads.
func (r *role) fetches() []*nn.Node {
	all := []*nn.Node{r.g.pred}
	if r.g.drop != nil {
		all = append(all, r.g.drop)
	}
	if r.l.ordered() {
		all = slices.Concat(all, r.g.dense, r.g.rows)
	}
	if r.g.beside != nil {
		all = append(all, r.g.beside)
	}
	return all
}

func (c Call) shrinks() fleet.ShrinkOptions {
	return fleet.ShrinkOptions{Unseen: uint32(c.Unseen), Decay: c.Decay, MinScore: c.Least}
}

func (r *role) shrink(ctx context.Context, at string, c Call) error {
	if err := r.f.BarrierWorker(ctx); err != nil {
		return err
	}
	freed, err := r.f.Shrink(ctx, c.shrinks())
	if err != nil {
		return err
	}
	for _, t := range r.p.Net.tables() {
		r.see([]float64{float64(freed[t.Name].Rows)}, "%s dropped of %s", at, t.Name)
	}
	return r.f.BarrierWorker(ctx)
}

// load has running servers, or this process alone, take a checkpoint.
func (r *role) load(ctx context.Context, dir string, only []string) error {
	r.chain = r.chainOf(dir, only)
	return r.together(ctx, func() error { return r.f.LoadModel(ctx, r.at(dir), only...) })
}

// ledger notes the ledger's rows, which no model has.
func (r *role) ledger(ctx context.Context, at string) error {
	if !r.p.Net.Ledger {
		return nil
	}
	for row, err := range r.f.Rows(ctx, ledgerName) {
		if err != nil {
			return err
		}
		r.see(wide(row.W), "%s %s row %d", at, ledgerName, row.ID)
	}
	return nil
}
