package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gofleet/gofleet/internal/peer"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/transport"
)

// errGone says that a server is not there any more.
var errGone = errors.New("server is gone")

// call is persist, and ends the client when the server says that all go back, as an answer to a heartbeat does, which
// may come too late: so the other servers are told when this worker ends, who may see that before they have that
// server's word. Hellos and goodbyes go by persist alone, and heartbeats by once.
func (l *link) call(ctx context.Context, p patience, server int, req [][]byte, read func(*wire.Frame) error) error {
	err := l.persist(ctx, p, server, req, read)
	if errors.Is(err, wire.ErrWentBack) && l.ctx.Err() == nil {
		l.fail(err)
	}
	return err
}

// persist sends one request to a server and gives the answer to read, which may be nil. While there is no answer, the
// request is repeated until ctx ends or the server has been silent for the strategy's worker timeout.
//
// An answer may be long in coming because the server waits for another worker, or because a message was lost without a
// word. So the request is sent again after a while, which servers count once; p says after how long. An error wraps a
// *peer.Error, which names the server, unless the client itself has ended. read is called for the one answer that
// counts, on the caller's goroutine; it may be called again when it failed, and so must begin anew.
func (l *link) persist(ctx context.Context, p patience, server int, req [][]byte, read func(*wire.Frame) error) error {
	if l.ctx.Err() != nil {
		return l.ended(l.ctx, server)
	}
	ctx, leave := peer.Bound(ctx, l.ctx)
	defer leave()
	now := time.Now()
	defer l.meter.asked(server, req, now)
	a := asking{l: l, server: server, patience: p, began: now, limit: now.Add(l.strategy.WaitTimeout.Std() + p.more)}
	return peer.Repeat(ctx, pauses, func() (peer.Verdict, error) {
		answered, err := l.attempt(ctx, min(a.patience.wait, time.Until(a.limit)), server, req, read)
		if err != nil && ctx.Err() != nil && !errors.Is(err, wire.ErrWentBack) { // which is an answer
			return peer.Done, l.ended(ctx, server)
		}
		return a.judge(answered, err)
	})
}

// patiently is a call that carries data, or which waits for other workers. It is [exchange.Servers.Call]: pushes, pulls
// and peeks of all sessions. The log speaks of it when it takes long.
func (l *link) patiently(ctx context.Context, server int, req [][]byte, read func(*wire.Frame) error) error {
	stop := l.waits.watch(server)
	defer stop()
	return l.call(ctx, l.patience(), server, req, read)
}

// asking is a request under way to a server, and what its attempts have shown so far.
type asking struct {
	l *link
	// server is the index that the request goes to, patience how long its next attempt may take.
	server   int
	patience patience
	// began is when the first attempt was made, and limit when the request fails though the server lives. The limit
	// moves on while a worker that the server waits for computes.
	began, limit time.Time
	out          outage
}

