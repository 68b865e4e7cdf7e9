package twin

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/transport"
)

// work makes a worker's calls.
func (r *role) work(ctx context.Context) (failed error) {
	r.worker, r.exe = r.f.WorkerIndex(), map[string]*executor{}
	defer r.unserve()
	if from := r.l.From; from.Dir != "" && !from.WeightsOnly {
		r.chain = r.chainOf(from.Dir, from.Only)
	}
	if r.l.read(r.p.Net) && r.worker == 0 {
		way := func(t transport.Transport) transport.Transport { return t }
		if r.order != nil { // its requests arrive when no other does
			way = func(t transport.Transport) transport.Transport { return tapped{t, r.l.Workers, r.order} }
		}
		stop, err := r.reads(ctx, r.l, r.leg, readable{r.network, way})
		if err != nil {
			return err
		}
		defer func() { failed = errors.Join(failed, stop()) }()
	}
	if r.l.Misused && r.l.Servers > 0 && len(r.p.Net.tables()) > 0 {
		if err := r.misuse(ctx); err != nil {
			return err
		}
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
	if r.l.Reads && r.l.Servers > 0 && r.worker == 0 {
		if err := r.pages(ctx); err != nil {
			return err
		}
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

// epochs trains all epochs of a mortal leg, from where the job is.
func (r *role) epochs(ctx context.Context) error {
	r.worker, r.exe = r.f.WorkerIndex(), map[string]*executor{}
	for epoch := r.f.Progress().Epoch; epoch < len(r.l.Calls); epoch++ {
		c := r.l.Calls[epoch]
		if err := r.train(ctx, c.At, c); err != nil {
			return err
		}
		if err := r.f.BarrierWorker(ctx); err != nil {
			return err
		}
		if err := r.f.SetProgress(fleet.Progress{Epoch: epoch + 1}); err != nil {
			return err
		}
		if r.l.drifts() {
			if err := r.f.Checkpoint(ctx); err != nil {
				return err
			}
		}
	}
	if err := r.close(ctx, "same"); err != nil {
		return err
	}
	return r.f.StopWorker(ctx)
}

// alive fails when the process has been killed.
func (r *role) alive() error {
	select {
	case <-r.dead:
		return errKilled
	default:
		return nil
	}
}

// read notes the weights of a checkpoint from which a process begins that does nothing else.
func (r *role) read(ctx context.Context) error {
	defer r.unserve()
	r.g = r.p.graph()
	opt, err := r.f.DistributedOptimizer(r.l.Rules.door(), r.l.Strategy)
	if err != nil {
		return err
	}
	if err := opt.Minimize(r.g.loss); err != nil {
		return err
	}
	if err := r.f.Restore(ctx, r.l.From.Dir, fleet.RestoreOptions{}); err != nil {
		return err
	}
	if err := r.f.InitWorker(ctx); err != nil {
		return err
	}
	at := r.l.End
	if err := r.publish(ctx, at, Call{Dir: at}); err != nil {
		return err
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
	return fmt.Errorf("twin: there is no call %q", c.Do)
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
	var calls []int64 // behind each step
	behind := func(step int, last []*tensor.Dense) error {
		if r.trips != nil {
			calls = append(calls, r.trips.made.Load())
		}
		r.trained(fmt.Sprintf("%s step %d", at, step), own[step], last)
		r.watch(before, "%s step %d", at, step)
		before = r.arrived()
		time.Sleep(c.pace(r.worker))
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
			if err := r.alive(); err != nil {
				return err
			}
			return behind(so.Steps-1+passed(own, so.Passed), so.Last)
		}
		if _, err := exe.TrainFrom(ctx, r.feeds(own, 0), o); err != nil {
			return err
		}
		return r.tripped(at, c, calls)
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
			if !yield(r.p.feed(b, true), r.alive()) {
				return
			}
		}
	}
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

// publish saves a model, a base, or what has changed since the base, and reads it back.
func (r *role) publish(ctx context.Context, at string, c Call) error {
	return r.together(ctx, func() error {
		dir, model := r.at(c.model()), nn.Inference(r.g.pred)
		var err error
		switch {
		case c.Mode == "":
			err = r.f.SaveInferenceModel(ctx, dir, model)
			if err != nil {
				return err
			}
			return errors.Join(r.published(ctx, at, dir), r.ledger(ctx, at))
		case c.Mode == "delta":
			dir = r.at(served) + "/" + c.model()
			err = r.delta(ctx, dir, model)
		default:
			dir = r.at(served) + "/" + c.model()
			err = r.base(ctx, dir, model)
		}
		if err != nil {
			return err
		}
		return errors.Join(r.published(ctx, at, r.chain...), r.ledger(ctx, at))
	})
}

// all has a base or a delta have every row, whatever its score is.
func (n Net) all(mode fleet.SaveMode, model optimizer.Model, published string) fleet.SaveOptions {
	o := fleet.SaveOptions{Mode: mode, Model: model, Published: published}
	if n.rates() {
		o.BaseThreshold, o.DeltaKeepDays = -1, -1
	}
	if n.rates() && mode == fleet.SaveDelta {
		o.DeltaThreshold = -1
	}
	return o
}

// predicted is of how many samples predictions of a saved model are compared.
const predicted = 4

func firstFew() (some []int) {
	for i := range predicted {
		some = append(some, i)
	}
	return some
}

// published notes the weights of a model that was saved, with its deltas, and what it predicts.
func (r *role) published(ctx context.Context, at string, dirs ...string) error {
	m, err := nn.Load(dirs[0], dirs[1:]...)
	if err == nil {
		err = whole(ctx, dirs[len(dirs)-1])
	}
	if err != nil {
		return err
	}
	exe := nn.NewExecutor(m.Graph)
	y, err := exe.Eval(ctx, r.p.feed(firstFew(), false), m.Outputs[0])
	if err := errors.Join(err, exe.Close(ctx)); err != nil {
		return err
	}
	r.see(numbers(y[0]), "%s predicts", at)
	if slices.Equal(dirs, r.chain) { // a whole model has no deltas
		if err := r.scored(ctx, numbers(y[0])); err != nil {
			return err
		}
	}
	for _, p := range m.Graph.Params() {
		if !p.Embedding {
			r.see(wide(p.W), "%s %s", at, p.Name)
			continue
		}
		saved := map[uint64][]float32{}
		err := p.Rows.EachRow(func(ids []uint64, w []float32) error {
			for i, id := range ids {
				saved[id] = slices.Clone(w[i*p.Dim():][:p.Dim()])
				r.see(wide(saved[id]), "%s %s row %d", at, p.Name, id)
			}
			return nil
		})
		if err = errors.Join(err, r.has(ctx, p.Name, saved)); err != nil {
			return err
		}
	}
	return nil
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

func wide(w []float32) (all []float64) {
	for _, v := range w {
		all = append(all, float64(v))
	}
	return all
}
