package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gofleet/gofleet/internal/awake"
	"github.com/gofleet/gofleet/internal/peer"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/transport"
)

// errGone is the error of a request to a server that has ended.
var errGone = errors.New("server is gone")

// Do sends one request to a server and gives the answer to read, which may be nil. It is for requests that carry data
// or wait for other workers: pushes, pulls and peeks of all sessions. It is [exchange.Servers.Call].
func (l *link) Do(ctx context.Context, server int, req [][]byte, read func(*wire.Frame) error) error {
	return l.do(ctx, l.patience(), server, req, read)
}

// do repeats a request until it is answered, ctx ends or the server has been silent for the strategy's ServerTimeout.
//
// An answer may take long because the server waits for another worker, or because a message was lost. So do sends the
// request again after a while, which p gives; the server counts it once. An error wraps a *peer.Error, which names the
// server, unless the client itself has ended. read runs on the caller's goroutine, for the one answer that counts. It
// may run again after it has failed, so it must start from nothing each time.
//
// The answer wire.ErrWentBack ends the client: the job goes back to a checkpoint. A heartbeat's answer ends it too, but
// may come too late. The client's goodbye then passes the reason on to the other servers, which may notice that this
// worker has ended before they have the reason from that server.
func (l *link) do(ctx context.Context, p patience, server int, req [][]byte, read func(*wire.Frame) error) error {
	if l.ctx.Err() != nil {
		return l.ended(l.ctx, server)
	}
	now := time.Now()
	if p.watched {
		defer l.waits.watch(server, now).stop()
	}
	defer l.meter.asked(server, req, now)
	a := asking{l: l, server: server, patience: p, began: now, limit: now.Add(l.strategy.WaitTimeout.Std() + p.more)}
	for pause := pauses.First; ; pause = min(2*pause, pauses.Last) {
		last := l.over(ctx)
		line := l.line(ctx, now, min(a.patience.wait, a.limit.Sub(now)))
		answered, err := l.attempt(line, server, req, read)
		l.hangUp(line)
		verdict, err := a.judge(ctx, answered, err)
		if errors.Is(err, wire.ErrWentBack) && !p.joins && l.ctx.Err() == nil {
			l.fail(err)
		}
		if verdict == peer.Done || last {
			return err
		}
		if verdict == peer.Pause {
			resting, leave := peer.Bound(ctx, l.ctx)
			_ = awake.Rest(resting, pause) // the attempt after its end is the last, whose error can give the reason
			leave()
		}
		now = time.Now()
	}
}

// over reports whether a request ends, with its caller's context or with the client.
func (l *link) over(ctx context.Context) bool { return ctx.Err() != nil || l.ctx.Err() != nil }

// asking is a request under way to a server, with the results of its attempts so far.
type asking struct {
	l *link
	// server is the index of the server, patience how long the next attempt may take.
	server   int
	patience patience
	// began is the time of the first attempt. At limit the request fails even if the server lives. The limit moves on
	// while the server waits for a worker that computes.
	began, limit time.Time
	out          outage
}

// judge decides what follows an attempt. The request ends with an answer, even a refusal; with a server that can't be
// talked to (hopeless); and with a server that has been silent for the strategy's ServerTimeout. A server whose port is
// closed is given up sooner if this worker leaves or was asked to end. Every other error is tried again after a pause.
func (a *asking) judge(ctx context.Context, answered bool, err error) (peer.Verdict, error) {
	switch {
	case err == nil:
		return peer.Done, nil
	case a.l.over(ctx) && !errors.Is(err, wire.ErrWentBack): // ErrWentBack is an answer
		return peer.Done, a.l.ended(ctx, a.server)
	case errors.Is(err, errSlow):
		return a.slow()
	case answered && !errors.Is(err, wire.ErrNotReady):
		return peer.Done, a.l.name(a.server, err)
	case hopeless(err):
		return peer.Done, a.l.name(a.server, a.l.reason(a.server, err))
	}
	a.out.add(err)
	a.l.waits.failed(a.server, err)
	switch silent := min(time.Since(a.out.began), a.l.heard.since(a.server)); {
	case a.out.gone(a.l.goneAfter()) && a.l.leaving.Load(), a.out.gone(endedAfter) && a.l.hurried.Load():
		return peer.Done, a.l.name(a.server, errGone)
	case silent > a.l.strategy.ServerTimeout().Std() && a.over():
		return peer.Done, a.l.name(a.server, errGone)
	case silent > a.l.strategy.ServerTimeout().Std():
		return peer.Done, a.l.name(a.server, fmt.Errorf("no answer for %v: %w", silent.Round(time.Millisecond), err))
	}
	return peer.Pause, err
}

