package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/update"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// Config is what a server is made of.
type Config struct {
	Index   int
	Workers int
	// Endpoints are those of all servers; Endpoints[Index] is this one's.
	Endpoints []string
	Layout    *layout.Layout
	Rule      optimizer.Rule
	// Strategy has its defaults filled in.
	Strategy    strategy.Strategy
	Fingerprint layout.Fingerprint
	Transport   transport.Transport
	Logger      *slog.Logger
}

// Server is one parameter server.
type Server struct {
	c           Config
	log         *slog.Logger
	job         uint64
	fingerprint layout.Fingerprint
	traits      mode.Traits
	store       *table.Store
	updates     *update.Tables
	replies     sync.Pool
	pushes      sync.Pool
	closings    sync.Pool
	closing     chan struct{}
	// life ends when the server closes or the job fails; updates run in it that wait for other servers.
	life context.Context
	end  context.CancelFunc
	// waiting are the updates that wait for other servers.
	waiting sync.WaitGroup

	refused atomic.Int64

	lost []bool // servers that did not hear of a death; the watch's own

	mu        sync.Mutex // guards what follows
	mode      mode.Server
	members   []member
	lives     lives
	published bool
	// foreseeing says that answers to pushes have foreseen dense weights.
	foreseeing bool
	// from is the directory that the tables were filled from, and what of it, and origin what was found there.
	from, origin string
	// loaded are the dense blocks that a checkpoint of some params filled: who publishes leaves them as they are.
	loaded map[*table.Dense]bool
	// known are the frozen dense params, by index, of which server 0 has a worker's values or a checkpoint's.
	known    map[int]bool
	applying int // updates being applied right now
	failure  error
	changed  chan struct{} // closed when anything above changes; nil while nobody waits
	ending   chan struct{} // closed and replaced when the job may be over
	gathers  gathers
	cut      *cut.Machine
	norms    norms
	rates    []rateChange        // that rounds to come begin with, in their order
	scanned  map[uint32][]uint64 // ids of tables whose rows are being scanned
}

// New makes a server with empty tables.
func New(c Config) (*Server, error) {
	s := &Server{c: c, log: c.Logger.With("server", c.Index), fingerprint: c.Fingerprint, job: c.Fingerprint.Sum(),
		members: make([]member, c.Workers), lives: lives{}, known: map[int]bool{}, lost: make([]bool, len(c.Endpoints)), closing: make(chan struct{}), ending: make(chan struct{})}
	s.life, s.end = context.WithCancel(context.Background())
	var err error
	if s.norms, err = newNorms(c); err != nil {
		return nil, err
	}
	if s.traits = mode.Of(c.Strategy.Mode); s.traits.NewServer == nil {
		return nil, fmt.Errorf("server: mode %q is not known", c.Strategy.Mode)
	}
	s.mode = s.traits.NewServer(c.Workers, c.Strategy.Staleness)
	if s.store, err = newStore(c.Layout, c.Index, c.serverRule, s.traits.Copies); err != nil {
		return nil, err
	}
	s.updates = update.New(s.store, c.Layout, c.Index, update.Options{Weighting: c.Strategy.Weighting, Delay: float32(c.Strategy.DelayCompensation), Clip: s.norms.clip})
	s.cut = cut.New(cut.Options{First: c.Index == 0, Workers: c.Workers, Servers: len(c.Endpoints), Values: s.frozenFloats()})
	s.foreseeing = foresees(c.Strategy, c.Workers)
	s.replies.New = func() any {
		r := new(reply)
		r.done = func() { s.replies.Put(r) }
		return r
	}
	s.pushes.New = func() any { return new(push) }
	s.closings.New = func() any { return new(closing) }
	return s, nil
}

// serverRule is what the server does with what is pushed to a param: in geo the workers have applied the rule already, and where
// they may add gradients up, they have limited each.
func (c *Config) serverRule(p *optimizer.Param) optimizer.Rule {
	rule := optimizer.RuleFor(c.Rule, p)
	switch {
	case rule == nil:
		return nil
	case mode.Of(c.Strategy.Mode).Copies:
		return mode.Sum{Of: c.Rule.Name()}
	case c.Strategy.Sums(optimizer.Additive(rule)):
		return optimizer.Unlimited(rule)
	}
	return rule
}

// ErrListen says that a server could not begin.
var ErrListen = errors.New("can't listen")

// ErrWorkersDied says that the job ended with fewer workers than it began with.
var ErrWorkersDied = errors.New("workers died")

// Run serves until every worker has stopped or died, or ctx ends.
func (s *Server) Run(ctx context.Context) error {
	l, err := s.listen(ctx)
	if err != nil {
		return fmt.Errorf("server %d %w: %w", s.c.Index, ErrListen, err)
	}
	s.log.Info("server listening", "endpoint", l.Endpoint())
	served := make(chan error, 1)
	go func() { served <- l.Serve(s.handle) }()
	watchCtx, stopWatching := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() { defer close(watched); s.watch(watchCtx) }()

	err = s.awaitEnd(ctx, served)
	stopWatching()
	<-watched
	close(s.closing)
	s.end()
	defer s.waiting.Wait()
	closeCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
	defer cancel()
	return errors.Join(err, l.Close(closeCtx))
}

// listen claims this server's endpoint, whose name has StartTimeout to resolve.
func (s *Server) listen(ctx context.Context) (transport.Listener, error) {
	ctx, cancel := context.WithTimeout(ctx, s.c.Strategy.StartTimeout.Std())
	defer cancel()
	return transport.ListenWait(ctx, s.c.Transport, s.c.Endpoints[s.c.Index], s.log)
}

// closeGrace is how long Run waits for replies in flight when it closes.
const closeGrace = 5 * time.Second

// awaitEnd returns when the job is over, with what went wrong.
func (s *Server) awaitEnd(ctx context.Context, served <-chan error) error {
	for {
		s.mu.Lock()
		over, failure, ending := s.done(), s.failure, s.ending
		deaths := s.deaths()
		s.mu.Unlock()
		switch {
		case failure != nil && len(deaths) > 0:
			return fmt.Errorf("server %d: the job ended without worker %v: %w: %w", s.c.Index, deaths, ErrWorkersDied, failure)
		case failure != nil:
			return fmt.Errorf("server %d: %w", s.c.Index, failure)
		case over && len(deaths) > 0:
			return fmt.Errorf("server %d: the job ended without worker %v, silent for more than %v: %w", s.c.Index, deaths, s.c.Strategy.WorkerTimeout.Std(), ErrWorkersDied)
		case over:
			s.log.Info("every worker has stopped")
			return nil
		}
		select {
		case <-ending:
		case <-ctx.Done():
			return fmt.Errorf("server %d: %w", s.c.Index, context.Cause(ctx))
		case err := <-served:
			return fmt.Errorf("server %d stopped listening: %w", s.c.Index, err)
		}
	}
}

// Refused is how many requests were answered with an error, other than that it is too early for them.
func (s *Server) Refused() int64 { return s.refused.Load() }

// Store is the server's tables.
func (s *Server) Store() *table.Store { return s.store }
