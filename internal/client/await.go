package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gofleet/gofleet/internal/peer"
	"github.com/gofleet/gofleet/internal/wire"
)

// The interval of attempts to reach a server, the interval of log lines about servers that do not answer, and the
// longest time of one attempt.
const (
	pollInterval = 100 * time.Millisecond
	sayInterval  = 3 * time.Second
	askTimeout   = 3 * time.Second
)

// errSilent is the state of a server before the first attempt.
var errSilent = errors.New("not asked yet")

// awaitServers waits until each server from index from up to index to-1 has answered once. Every few seconds it logs
// which servers have not. The strategy's StartTimeout bounds the wait; ctx and the end of the client end it sooner,
// with an error that names the endpoints that did not answer. A server that refuses this worker for good (hopeless)
// ends the wait at once, since another attempt would fail too. All goroutines that ask have ended when awaitServers
// returns.
func (l *link) awaitServers(ctx context.Context, from, to int) error {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, l.strategy.StartTimeout.Std())
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	stop := context.AfterFunc(l.ctx, cancel)
	defer stop()

	answers := make(chan answer)
	// Servers below from have answered before: their entry stays nil, which counts as ready.
	wait := make(waiting, to)
	for s := from; s < to; s++ {
		wait[s] = errSilent
		asking.Go(func() { l.ask(ctx, s, answers) })
	}
	say := time.NewTicker(sayInterval)
	defer say.Stop()
	for wait.any() {
		select {
		case a := <-answers:
			if hopeless(a.err) {
				return l.name(a.server, a.err)
			}
			wait[a.server] = a.err
		case <-say.C:
			l.log.Warn("server not ready, still waiting", "not ready endpoints", wait.endpoints(l.servers),
				"waited", time.Since(began).Round(time.Second), "why", wait.reason())
		case <-ctx.Done():
			return l.neverCame(wait, time.Since(began), context.Cause(ctx))
		}
	}
	return nil
}

// neverCame is the error of a wait that has ended. It names the servers that did not answer, how long the wait took,
// the error of the last attempt at one of them, and why the wait ended. It wraps wire.ErrMissing and that cause.
func (l *link) neverCame(wait waiting, waited time.Duration, cause error) error {
	if l.ctx.Err() != nil {
		cause = context.Cause(l.ctx)
	}
	silent := wait.endpoints(l.servers)
	ready := fmt.Sprintf("%d of %d ready", len(wait)-len(silent), len(l.servers))
	return fmt.Errorf("servers %v not ready after %v (%s; the last attempt: %v): are they running, and can this "+
		"machine reach them? %w: %w",
		silent, waited.Round(time.Millisecond), ready, wait.reason(), wire.ErrMissing, cause)
}

// answer is the result of an attempt to reach a server: nil if the server has answered, else why not.
type answer struct {
	server int
	err    error
}

// ask makes an attempt at a server every pollInterval until the server answers, an error is hopeless, or ctx ends. It
// sends the result of each attempt to answers, so that the log gives the newest reason.
func (l *link) ask(ctx context.Context, s int, answers chan<- answer) {
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	for {
		err := l.answers(ctx, s)
		select {
		case answers <- answer{s, err}:
		case <-ctx.Done():
			return
		}
		if err == nil || hopeless(err) {
			return
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return
		}
	}
}

// answers makes one attempt at a server. It returns nil if a server of this protocol answers at the endpoint, even with
// a refusal. The request is a heartbeat of a worker without a life number: any answer shows that the server runs.
func (l *link) answers(ctx context.Context, s int) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var b wire.Builder
	b.Reset(wire.Header{Op: wire.OpHeartbeat, Job: l.life.fingerprint, Worker: uint32(l.worker), Version: wire.NoDense})
	question := b.Parts()
	answered, err := peer.Once(ctx, l.transport, l.servers[s], nil, question, nil)
	if answered {
		l.meter.answered(s, &wire.Frame{Size: len(question[0])}) // an answer is a header, as long as the question
		return nil
	}
	return err
}

// waiting holds, by server, why it has not answered; nil if it has.
type waiting []error

// any reports whether a server has not answered.
func (w waiting) any() bool { return w.reason() != nil }

// reason returns the error of the first server that has not answered, nil if all have.
func (w waiting) reason() error { return cmp.Or(w...) }

// endpoints returns the endpoints of the servers that have not answered.
func (w waiting) endpoints(all []string) (silent []string) {
	for s, err := range w {
		if err != nil {
			silent = append(silent, all[s])
		}
	}
	return silent
}