// hopeless reports whether the two sides do not trust or understand each other, which another attempt does not change:
// their tokens, codecs, frame limits or frame versions do not fit.
func hopeless(err error) bool {
	return errors.Is(err, transport.ErrRefused) || errors.Is(err, transport.ErrTooLarge) ||
		errors.Is(err, wire.ErrVersion)
}

// over reports whether a worker that leaves may stop waiting for a silent server where nothing listened at some time:
// that server has ended, after all workers had left, and the network loses messages as well.
func (a *asking) over() bool { return a.out.nobody && a.l.leaving.Load() }

// reason returns why a server rejects a request. The transport rejects a large request before it is read, with an error
// of its own; a small one gets the server's answer, which says what has happened to the job. So reason sends a
// heartbeat, which is small, and returns its refusal if there is one, else err. A worker without a life number sends
// nothing.
func (l *link) reason(server int, err error) error {
	if l.life.number > 0 {
		if says := l.ping(server); isRefusal(says) {
			return says
		}
	}
	return err
}

// slow decides what follows an attempt that the server took and has not answered. The request fails at its limit, or
// when the server has answered nothing for the strategy's ServerTimeout, not even heartbeats. Else the next attempt
// gets more time, at most longestWait.
func (a *asking) slow() (peer.Verdict, error) {
	silent, st := a.l.silence(a.server, a.began), &a.l.strategy
	if a.l.waits.computes(a.server) {
		a.limit = a.began.Add(min(time.Since(a.began)+st.WaitTimeout.Std(), st.LongestWait().Std()))
	}
	switch {
	case !time.Now().Before(a.limit):
		return peer.Done, a.l.name(a.server, fmt.Errorf("no answer within %v, it %s: %w", a.limit.Sub(a.began),
			a.l.waits.of(a.server), context.DeadlineExceeded))
	case silent > st.ServerTimeout().Std() && a.over():
		return peer.Done, a.l.name(a.server, errGone)
	case silent > st.ServerTimeout().Std():
		return peer.Done, a.l.name(a.server, fmt.Errorf("it takes requests and has answered none for %v: %w",
			silent.Round(time.Millisecond), context.DeadlineExceeded))
	}
	a.patience.wait = min(a.patience.wait*a.patience.grow, a.l.longestWait())
	a.out = outage{nobody: a.out.nobody}
	return peer.Again, errSlow
}

// silence returns for how long a server has answered neither a request that began at began nor anything else. A request
// that waits for other workers takes long, but heartbeats are answered meanwhile. Before the first heartbeat, and after
// the worker has left, no request waits for other workers.
func (l *link) silence(server int, began time.Time) time.Duration {
	return min(time.Since(began), l.heard.since(server))
}

// pauses are the pauses between attempts at a server that does not answer.
var pauses = peer.Pauses{First: 10 * time.Millisecond, Last: time.Second}

// goneAfter is how long nothing must listen at a server's endpoint until the server counts as ended. A busy server may
// refuse a single connection.
const goneAfter = 300 * time.Millisecond

// goneAfter returns how long a worker that leaves goes on trying an endpoint where nothing listens. A server with a
// journal comes back after it has ended, and must get the goodbye.
func (l *link) goneAfter() time.Duration {
	if l.strategy.Recovery.Journal != "" {
		return l.strategy.WorkerTimeout.Std()
	}
	return goneAfter
}

// outage is a run of failed attempts.
type outage struct {
	// began is the time of the first failed attempt; zero before any.
	began       time.Time
	unreachable time.Time // since when nothing has listened; zero if the last attempt failed otherwise
	nobody      bool      // nothing listened at one of the attempts
}

// add counts one more failed attempt, which ended with err.
func (o *outage) add(err error) {
	now := time.Now()
	if o.began.IsZero() {
		o.began = now
	}
	o.nobody = o.nobody || errors.Is(err, transport.ErrUnreachable)
	switch {
	case !errors.Is(err, transport.ErrUnreachable):
		o.unreachable = time.Time{}
	case o.unreachable.IsZero():
		o.unreachable = now
	}
}

