package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gofleet/gofleet/internal/peer"
	"github.com/gofleet/gofleet/internal/wire"
)

// How often servers that are not there are asked and spoken of, and how long one attempt may take.
const (
	pollInterval = 100 * time.Millisecond
	sayInterval  = 3 * time.Second
	askTimeout   = 3 * time.Second
)

// errSilent is what is known of a server before it was asked.
var errSilent = errors.New("not asked yet")

// awaitServers waits until every server of a range answers, saying every few seconds which do not. A server that
// refuses to talk to this worker at all ends the wait: asking it again would not help. It returns nil when each has
// answered once. The strategy's StartTimeout bounds the wait; ctx and the end of the client end it sooner, with an
// error that names the endpoints that did not answer. All goroutines that ask have ended when it returns.
func (l *link) awaitServers(ctx context.Context, from, to int) error {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, l.strategy.StartTimeout.Std())
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	stop := context.AfterFunc(l.ctx, cancel)
	defer stop()

	answers := make(chan answer)
	// Servers below from answered before: their place stays nil, which counts as ready.
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

// neverCame is the error of a wait that has ended: which servers did not answer, how long they had, what the last
// attempt at one of them gave, and why the wait ended. It wraps wire.ErrMissing and that cause.
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

// answer is how an attempt to reach a server ended: with nil, or why it has not answered.
type answer struct {
	server int
	err    error
}

// ask tries a server until it answers, can't be hoped for, or ctx ends. It makes an attempt every pollInterval, and
// sends the result of each to answers, since the log speaks of the newest reason.
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

// answers is nil if a server of this protocol answers at the endpoint, be it with a refusal. The question is a
// heartbeat of a worker without a life: any answer shows that the server is there.
func (l *link) answers(ctx context.Context, s int) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var b wire.Builder
	b.Reset(wire.Header{Op: wire.OpHeartbeat, Job: l.life.fingerprint, Worker: uint32(l.worker), Version: wire.NoDense})
	question := b.Parts()
	answered, err := peer.Once(ctx, l.transport, l.servers[s], nil, question, nil)
	if answered {
		l.meter.answered(s, &wire.Frame{Size: len(question[0])}) // a header, as the question is
		return nil
	}
	return err
}

// waiting is why each server has not answered, nil where it has.
type waiting []error

// any says whether a server has not answered.
func (w waiting) any() bool { return w.reason() != nil }

// reason is the first server's that has not answered.
func (w waiting) reason() error {
	for _, err := range w {
		if err != nil {
			return err
		}
	}
	return nil
}

// endpoints are the endpoints of servers that have not answered.
func (w waiting) endpoints(all []string) (silent []string) {
	for s, err := range w {
		if err != nil {
			silent = append(silent, all[s])
		}
	}
	return silent
}
