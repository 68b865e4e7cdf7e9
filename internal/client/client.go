package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/awake"
	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/exchange"
	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/peer"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/session"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// Config is what a client is made of.
type Config struct {
	// Worker is this worker's index, from 0 to Workers-1.
	Worker int
	// Workers is the number of workers in the job.
	Workers int
	// Process tells this process from others that take the worker's place; 0 means a random number.
	Process uint64
	// Servers are the endpoints of all servers. A server is known by its index here.
	Servers []string
	Layout  *layout.Layout
	Rule    optimizer.Rule
	// Strategy has its defaults filled in.
	Strategy    strategy.Strategy
	Fingerprint layout.Fingerprint
	Transport   transport.Transport
	Logger      *slog.Logger
	// Pulses say whether heartbeats go out.
	Pulses *awake.Pulses
	// Tells is what this process tells a page of server 0's process, as JSON; nil tells nothing.
	Tells func(curves bool) []byte
}

// Client is one worker's connection to the servers. Several training threads use it at once: each has a session of its
// own, and the sessions share the link. In modes with lockstep the calls that lead a cut, such as Save, Load and
// Shrink, take this worker's turn one after the other; elsewhere server 0 alone puts them in an order.
type Client struct {
	Config
	// link sends requests, and carries heartbeats from Join on.
	link    *link
	servers exchange.Servers // what sessions know of the link
	// sessions make the steps of training threads. They decide what is sent and when; the link sends it.
	sessions *session.Worker
	cuts     *cuts
	scans    *scans
	rates    *rates
	frozen   *frozen
	from     string              // what this worker was told the servers begin from; empty if it was told nothing
	progress checkpoint.Progress // of the checkpoint that the job goes on from; since Join
	// reading is how far each thread of this worker has read its data. Servers answer Join with where it was.
	reading progress.Tracker

	// stage says which calls are let in: Restore only while fresh, Join once, others from joining on.
	stage   atomic.Int32 // of its life: fresh, joining, joined
	gathers gathering
	loads   atomic.Int64 // how often servers have loaded frozen values, as far as this worker has seen
	wholes  atomic.Int64 // and all that copies are trained on
}

var (
	_ backend.Trainer = (*Client)(nil)
	_ backend.Hurried = (*Client)(nil)
)

const (
	// fresh is a client on which Join was not called yet.
	fresh = iota
	// joining is one whose Join is under way or has failed.
	joining
	// joined is one whose Join has returned without an error. It stays so when the client has left.
	joined
)

// New makes a client that has yet to Join. It sends nothing, and begins no goroutine: the first request is Join's. The
// parts hold each other by fields and functions that are set here and never change.
func New(c Config) *Client {
	client := &Client{Config: c, link: newLink(c)}
	client.servers = exchange.Servers{
		Layout:   c.Layout,
		Payload:  exchange.Payloads[c.Strategy.Payload],
		Workers:  c.Workers,
		MaxFrame: min(c.Strategy.MaxFrame, transport.LimitOf(c.Transport)),
		Header:   client.link.anyHeader,
		Life:     func(s int) uint32 { return client.link.lives[s].Known() },
		Call:     client.link.patiently,
		Counted:  client.link.counted,
		IDs:      make([]exchange.IDSize, len(c.Layout.Embeddings)),
	}
	if c.Strategy.Recovery.Dir != "" { // which a push that some servers have and others lack would hold up
		client.servers.Linger = c.Strategy.HeartbeatInterval.Std()
	}
	client.rates = &rates{link: client.link, sequence: &client.servers.Sequence}
	client.sessions = session.New(session.Config{
		Worker:   c.Worker,
		Workers:  c.Workers,
		Layout:   c.Layout,
		Rule:     c.Rule,
		Strategy: c.Strategy,
		Servers:  &client.servers,
		Progress: &client.reading,
		Context:  client.link.ctx,
		UseRate:  client.rates.use,
		Log:      client.link.log,
	})
	client.link.round = client.sessions.Round
	client.rates.sessions = client.sessions
	client.cuts = &cuts{link: client.link}
	client.scans = &scans{client.link, c.Layout, client.sessions.Round, client.servers.MaxFrame}
	client.frozen = &frozen{link: client.link, layout: c.Layout, values: &client.sessions.Frozen,
		most: client.servers.MaxFrame / 2}
	g := &client.gathers
	g.link, g.workers, g.most, g.renew = client.link, c.Workers, client.servers.MaxFrame/2, client.renew
	g.trained = client.servers.Tally.Steps.Load
	return client
}