// gone reports whether nothing has listened at the endpoint for longer than after.
func (o *outage) gone(after time.Duration) bool {
	return !o.unreachable.IsZero() && time.Since(o.unreachable) > after
}

// patience is how long an attempt waits for an answer before the request is sent again (wait), the factor by which this
// grows with each attempt (grow; 1 repeats at an even pace), and how much longer than the strategy's WaitTimeout the
// request may take altogether (more). A log line reports a watched request that takes long. To one that joins or
// leaves, ErrWentBack is an answer that concerns this worker alone.
type patience struct {
	wait, grow, more time.Duration
	watched, joins   bool
}

// patience returns the patience of requests that carry data or wait for other workers.
func (l *link) patience() patience {
	return patience{wait: l.strategy.WorkerTimeout.Std(), grow: 2, watched: true}
}

// controlPatience returns the patience of small requests, which may wait for other workers.
func (l *link) controlPatience() patience { return patience{wait: l.pingTimeout(), grow: 2} }

// joinPatience returns the patience of hellos and goodbyes, which a server answers at once. A worker that joins may
// have to wait until the server has missed the heartbeats of the life before. One that leaves may have to wait until a
// server that has ended does not come back. Both take up to a worker timeout, however short the WaitTimeout is.
func (l *link) joinPatience() patience {
	return patience{wait: l.pingTimeout(), grow: 1, more: l.strategy.WorkerTimeout.Std(), joins: true}
}

// longestWait bounds how long a lost message can hold up all workers.
func (l *link) longestWait() time.Duration { return 4 * l.strategy.WorkerTimeout.Std() }

// errSlow is the error of an attempt that was given up for the next.
var errSlow = errors.New("no answer yet")

// attempt makes one attempt and reports whether the server answered it. It returns errSlow when that is why ctx ended
// before an answer. An answer with another job's number is an error: a process of another run may have the endpoint
// now. A good answer counts as a sign of life of the server.
func (l *link) attempt(ctx context.Context, server int, req [][]byte, read func(*wire.Frame) error) (answered bool,
	err error) {
	life := &l.lives[server]
	if l.life.number == 0 { // before this worker joins, the server may still be restarted
		life = nil
	}
	l.meter.tried(server, req)
	answered, err = peer.Once(ctx, l.transport, l.servers[server], life, req, func(f *wire.Frame) error {
		l.meter.answered(server, f)
		if f.Job != l.life.job {
			return fmt.Errorf("the answer is not of this worker's run of the job: %w", wire.ErrMismatch)
		}
		l.heard.now(server)
		if read == nil {
			return nil
		}
		return read(f)
	})
	if err != nil && !answered && errors.Is(context.Cause(ctx), errSlow) {
		err = errSlow
	}
	return answered, err
}

// ended returns why a call ended before its answer. An error that ended the client goes first, such as a lost server,
// which it names itself; after a plain Close, ctx's own cause is returned.
func (l *link) ended(ctx context.Context, server int) error {
	cause := context.Cause(l.ctx)
	if cause != nil && cause != ErrClosed {
		return cause
	}
	return l.name(server, cmp.Or(context.Cause(ctx), cause))
}

// name adds to an error which server it is about, and what that server waited for at its last heartbeat.
func (l *link) name(server int, err error) error {
	e := &peer.Error{Role: "server", Index: server, Endpoint: l.servers[server], Worker: l.worker,
		Err: fmt.Errorf("server %d (%s): %w", server, l.servers[server], err)}
	if told := l.waits.told[server].Load(); told != nil {
		e.Awaits = told.Waits
	}
	return e
}

// control sends a control message and reads the answer into answer, both as JSON; nil stands for no message, and for no
// answer to read. The frame carries this worker's round, which a server must have reached before it reads weights for
// the answer. control returns when the server has answered or the request has failed.
func (l *link) control(ctx context.Context, server int, op wire.Op, msg, answer any) error {
	p := l.controlPatience()
	if op == wire.OpJoin || op == wire.OpHello || op == wire.OpLeave {
		p = l.joinPatience()
	}
	var b wire.Builder
	h := l.header(server, op)
	h.Round = uint64(l.round())
	b.Reset(h)
	if msg != nil {
		if err := b.JSON(msg); err != nil {
			return err
		}
	}
	return l.do(ctx, p, server, b.Parts(), func(f *wire.Frame) error {
		if answer == nil {
			return nil
		}
		return f.JSON(answer)
	})
}
