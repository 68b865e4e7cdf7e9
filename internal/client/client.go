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

// Config configures a Client.
type Config struct {
	// Worker is this worker's index, from 0 to Workers-1.
	Worker int
	// Workers is the number of workers in the job.
	Workers int
	// Process is a number that differs between processes that take the same worker's place; 0 means a random number.
	Process uint64
	// Servers are the endpoints of all servers, by the index that frames and errors use.
	Servers []string
	Layout  *layout.Layout
	Rule    optimizer.Rule
	// Strategy has its defaults filled in.
	Strategy    strategy.Strategy
	Fingerprint layout.Fingerprint
	Transport   transport.Transport
	Logger      *slog.Logger
	// Pulses record whether heartbeats go out.
	Pulses *awake.Pulses
}

// Client is one worker's connection to the servers. Several training threads use it at once: each has its own session,
// and the sessions share the link. In modes with lockstep, calls that lead a cut, such as Save, Load and Shrink, take
// this worker's turn one after the other; in other modes server 0 alone orders them.
type Client struct {
	Config
	// link sends requests, and carries heartbeats from Join on.
	link    *link
	servers exchange.Servers // the link, as sessions see it
	// sessions makes the steps of training threads. It decides what is sent and when; the link sends it.
	sessions *session.Worker
	cuts     *cuts
	scans    *scans
	rates    *rates
	frozen   *frozen
	from     string              // what Restore names as the servers' start; empty without Restore
	progress checkpoint.Progress // the job's when this worker joined, in the epoch in which it goes on
	// reading tracks how far each thread of this worker has read its data. Join begins it at the servers' positions.
	reading progress.Tracker

	// stage decides which calls are permitted: Restore only while fresh, Join once, others from joining on.
	stage atomic.Int32 // fresh, joining or joined
	// evicting is set while this worker leads a cut in which tables make room.
	evicting atomic.Bool
	gathers  gathering
	loads    atomic.Int64 // how often servers have loaded frozen values, by the last answer
	wholes   atomic.Int64 // how often servers have loaded whole models, by the last answer
}

var (
	_ backend.Trainer = (*Client)(nil)
	_ backend.Hurried = (*Client)(nil)
)

const (
	// fresh is a client whose Join was not called yet.
	fresh = iota
	// joining is a client whose Join is under way or has failed.
	joining
	// joined is a client whose Join has succeeded. It stays so when the client has left.
	joined
)

// New returns a client that has not joined. It sends nothing and starts no goroutine: the first request is Join's. New
// sets the references between the client's parts, which never change afterwards.
func New(c Config) *Client {
	client := &Client{Config: c, link: newLink(c)}
	client.servers = exchange.Servers{
		Layout:   c.Layout,
		Payload:  exchange.Payloads[c.Strategy.Payload],
		Workers:  c.Workers,
		MaxFrame: min(c.Strategy.MaxFrame, transport.LimitOf(c.Transport)),
		Header:   client.link.anyHeader,
		Life:     func(s int) uint32 { return client.link.lives[s].Known() },
		Call:     client.link.Do,
		Counted:  client.link.counted,
		IDs:      make([]exchange.IDSize, len(c.Layout.Embeddings)),
	}
	if c.Strategy.Recovery.Dir != "" { // checkpoints would wait for a push that only some servers have
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
	client.link.round, client.link.full = client.sessions.Round, client.evict
	client.rates.sessions = client.sessions
	client.cuts = &cuts{link: client.link}
	client.scans = &scans{client.link, c.Layout, client.sessions.Round, client.servers.MaxFrame}
	client.frozen = &frozen{link: client.link, layout: c.Layout, loads: &client.loads, values: &client.sessions.Frozen,
		most: client.servers.MaxFrame / 2}
	g := &client.gathers
	g.link, g.workers, g.most, g.renew = client.link, c.Workers, client.servers.MaxFrame/2, client.renew
	g.trained = client.servers.Tally.Steps.Load
	return client
}

// Restore implements [backend.Trainer]. The servers read the directory; Join fails if a server began from another
// directory or selection. It returns [backend.ErrJoined] once Join was called.
func (c *Client) Restore(_ context.Context, dir string, what checkpoint.Selection) error {
	if c.stage.Load() != fresh {
		return backend.ErrJoined
	}
	c.from = checkpoint.From(dir, what)
	return nil
}

// Join implements [backend.Trainer]. It waits for the servers, begins this worker's life in the job and pulls the first
// dense weights. If a server has none, worker 0 publishes the weights of its params first. Frozen values come too if
// servers have them from a checkpoint. If Join fails, the client is closed and can't join again, and servers that know
// this life receive a goodbye.
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

// known returns backend.ErrNotJoined before Join was called.
func (c *Client) known() error {
	if c.stage.Load() == fresh {
		return backend.ErrNotJoined
	}
	return nil
}

// join does Join's work without what follows a failure. It has four stages, each of which waits for the one before:
// servers register the worker's life, servers have dense weights, this process has them, and frozen values come from a
// checkpoint. Sessions begin after that, with these weights.
func (c *Client) join(ctx context.Context) error {
	for _, p := range c.Layout.Params {
		if !p.Embedding {
			p.First(p.W)
		}
	}
	// W of dense params now holds initial values; the servers' weights replace them below.
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
	// The first weights count as one acknowledged request of each server that is known to have them: if it comes back
	// without them, the next heartbeat shows it. A server without dense weights has sent none, and may not have worker
	// 0's word yet that the others have theirs.
	for s, part := range c.Layout.Parts {
		if c.Worker == 0 || part.Floats > 0 {
			c.link.counted(s)
		}
	}
	if err := c.frozen.bring(ctx); err != nil {
		return err
	}
	c.sessions.Frozen.Install(c.Layout.Params, 0)
	c.sessions.Begin()
	return nil
}

// arrive waits for the servers, joins at server 0, which numbers the worker's lives, and says hello to the others. If
// servers have journals, they may be away for a while and come back: then arrive joins at server 0 before the others
// answer. Otherwise server 0 would miss the heartbeats of the life before, and end the job if that was the last worker.
// published is false if a server lacks dense weights, which worker 0 then publishes.
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
	if c.progress.Epoch = h.begun.Epoch; !mode.Of(c.Strategy.Mode).Lockstep { // else server 0 has decided for all
		c.progress.Epoch = h.begun.First(h.at)
	}
	c.reading.Resume(h.at, c.progress.Epoch)
	c.reading.After(h.steps)
	return h.published, nil
}