// Restore implements [backend.Trainer]: servers read the directory, and Join refuses servers that did not.
func (c *Client) Restore(_ context.Context, dir string, what checkpoint.Selection) error {
	if c.stage.Load() != fresh {
		return backend.ErrJoined
	}
	c.from = checkpoint.From(dir, what)
	return nil
}

// Join implements [backend.Trainer]. It waits for the servers, begins this worker's life in the job and brings the
// first dense weights: worker 0 publishes what its params hold where servers have nothing, and everybody pulls, what is
// frozen too if servers have it from a checkpoint. When it fails the client is closed and can't join again; servers
// that know this life are told that it ends.
func (c *Client) Join(ctx context.Context) error {
	if !c.stage.CompareAndSwap(fresh, joining) {
		return backend.ErrJoined
	}
	if err := c.join(ctx); err != nil {
		if c.Close(); c.link.life.number > 0 {
			c.link.farewell()
		}
		return fmt.Errorf("worker %d: %w", c.Worker, err)
	}
	c.stage.Store(joined)
	return nil
}

// known refuses a call of a worker that servers do not know.
func (c *Client) known() error {
	if c.stage.Load() == fresh {
		return backend.ErrNotJoined
	}
	return nil
}

// join is Join without its end. It goes through four stages, each of which waits for the one before: servers know the
// worker and its number, servers have dense weights, this process has them, and frozen values come from a checkpoint.
// Sessions begin after that, with the weights that came.
func (c *Client) join(ctx context.Context) error {
	for _, p := range c.Layout.Params {
		if !p.Embedding {
			p.First(p.W)
		}
	}
	// W of dense params is now what training would begin with; the servers' weights take its place below.
	published, err := c.arrive(ctx)
	if err != nil {
		return err
	}
	if c.Worker == 0 && !published {
		if err := exchange.New(&c.servers).Publish(ctx, session.Weights(c.Layout.Params)); err != nil {
			return err
		}
	}
	if err := c.pullDense(ctx); err != nil {
		return err
	}
	// The first weights count as one acknowledged request of each server: a server that came back without them is
	// noticed by the next heartbeat.
	for s := range c.Servers {
		c.link.counted(s)
	}
	if err := c.frozen.bring(ctx); err != nil {
		return err
	}
	c.sessions.Frozen.Install(c.Layout.Params, 0)
	c.sessions.Begin()
	return nil
}

// arrive waits for the servers, joins at server 0, which numbers the worker's lives, and says hello to the others.
// Where a server may be away for a while and come back, it joins before the others are there: server 0 would else miss
// the life before, and end the job when that was the last. published is false when any server lacks dense weights,
// which worker 0 then publishes.
func (c *Client) arrive(ctx context.Context) (published bool, err error) {
	h := &hello{Client: c, process: c.Process, published: true}
	if h.process == 0 {
		h.process = rand.Uint64()
	}
	stages := [][2]int{{0, len(c.Servers)}}
	if c.Strategy.Recovery.Journal != "" && len(c.Servers) > 1 {
		stages = [][2]int{{0, 1}, {1, len(c.Servers)}}
	}
	for _, servers := range stages {
		if err := c.link.awaitServers(ctx, servers[0], servers[1]); err != nil {
			return false, err
		}
		for s := servers[0]; s < servers[1]; s++ {
			if err := h.say(ctx, s); err != nil {
				return false, err
			}
		}
	}
	c.reading.Resume(h.at, c.progress.Epoch)
	c.reading.After(h.steps)
	return h.published, nil
}