// judge says what follows an attempt. It ends the request for an answer, be it a refusal, for a server that can't be
// talked to, and for one that has been silent for the strategy's ServerTimeout. A server that ends for good is given up
// sooner where this worker leaves or was asked to end. Everything else is tried again after a pause.
func (a *asking) judge(answered bool, err error) (peer.Verdict, error) {
	switch {
	case err == nil:
		return peer.Done, nil
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

// hopeless says that the two sides do not trust or understand each other, which repeating does not change. Their
// tokens, codecs, frame limits or versions of frames do not fit.
func hopeless(err error) bool {
	return errors.Is(err, transport.ErrRefused) || errors.Is(err, transport.ErrTooLarge) ||
		errors.Is(err, wire.ErrVersion)
}

// over says that a worker that leaves need wait no longer for a server where nothing listened: it has ended when all
// had left, on a network that loses messages besides.
func (a *asking) over() bool { return a.out.nobody && a.l.leaving.Load() }

// reason is why a server's door did not let a request in. A large request is turned away before it is read, in words of
// the transport; to a small one the server says what has happened to the job. It asks by a heartbeat, which is small. A
// worker without a life number asks nothing.
func (l *link) reason(server int, err error) error {
	if l.life.number > 0 {
		if says := l.ping(server); isRefusal(says) {
			return says
		}
	}
	return err
}

// slow is for an attempt that the server took and has not answered: the next one is given more time. The request fails
// when its limit has come, or when the server has answered nothing for the strategy's ServerTimeout, not even
// heartbeats. Else the wait for the next attempt grows, up to four worker timeouts.
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

// silence is how long a server has answered neither a request that was begun then nor anything else. A request that
// waits for other workers is long in coming, but meanwhile heartbeats are answered; before the first heartbeat and
// after the worker has left there are only requests that wait for no worker.
func (l *link) silence(server int, began time.Time) time.Duration {
	return min(time.Since(began), l.heard.since(server))
}

// pauses are the pauses between attempts at a server that does not answer.
var pauses = peer.Pauses{First: 10 * time.Millisecond, Last: time.Second}

// goneAfter is how long nothing listens where a server was before it counts as ended. A single refusal may come from a
// server that is busy.
const goneAfter = 300 * time.Millisecond

// goneAfter is the same for a worker that leaves: a server with a journal that has ended comes back, and wants to be
// told.
func (l *link) goneAfter() time.Duration {
	if l.strategy.Recovery.Journal != "" {
		return l.strategy.WorkerTimeout.Std()
	}
	return goneAfter
}

// outage is a run of failed attempts.
type outage struct {
	// began is the time of the first of them; zero before any.
	began       time.Time
	unreachable time.Time // since when nothing has listened; zero if the last did not
	nobody      bool      // one has
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

// gone says that nothing has listened there for so long.
func (o *outage) gone(after time.Duration) bool {
	return !o.unreachable.IsZero() && time.Since(o.unreachable) > after
}

// patience is how long to wait for an answer before the request is sent again, by how much longer each time, and how
// much longer than the strategy's wait timeout altogether. wait and more are durations, grow is a factor: 1 repeats at
// an even pace, 2 waits twice as long each time.
type patience struct{ wait, grow, more time.Duration }

// patience is that for requests which carry data, or which wait for other workers.
func (l *link) patience() patience { return patience{wait: l.strategy.WorkerTimeout.Std(), grow: 2} }

// controlPatience is that for small requests, which may wait for other workers.
func (l *link) controlPatience() patience { return patience{wait: l.pingTimeout(), grow: 2} }

// joinPatience is that for what is answered at once, by a server that soon will miss this worker's heartbeats, or has
// ended when the last worker has left and answers none. A worker that joins may have to wait until the life before has
// missed heartbeats, one that leaves until a server that has ended does not come back: however short waits for other
// workers are, that takes up to a worker timeout.
func (l *link) joinPatience() patience {
	return patience{wait: l.pingTimeout(), grow: 1, more: l.strategy.WorkerTimeout.Std()}
}

// longestWait bounds how long a message that was lost without a word can hold up everybody.
func (l *link) longestWait() time.Duration { return 4 * l.strategy.WorkerTimeout.Std() }

// errSlow says that an attempt was given up for another.
var errSlow = errors.New("no answer yet")

// attempt is once, given up with errSlow when there is no answer for so long. An attempt whose own time is up leaves
// the request alone: only ctx ends that.
func (l *link) attempt(ctx context.Context, patience time.Duration, server int, req [][]byte,
	read func(*wire.Frame) error) (bool, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errSlow)
	defer cancel()
	answered, err := l.once(ctx, server, req, read)
	if err != nil && !answered && errors.Is(context.Cause(ctx), errSlow) {
		err = errSlow
	}
	return answered, err
}

// once makes one attempt and says whether the server answered it. It repeats nothing. An answer that carries another
// job's number is an error: a process of another run may have the endpoint now. A good answer counts as a sign of life
// of the server.
func (l *link) once(ctx context.Context, server int, req [][]byte, read func(*wire.Frame) error) (answered bool,
	err error) {
	life := &l.lives[server]
	if l.life.number == 0 { // the server may be started anew yet
		life = nil
	}
	l.meter.tried(server, req)
	return peer.Once(ctx, l.transport, l.servers[server], life, req, func(f *wire.Frame) error {
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
}

// ended is why a call ended before its answer; what ended the client says itself which server it is about. An error
// that ended the client goes first, such as a server that was lost; a plain Close leaves ctx's own cause.
func (l *link) ended(ctx context.Context, server int) error {
	if cause := context.Cause(l.ctx); cause != nil && cause != ErrClosed {
		return cause
	}
	return l.name(server, context.Cause(ctx))
}

// name says which server an error is about.
func (l *link) name(server int, err error) error {
	e := &peer.Error{Role: "server", Index: server, Endpoint: l.servers[server], Worker: l.worker,
		Err: fmt.Errorf("server %d (%s): %w", server, l.servers[server], err)}
	if told := l.waits.told[server].Load(); told != nil {
		e.Awaits = told.Waits
	}
	return e
}

// control sends a control message, nil for none, and reads the answer's into answer, nil for none. msg and answer are
// encoded as JSON. The frame carries the round that this worker is in, which a server must have reached before it reads
// weights for the answer. It returns when the server has answered or the request has failed.
func (l *link) control(ctx context.Context, server int, op wire.Op, msg, answer any) error {
	p, call := l.controlPatience(), l.call
	if op == wire.OpJoin || op == wire.OpHello || op == wire.OpLeave {
		p, call = l.joinPatience(), l.persist // who is not let in goes back alone
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
	return call(ctx, p, server, b.Parts(), func(f *wire.Frame) error {
		if answer == nil {
			return nil
		}
		return f.JSON(answer)
	})
}