// hello is the state of a worker that joins: what it sends to one server after the other, and what their answers add up
// to.
type hello struct {
	*Client
	process uint64
	// first is what server 0 has begun from; the other servers must have begun from the same.
	first origin
	// at holds this worker's positions in its data, as far as all servers agree on them.
	at        []progress.Position
	begun     progress.Begun // the epoch that earlier lives have begun
	steps     uint64         // the most steps of a thread, in a checkpoint of another number of workers
	published bool
}

// say sends the hello to server s. Server 0 must be the first, since its answer gives the life its number and the key
// of its frames. The heartbeats to the server begin here and end with the link.
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
		c.progress, c.begun = checkpoint.Progress(w.Progress), w.Begun
		c.gathers.behind, c.steps = w.Gathers, w.Steps
		c.sessions.Resume(mode.Round(w.Round))
		c.loads.Store(w.Loads.Frozen) // join brings these values later
		c.wholes.Store(w.Loads.Whole)
		if w.Shares > 0 && c.Worker == 0 && w.Life == 1 {
			c.link.log.Warn("the current epoch begins anew: the checkpoint is of another number of workers",
				"workers then", w.Shares, "workers now", c.Workers, "epoch", w.Begun.Epoch+1)
		}
	}
	// this server expects heartbeats from now on, however long the other servers take
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

// pullDense sets W of every dense param to the servers' weights of this worker's round. It waits until the servers have
// reached that round.
func (c *Client) pullDense(ctx context.Context) error {
	x := exchange.New(&c.servers)
	x.Dense = session.Weights(c.Layout.Params)
	return x.Run(ctx, exchange.Request{Op: wire.OpStep, Round: c.sessions.Round()})
}

// Open implements [optimizer.Trainer].
func (c *Client) Open(params []*optimizer.Param) (optimizer.Session, error) {
	return c.sessions.Open(params)
}

// Looks is an optional method of [optimizer.Trainer].
func (c *Client) Looks() bool { return c.sessions.Looks() }

// EndEpoch implements [optimizer.Trainer].
func (c *Client) EndEpoch(ctx context.Context) error { return c.sessions.EndEpoch(ctx) }

// drain waits until the servers have applied everything that sessions were given. Unlike settle it does not send a geo
// worker's own changes since the last exchange.
func (c *Client) drain(ctx context.Context) error {
	if err := c.known(); err != nil {
		return err
	}
	return c.sessions.Drain(ctx)
}

// settle drains and, in mode geo, sends the changes since the last exchange.
func (c *Client) settle(ctx context.Context) error {
	if err := c.known(); err != nil {
		return err
	}
	return c.sessions.Settle(ctx)
}

// turn settles and takes this worker's turn for a cut, as [session.Worker.InTurn] says. The caller must call done once,
// which ends the turn. what names the call in the error of a call that waits too long.
func (c *Client) turn(ctx context.Context, what string) (done func(), err error) {
	if err := c.settle(ctx); err != nil {
		return nil, err
	}
	return c.sessions.InTurn(ctx, what)
}

// after has sessions continue with the servers' weights after a cut, which may have dropped or replaced rows. err is
// how the cut ended. A cut can't be undone, so ctx does not end the refresh. Even a cut that failed may have changed
// rows, so Met drops the rows that sessions have kept in any case.
func (c *Client) after(ctx context.Context, err error) error {
	c.sessions.Met()
	if err == nil {
		err = c.sessions.Refresh(context.WithoutCancel(ctx))
	}
	return err
}

// Leave implements [backend.Trainer]. It settles, sends a goodbye to server 0, which from then on reports it to each
// server that asks, then to the other servers all at once, and ends the client. The second call does nothing. An error
// says what was not settled and which server did not get the goodbye; the client has ended even so.
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

// Close implements [backend.Trainer]. It ends the client, makes one attempt at a goodbye to each server unless Leave
// was called, and closes idle connections; a server that is not reached at once misses the heartbeats. Close may be
// called at any time, from any goroutine, and more than once. Requests under way end with [ErrClosed]. Heartbeats have
// ended when it returns.
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

// IDSizes implements [backend.Sized]. It returns, for each embedding in the layout's order, the mean bytes of an id in
// a frame.
func (c *Client) IDSizes() (bytes []float64) {
	for e := range c.servers.IDs {
		bytes = append(bytes, c.servers.IDs[e].Mean())
	}
	return bytes
}

// Dense returns copies of the servers' dense weights, and of this worker's frozen values, by name of the param. It
// makes one request to every server and takes no turn: the weights of two servers may be of different steps unless a
// cut holds them.
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