// hello is what a worker that joins says to one server after the other, and what these answer together.
type hello struct {
	*Client
	process uint64
	// first is what server 0 has begun from, with which other servers must agree.
	first origin
	// at are this worker's positions in its data, as far as all servers agree on them.
	at        []progress.Position
	steps     uint64 // the most of a thread in a checkpoint of another number of workers
	published bool
}

// say says it to a server, of which server 0 is the first. The answer of server 0 gives the life its number and the key
// of its frames, so that it must be the first. A heartbeat to the server begins here and ends with the link.
func (c *hello) say(ctx context.Context, s int) error {
	op := wire.OpHello
	if s == 0 {
		op = wire.OpJoin
	}
	var w wire.Welcome
	hello := wire.Hello{Process: c.process, Fingerprint: c.Fingerprint, Build: wire.Build()}
	if err := c.link.control(ctx, s, op, hello, &w); err != nil {
		return fmt.Errorf("joining: %w", err)
	}
	if s == 0 {
		if w.Job == 0 {
			return fmt.Errorf("joining: server 0 (%s) gave this worker no number for its frames: "+
				"do all roles run the same build? %w", c.Servers[0], wire.ErrMismatch)
		}
		c.link.life.number, c.link.life.job = w.Life, w.Job
		c.progress, c.gathers.behind, c.steps = checkpoint.Progress(w.Progress), w.Gathers, w.Steps
		c.sessions.Resume(mode.Round(w.Round))
		c.loads.Store(w.Loads.Frozen) // which it brings behind this
		c.wholes.Store(w.Loads.Whole)
		if w.Shares > 0 && c.Worker == 0 && w.Life == 1 {
			c.link.log.Warn("the current epoch begins anew: the checkpoint is of another number of workers",
				"workers then", w.Shares, "workers now", c.Workers, "epoch", w.Progress.Epoch+1)
		}
	}
	// from now on this server misses them, however long the others take
	c.link.besides.run(func() { c.link.beatTo(s) })
	if err := c.first.agrees(s, w, c.from); err != nil {
		return err
	}
	if s == 0 {
		c.at = w.Positions
	} else {
		c.at = progress.Agreed(mode.Of(c.Strategy.Mode).Copies, c.at, w.Positions)
	}
	c.published = c.published && w.Published
	return nil
}

// Reading implements [backend.Trainer].
func (c *Client) Reading() *progress.Tracker { return &c.reading }

// pullDense sets W of every dense param to the servers' weights. It asks for the weights of the round that the worker
// is in, and waits until servers have them.
func (c *Client) pullDense(ctx context.Context) error {
	x := exchange.New(&c.servers)
	x.Dense = session.Weights(c.Layout.Params)
	return x.Run(ctx, exchange.Request{Op: wire.OpStep, Round: c.sessions.Round()})
}

// Open implements [optimizer.Trainer].
func (c *Client) Open(params []*optimizer.Param) (optimizer.Session, error) {
	return c.sessions.Open(params)
}

// Looks implements [optimizer.Looker].
func (c *Client) Looks() bool { return c.sessions.Looks() }

// EndEpoch implements [optimizer.Trainer].
func (c *Client) EndEpoch(ctx context.Context) error { return c.sessions.EndEpoch(ctx) }

// drain waits until everything that sessions were given has been applied. Unlike settle it leaves a geo worker's own
// changes since the last exchange where they are.
func (c *Client) drain(ctx context.Context) error {
	if err := c.known(); err != nil {
		return err
	}
	return c.sessions.Drain(ctx)
}

