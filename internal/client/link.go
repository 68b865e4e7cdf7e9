package client

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/awake"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/peer"
	"github.com/gofleet/gofleet/internal/session"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// link is a worker's connection to its servers: requests, their repetition, and signs of life in both directions. It
// lasts as long as the client, and ends it when a server is lost: no worker can train without one.
type link struct {
	worker  int
	servers []string // endpoints
	// life is written while this worker joins, before the first heartbeat begins, and read without a lock after that.
	life life
	// lives are the servers' lives as far as this worker knows: an answer of a process whose place another has taken
	// does not count.
	lives []peer.Life // of servers

	strategy  strategy.Strategy
	transport transport.Transport
	log       *slog.Logger
	pulses    *awake.Pulses
	round     func() mode.Round // that the worker is in

	meter *meter
	tells func(curves bool) []byte
	shows []atomic.Int32 // by server: what the next heartbeat is to tell it, a [wire.Show]
	// heard are the signs of life of servers, and waits what requests wait for. Both have no lock but atomic fields:
	// each request writes them.
	heard hearing
	waits *waits
	asked chan struct{} // has something when a server wants a checkpoint saved
	// besides holds the heartbeats of all servers, and goodbyes to cuts that were given up.
	besides besides
	leaving atomic.Bool // servers may be gone
	hurried atomic.Bool // servers that are gone are not waited for
	late    atomic.Bool // others save for this worker, as server 0 has said last

	ctx context.Context // ends with the client; its cause says what went wrong
	end context.CancelCauseFunc
}

// ErrClosed says that the worker has left.
var ErrClosed = session.ErrClosed

// life is the worker's life in the job.
type life struct {
	number uint32 // counted by server 0; 0 before it has
	job    uint64 // that frames carry: the fingerprint's until server 0 has numbered the life
	// fingerprint is what frames carry of a worker that a server does not know.
	fingerprint uint64
}

// newLink makes the link of a worker that has no life yet. Nothing runs on it before the first heartbeat.
func newLink(c Config) *link {
	ctx, end := context.WithCancelCause(context.Background())
	l := &link{
		worker:    c.Worker,
		servers:   c.Servers,
		lives:     make([]peer.Life, len(c.Servers)),
		life:      life{job: c.Fingerprint.Sum(), fingerprint: c.Fingerprint.Sum()},
		strategy:  c.Strategy,
		transport: c.Transport,
		log:       c.Logger.With("worker", c.Worker),
		pulses:    c.Pulses,
		asked:     make(chan struct{}, 1),
		ctx:       ctx,
		end:       end,
		meter:     newMeter(len(c.Servers)),
		tells:     c.Tells,
		shows:     make([]atomic.Int32, len(c.Servers)),
	}
	l.waits = &waits{log: l.log, servers: c.Servers, why: make([]atomic.Pointer[error], len(c.Servers)),
		told: make([]atomic.Pointer[wire.Beat], len(c.Servers))}
	l.heard = newHearing(len(c.Servers), l.strategy.HeartbeatInterval.Std()+l.pingTimeout())
	return l
}

// stop ends the link, the requests under way and the heartbeats; only the first call does. cause is what requests under
// way fail with. It returns when the goroutines of the link have ended.
func (l *link) stop(cause error) bool {
	l.end(cause)
	return l.besides.stop()
}

// besides are what is done beside callers, and ends with the link.
type besides struct {
	mu   sync.Mutex
	over bool // nothing begins any more
	all  sync.WaitGroup
}

// run does something beside the caller, and says when it is done. Behind stop it does nothing, and done is closed at
// once.
func (b *besides) run(do func()) (done <-chan struct{}) {
	over := make(chan struct{})
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		close(over)
		return over
	}
	b.all.Go(func() { defer close(over); do() })
	return over
}

// stop waits until all is done, and says whether it is the first call.
func (b *besides) stop() bool {
	b.mu.Lock()
	first := !b.over
	b.over = true
	b.mu.Unlock()
	b.all.Wait()
	return first
}

// farewell tells all servers at once that this worker ends, and why. One attempt is enough: who misses it notices the
// silence. It is for a client that ends early; one that leaves as it should sends its goodbyes in Leave. It waits at
// most for a heartbeat's interval, and its requests have a context of their own, since the link's has ended.
func (l *link) farewell() {
	ctx, cancel := context.WithTimeout(context.Background(), min(l.strategy.HeartbeatInterval.Std(), l.pingTimeout()))
	defer cancel()
	ending := wire.Ending{Why: "it was closed", Returns: l.hurried.Load()}
	if ending.Returns {
		ending.Why = "it was asked to end"
	}
	if cause := context.Cause(l.ctx); cause != ErrClosed {
		ending.Why = cause.Error()
		if told := new(wire.Refusal); errors.As(cause, &told) && told.Status == wire.StatusBack {
			ending.Back = told.Text
		}
	}
	_ = l.together(func(s int) error {
		var b wire.Builder
		b.Reset(l.header(s, wire.OpLeave))
		if err := b.JSON(ending); err != nil {
			return err
		}
		_, err := l.once(ctx, s, b.Parts(), nil)
		return err
	})
}

// header begins a frame of the worker to a server. It has the life of that server's process, which anyHeader leaves
// out.
func (l *link) header(server int, op wire.Op) wire.Header {
	h := l.anyHeader(op)
	h.ServerLife = l.lives[server].Known()
	return h
}

// anyHeader is that of a frame to any server.
func (l *link) anyHeader(op wire.Op) wire.Header {
	return wire.Header{Op: op, Job: l.life.job, Worker: uint32(l.worker), Life: l.life.number, Version: wire.NoDense}
}

// counted takes note that a server has answered a request with a number, which therefore counts there for good, or that
// it has brought the first weights. Heartbeats say how many do, so that a server which comes back with less is noticed.
func (l *link) counted(server int) { l.heard.counts[server].Add(1) }

// together does something for every server at once and returns the first error, in the servers' order. It returns when
// all have ended.
func (l *link) together(do func(s int) error) error { return peer.All(len(l.servers), do) }
