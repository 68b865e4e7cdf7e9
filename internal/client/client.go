package client

import (
	"context"
	"errors"
	"fmt"
	"github.com/gofleet/gofleet/internal/exchange"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// Config is what a client is made of.
type Config struct {
	Worker  int
	Workers int // in the job
	// Process tells this process from others that take the worker's place; 0 means a random number.
	Process uint64
	Servers []string // endpoints
	Layout  *layout.Layout
	Rule    optimizer.Rule
	// Strategy has its defaults filled in.
	Strategy    strategy.Strategy
	Fingerprint layout.Fingerprint
	Transport   transport.Transport
	Logger      *slog.Logger
}

// Client is one worker's connection to the servers.
type Client struct {
	c       Config
	from    string // what this worker was told the servers begin from; empty if it was told nothing
	log     *slog.Logger
	job     uint64
	life    uint32 // this life of the worker
	servers exchange.Servers
	heard   hearing
	turn    turn
	frozen  frozen
	rating  sync.Mutex // held while all servers are told of another rate

	ctx  context.Context // ends with the client; its cause says what went wrong
	end  context.CancelCauseFunc
	beat sync.WaitGroup

	mu       sync.Mutex
	round    mode.Worker
	sessions []session
	meeting  *meeting // mode half_async
	geo      *geo     // mode geo
	left     bool
	stage    atomic.Int32 // of its life: fresh, joining, joined
	saves    atomic.Int64
	gathers  atomic.Uint64
	// days counts the calls of Shrink: rows that were fetched before one are not used after it.
	days atomic.Int64
}

var _ backend.Trainer = (*Client)(nil)

const (
	fresh = iota
	joining
	joined
)

// session is what the client needs of its sessions.
type session interface {
	optimizer.Session
	// drain waits until what it was given has been applied.
	drain(ctx context.Context) error
	// stop ends its goroutines.
	stop()
}

// New makes a client that has yet to Join.
func New(c Config) *Client {
	ctx, end := context.WithCancelCause(context.Background())
	client := &Client{
		c:   c,
		log: c.Logger.With("worker", c.Worker),
		job: c.Fingerprint.Sum(),
		servers: exchange.Servers{
			Layout:   c.Layout,
			Payload:  exchange.Payloads[c.Strategy.Payload],
			MaxFrame: min(c.Strategy.MaxFrame, transport.LimitOf(c.Transport)),
		},
		heard:  make(hearing, len(c.Servers)),
		turn:   newTurn(),
		frozen: frozen{w: make([][]float32, len(c.Layout.Params))},
		ctx:    ctx,
		end:    end,
	}
	client.servers.Header, client.servers.Call = client.header, client.patiently
	return client
}

// ErrClosed says that the worker has left.
var ErrClosed = errors.New("worker has left the job")

// Join implements [backend.Trainer]. It waits for the servers, begins this worker's life in the job and brings the first dense weights:
// worker 0 publishes what its params hold where servers have nothing, and everybody pulls, what is frozen too if servers have it from a
// checkpoint.
func (c *Client) Join(ctx context.Context) error {
	if !c.stage.CompareAndSwap(fresh, joining) {
		return backend.ErrJoined
	}
	if err := c.join(ctx); err != nil {
		c.Close()
		return fmt.Errorf("worker %d: %w", c.c.Worker, err)
	}
	c.stage.Store(joined)
	return nil
}

// known refuses a call of a worker that servers have not heard of.
func (c *Client) known() error {
	if c.stage.Load() == fresh {
		return backend.ErrNotJoined
	}
	return nil
}

func (c *Client) join(ctx context.Context) error {
	for _, p := range c.c.Layout.Params {
		if !p.Embedding {
			p.First(p.W)
		}
	}
	if err := c.awaitServers(ctx); err != nil {
		return err
	}
	published, err := c.hello(ctx)
	if err != nil {
		return err
	}
	if c.c.Worker == 0 && !published {
		if err := exchange.New(&c.servers).Publish(ctx, weights(c.c.Layout.Params)); err != nil {
			return err
		}
	}
	if err := c.pullDense(ctx); err != nil {
		return err
	}
	if err := c.bring(ctx); err != nil {
		return err
	}
	if c.c.Strategy.Mode == strategy.ModeHalfAsync {
		c.meeting = newMeeting(c) // begins with these weights, which nobody works on yet
	}
	return nil
}

// hello joins at server 0, which numbers the worker's lives, and then tells the other servers.
func (c *Client) hello(ctx context.Context) (published bool, err error) {
	published = true
	process := c.c.Process
	if process == 0 {
		process = rand.Uint64()
	}
	var first origin
	for s := range c.c.Servers {
		op := wire.OpHello
		if s == 0 {
			op = wire.OpJoin
		}
		var w wire.Welcome
		if err := c.control(ctx, s, op, wire.Hello{Process: process, Fingerprint: c.c.Fingerprint}, &w); err != nil {
			return false, fmt.Errorf("joining: %w", err)
		}
		if s == 0 {
			c.life = w.Life
			c.round.Resume(mode.Round(w.Round))
		}
		c.beat.Go(func() { c.beatTo(s) }) // from now on this server misses them, however long the others take
		if err := first.agrees(s, w, c.from); err != nil {
			return false, err
		}
		published = published && w.Published
	}
	return published, nil
}

// pullDense sets W of every dense param to the servers' weights.
func (c *Client) pullDense(ctx context.Context) error {
	x := exchange.New(&c.servers)
	x.Dense = weights(c.c.Layout.Params)
	return x.Run(ctx, exchange.Request{Op: wire.OpStep, Round: c.currentRound()})
}

func weights(params []*optimizer.Param) [][]float32 {
	w := make([][]float32, len(params))
	for i, p := range params {
		w[i] = p.W
	}
	return w
}

// EndEpoch implements [optimizer.Trainer].
func (c *Client) EndEpoch(ctx context.Context) error {
	if err := c.Drain(ctx); err != nil {
		return err
	}
	if !c.lockstep() {
		return nil
	}
	done, err := c.inTurn(ctx, "ending the epoch")
	if err != nil {
		return err
	}
	defer done()
	step, acked := c.servers.Sequence.Begin()
	defer c.servers.Sequence.End(step)
	h := c.header(wire.OpPark)
	h.Seq, h.Acked, h.Round = step, acked, uint64(c.currentRound())
	err = exchange.New(&c.servers).Say(ctx, h)
	if err != nil {
		return fmt.Errorf("ending the epoch: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.round.Parked()
	return nil
}

// Drain waits until everything that sessions were given has been applied.
func (c *Client) Drain(ctx context.Context) error {
	if err := c.known(); err != nil {
		return err
	}
	c.mu.Lock()
	sessions := slices.Clone(c.sessions)
	c.mu.Unlock()
	var errs []error
	for _, s := range sessions {
		errs = append(errs, s.drain(ctx))
	}
	return errors.Join(errs...)
}

// Settle drains and, in mode geo, sends what exchanges have left.
func (c *Client) Settle(ctx context.Context) error {
	if err := c.Drain(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	g := c.geo
	c.mu.Unlock()
	if g == nil {
		return nil
	}
	return g.settle(ctx)
}

// Refresh makes a worker's copy of the model, in mode geo, what the servers have.
func (c *Client) Refresh(ctx context.Context) error {
	c.mu.Lock()
	g := c.geo
	c.mu.Unlock()
	if g == nil {
		return nil
	}
	if err := g.enter(ctx); err != nil {
		return err
	}
	defer g.leave()
	return g.fail(g.refresh(ctx))
}

// Leave implements [backend.Trainer]: it settles, tells every server that this worker has stopped, and ends the client.
func (c *Client) Leave(ctx context.Context) error {
	if err := c.known(); err != nil {
		return err
	}
	c.mu.Lock()
	if c.left {
		c.mu.Unlock()
		return nil
	}
	c.left = true
	c.mu.Unlock()
	defer c.Close()
	err := c.Settle(ctx)
	for s := range c.c.Servers {
		if e := c.control(ctx, s, wire.OpLeave, nil, nil); e != nil && !errors.Is(e, errGone) {
			err = errors.Join(err, fmt.Errorf("stopping: %w", e))
		}
	}
	return err
}

// Close implements [backend.Trainer]: it ends the client without a word to the servers, which will find out by its silence, and closes
// its idle connections.
func (c *Client) Close() {
	c.end(ErrClosed)
	c.beat.Wait()
	c.mu.Lock()
	sessions := slices.Clone(c.sessions)
	c.mu.Unlock()
	for _, s := range sessions {
		s.stop()
	}
	if t, ok := c.c.Transport.(transport.IdleCloser); ok {
		t.CloseIdleConnections()
	}
}

// Counts implements [backend.Trainer].
func (c *Client) Counts() backend.Counts { return c.servers.Tally.Counts() }

func (c *Client) header(op wire.Op) wire.Header {
	return wire.Header{Op: op, Job: c.job, Worker: uint32(c.c.Worker), Life: c.life, Version: wire.NoDense}
}

func (c *Client) currentRound() mode.Round {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.round.Round()
}

func (c *Client) pushed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.round.Pushed()
}

// Dense brings copies of the servers' dense weights, and those of this worker's that are frozen, by name of the param.
func (c *Client) Dense(ctx context.Context) (map[string][]float32, error) {
	x := exchange.New(&c.servers)
	x.Dense = make([][]float32, len(c.c.Layout.Params))
	all := map[string][]float32{}
	for i, p := range c.c.Layout.Params {
		if !p.Embedding && !p.Frozen {
			x.Dense[i] = make([]float32, p.Size())
			all[p.Name] = x.Dense[i]
		}
	}
	still := c.frozenValues()
	for _, b := range c.c.Layout.Frozen.Blocks {
		all[b.Name] = still[b.At:][:b.Size]
	}
	return all, x.Run(ctx, exchange.Request{Op: wire.OpPeek, Round: c.currentRound()})
}