// settle drains and, in mode geo, sends what exchanges have left.
func (c *Client) settle(ctx context.Context) error {
	if err := c.known(); err != nil {
		return err
	}
	return c.sessions.Settle(ctx)
}

// turn settles and takes this worker's turn, as [session.Worker.InTurn] says, for a cut. done ends the turn, and must
// be called once. what names the call for the error of a call that waits too long.
func (c *Client) turn(ctx context.Context, what string) (done func(), err error) {
	if err := c.settle(ctx); err != nil {
		return nil, err
	}
	return c.sessions.InTurn(ctx, what)
}

// after has this worker go on with what servers have behind a cut, in which rows may be gone or others. Nothing takes
// that back, so that no context ends it either. err is how the cut ended. Also a cut that has failed may have changed
// rows, so that Met forgets what sessions have kept of them in any case.
func (c *Client) after(ctx context.Context, err error) error {
	c.sessions.Met()
	if err == nil {
		err = c.sessions.Refresh(context.WithoutCancel(ctx))
	}
	return err
}

// Leave implements [backend.Trainer]: it settles, tells server 0 that this worker has stopped, which from then on tells
// each server that asks, then the others all at once, and ends the client. The second call does nothing. An error says
// what was not settled and which server was not told; the client has ended even so.
func (c *Client) Leave(ctx context.Context) error {
	if err := c.known(); err != nil {
		return err
	}
	if c.link.leaving.Swap(true) {
		return nil
	}
	c.sessions.Leave()
	defer c.Close()
	err := c.sessions.Settle(ctx)
	goodbye := func(s int) error {
		if e := c.link.control(ctx, s, wire.OpLeave, nil, nil); e != nil && !errors.Is(e, errGone) {
			return fmt.Errorf("stopping: %w", e)
		}
		return nil
	}
	err = errors.Join(err, goodbye(0))
	return errors.Join(err, peer.All(len(c.Servers)-1, func(i int) error { return goodbye(i + 1) }))
}

// Close implements [backend.Trainer]: it ends the client, says so to servers that it has not left, as far as they can
// be reached at once, and closes its idle connections. To others it falls silent. It may be called at any time, from
// any goroutine, and more than once. Requests under way end with [ErrClosed], and heartbeats have ended when it
// returns.
func (c *Client) Close() {
	if c.link.stop(ErrClosed) && c.stage.Load() == joined && !c.link.leaving.Load() {
		c.link.farewell()
	}
	c.sessions.Stop()
	if t, ok := c.Transport.(transport.IdleCloser); ok {
		t.CloseIdleConnections() // the last requests have ended
	}
}

// Counts implements [backend.Trainer].
func (c *Client) Counts() backend.Counts { return c.servers.Tally.Counts() }

// IDSizes implements [backend.Sized]. It has one number for each embedding, in the layout's order: the mean bytes that
// an id takes on its way.
func (c *Client) IDSizes() (bytes []float64) {
	for e := range c.servers.IDs {
		bytes = append(bytes, c.servers.IDs[e].Mean())
	}
	return bytes
}

// Dense brings copies of the servers' dense weights, and of this worker's frozen ones, by name of the param. It makes a
// request to every server, and needs no turn: the weights of two servers may be of different steps unless a cut holds
// them.
func (c *Client) Dense(ctx context.Context) (map[string][]float32, error) {
	x := exchange.New(&c.servers)
	x.Dense = make([][]float32, len(c.Layout.Params))
	all := map[string][]float32{}
	for i, p := range c.Layout.Params {
		if !p.Embedding && !p.Frozen {
			x.Dense[i] = make([]float32, p.Size())
			all[p.Name] = x.Dense[i]
		}
	}
	still := c.sessions.Frozen.Values()
	for _, b := range c.Layout.Frozen.Blocks {
		all[b.Name] = still[b.At:][:b.Size]
	}
	return all, x.Run(ctx, exchange.Request{Op: wire.OpPeek, Round: c.sessions.Round()})
}
