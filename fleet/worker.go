package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/internal/client"
	"github.com/gofleet/gofleet/optimizer"
)

// InitWorker joins the job: it waits for the servers (until Strategy.StartTimeout), and brings the first weights: worker 0
// publishes those of its model where servers have none, and all pull. In a collective job it waits for the other workers, and
// all take the weights of worker 0. Alone, there is nothing to wait for.
func (f *Fleet) InitWorker(ctx context.Context) error {
	j, err := f.workerCall("InitWorker")
	if err != nil {
		return err
	}
	if err := f.whole("InitWorker"); err != nil {
		return err
	}
	if f.IsCollective() {
		return f.joinCollective(ctx)
	}
	f.mu.Lock()
	again, c := f.client != nil, f.client
	if !again && !f.IsLocal() {
		c = client.New(client.Config{Worker: f.id.Index, Workers: f.id.Workers, Process: f.process, Servers: f.id.Servers, Layout: j.layout, Rule: j.rule, Strategy: j.strategy, From: f.from,
			Fingerprint: j.fingerprint, Transport: j.transport, Logger: f.log})
		f.client = c
	}
	f.mu.Unlock()
	switch {
	case f.IsLocal():
		return nil
	case again:
		return fmt.Errorf("fleet: InitWorker was called already: %w", ErrOrder)
	}
	if err := c.Join(ctx); err != nil {
		c.Close()
		return fmt.Errorf("fleet: InitWorker: worker %d: %w", f.id.Index, err)
	}
	return nil
}

// StopWorker sends what is still queued, tells the servers that this worker is done, and ends its part in the job. Servers
// end when all workers have stopped. In a collective job it takes part in the steps of workers that have more batches, and
// returns when all have called it. It may be called twice.
func (f *Fleet) StopWorker(ctx context.Context) error {
	if _, err := f.workerCall("StopWorker"); err != nil {
		return err
	}
	if err := f.pushRest(ctx); err != nil {
		return f.explain("StopWorker", err)
	}
	if f.IsCollective() {
		return f.leaveCollective(ctx)
	}
	c, err := f.joined("StopWorker")
	if err != nil || c == nil {
		return err
	}
	err = c.Leave(ctx)
	f.tellStats()
	if err != nil {
		return fmt.Errorf("fleet: StopWorker: %w", err)
	}
	return nil
}

// tellStats logs what a worker has counted, when it ends its part in the job.
func (f *Fleet) tellStats() {
	f.told.Do(func() { f.log.Info("worker has stopped", "worker", f.id.Index, "stats", f.Stats()) })
}

// BarrierWorker waits until every worker has called it, or has left the job. In sync mode it ends this worker's epoch, so
// that others with more batches go on.
func (f *Fleet) BarrierWorker(ctx context.Context) error {
	if _, err := f.workerCall("BarrierWorker"); err != nil {
		return err
	}
	if err := f.pushRest(ctx); err != nil {
		return f.explain("BarrierWorker", err)
	}
	if f.IsCollective() {
		return f.meet(ctx)
	}
	c, err := f.joined("BarrierWorker")
	if err != nil || c == nil {
		return err
	}
	if err := errors.Join(c.Settle(ctx), c.EndEpoch(ctx)); err != nil {
		return fmt.Errorf("fleet: BarrierWorker: %w", err)
	}
	if _, err := c.Gather(ctx, "BarrierWorker", nil); err != nil {
		return fmt.Errorf("fleet: BarrierWorker: %w", err)
	}
	if err := c.Refresh(ctx); err != nil {
		return fmt.Errorf("fleet: BarrierWorker: %w", err)
	}
	return nil
}

func (f *Fleet) workerCall(call string) (*job, error) {
	if !f.IsWorker() {
		return nil, fmt.Errorf("fleet: %s: this is %v; its calls are InitServer and RunServer: %w", call, f, ErrRole)
	}
	return f.minimized(call)
}

// joined is the client of a worker that has called InitWorker; nil without servers, where there is none.
func (f *Fleet) joined(call string) (*client.Client, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.client == nil && len(f.id.Servers) > 0 {
		return nil, fmt.Errorf("fleet: %s: call InitWorker first: %w", call, ErrOrder)
	}
	return f.client, nil
}

// trainer is what an objective is bound to.
type trainer struct{ f *Fleet }

// Open implements [optimizer.Trainer].
func (t trainer) Open(params []*optimizer.Param) (optimizer.Session, error) {
	if _, err := t.f.workerCall("training"); err != nil {
		return nil, err
	}
	if err := t.f.whole("training"); err != nil {
		return nil, err
	}
	s, err := t.open(params)
	if err != nil {
		return nil, err
	}
	return &ordered{inner: t.f.merging(s, params), worker: t.f.id.Index}, nil
}

// SetDense gives a frozen dense param other values, in this process: what training computes without gradients, such as the statistics of
// batch norm.
func (t trainer) SetDense(name string, w []float32) error {
	j, err := t.f.workerCall("training")
	if err != nil {
		return err
	}
	i := slices.IndexFunc(j.layout.Params, func(p *optimizer.Param) bool { return p.Name == name })
	if i < 0 || j.layout.Params[i].Embedding || !j.layout.Params[i].Frozen {
		return fmt.Errorf("fleet: training: param %q is given values: it is not dense and frozen, and training changes it by gradients", name)
	}
	c, err := t.f.joined("training")
	if err != nil {
		return err
	}
	if c == nil {
		err = t.f.local.SetDense(name, w)
	} else {
		err = c.SetDense(name, w)
	}
	if err != nil {
		return fmt.Errorf("fleet: training: %w", err)
	}
	return nil
}

// open starts a session of whatever keeps the weights.
func (t trainer) open(params []*optimizer.Param) (optimizer.Session, error) {
	switch {
	case t.f.IsLocal():
		return t.f.openAlone(params)
	case t.f.IsCollective():
		return t.f.openReplica(params)
	}
	c, err := t.f.joined("training")
	if err != nil {
		return nil, err
	}
	s, err := c.Open(params)
	if err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	return s, nil
}

// EndEpoch implements [optimizer.Trainer].
func (t trainer) EndEpoch(ctx context.Context) error {
	if err := t.f.pushRest(ctx); err != nil {
		return t.f.explain("EndEpoch", err)
	}
	switch {
	case t.f.IsLocal():
		return t.f.local.EndEpoch(ctx)
	case t.f.IsCollective():
		return t.f.explain("EndEpoch", t.f.replica.EndEpoch(ctx))
	}
	c, err := t.f.joined("EndEpoch")
	if err != nil {
		return err
	}
	return c.EndEpoch(ctx)
}
