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

// link is a worker's connection to its servers: requests, their repetition, and heartbeats. It lasts as long as the
// client, and ends it when a server is lost: no worker can train without all servers.
type link struct {
	worker  int
	servers []string // endpoints
	// life is written while this worker joins, before the first heartbeat, and read without a lock after that.
	life life
	// lives holds each server's life, as of its last answer: the answer of a process that another has replaced does not
	// count.
	lives []peer.Life

	strategy  strategy.Strategy
	transport transport.Transport
	log       *slog.Logger
	pulses    *awake.Pulses
	round     func() mode.Round // that the worker is in
	full      func()            // server 0 asks for a cut in which tables make room

	meter *meter
	// heard records the servers' answers, and waits what requests wait for. Both have atomic fields and no lock, since
	// each request writes them.
	heard hearing
	waits *waits
	lines spares[*line]
	asked chan struct{} // holds a value when a server wants a checkpoint saved
	// besides runs the heartbeats to all servers, and messages that give up cuts.
	besides besides
	leaving atomic.Bool // this worker leaves, so that servers may be gone
	hurried atomic.Bool // this process was asked to end: no wait for servers that are gone
	late    atomic.Bool // server 0's last answer: other workers save for this one

	ctx context.Context // ends with the client; its cause says what went wrong
	end context.CancelCauseFunc
}

// ErrClosed is the error of requests after the worker has left.
var ErrClosed = session.ErrClosed

// life is the worker's life in the job.
type life struct {
	number uint32 // given by server 0; 0 before that
	job    uint64 // the job number in frames: the fingerprint's sum until server 0 has numbered the life
	// fingerprint is the job number in frames of a worker that a server has not registered.
	fingerprint uint64
}

// newLink returns the link of a worker that has not joined. No goroutine runs on it before the first heartbeat.
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
	}
	l.waits = &waits{log: l.log, servers: c.Servers, why: make([]atomic.Pointer[error], len(c.Servers)),
		told: make([]atomic.Pointer[wire.Beat], len(c.Servers))}
	l.heard = newHearing(len(c.Servers), l.strategy.HeartbeatInterval.Std()+l.pingTimeout())
	return l
}

// stop ends the link, the requests under way, which fail with cause, and the heartbeats. It returns when the goroutines
// of the link have ended, and reports whether it is the first call.
func (l *link) stop(cause error) bool {
	l.end(cause)
	l.letGo()
	return l.besides.stop()
}

// besides is the set of goroutines that a link runs beside its callers.
type besides struct {
	mu   sync.Mutex
	over bool // stop was called
	all  sync.WaitGroup
}

// run starts do on a goroutine; done is closed when it has returned. After stop it does not start do, and done is
// closed at once.
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

// stop waits for all goroutines and reports whether it is the first call.
func (b *besides) stop() bool {
	b.mu.Lock()
	first := !b.over
	b.over = true
	b.mu.Unlock()
	b.all.Wait()
	return first
}

// farewell sends a goodbye, with the reason, to all servers at once. It makes one attempt: a server that does not get
// it misses the heartbeats. It is for a client that ends early; a worker that leaves in order sends goodbyes in Leave.
// It waits at most for a heartbeat's interval. Its requests have their own context, since the link's has ended.
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
		_, err := l.attempt(ctx, s, b.Parts(), nil)
		return err
	})
}

// header returns the header of a frame to a server, with the life of that server's process.
func (l *link) header(server int, op wire.Op) wire.Header {
	h := l.anyHeader(op)
	h.ServerLife = l.lives[server].Known()
	return h
}

// anyHeader returns the header of a frame to any server.
func (l *link) anyHeader(op wire.Op) wire.Header {
	return wire.Header{Op: op, Job: l.life.job, Worker: uint32(l.worker), Life: l.life.number, Version: wire.NoDense}
}

// counted records that a server has acknowledged a numbered request, which therefore counts there for good, or that it
// has the first weights. Heartbeats carry the count, so that a server that comes back with less is noticed.
func (l *link) counted(server int) { l.heard.counts[server].Add(1) }

// together calls do for every server at once and returns the first error, in the servers' order, when all have
// returned.
func (l *link) together(do func(s int) error) error { return peer.All(len(l.servers), do) }
