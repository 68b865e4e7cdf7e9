package collective

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofleet/gofleet/internal/awake"
	"github.com/gofleet/gofleet/internal/peer"
	"github.com/gofleet/gofleet/transport"
)

// Config configures a Group.
type Config struct {
	// Rank is this process's index in Endpoints, which holds the address where each rank listens.
	Rank      int
	Endpoints []string
	Transport transport.Transport

	// Bucket bounds the bytes that are reduced at a time; 0 means 32 MiB. Chunk is the size of a message in bytes; 0
	// means 1 MiB. Both must be the same on all ranks.
	Bucket, Chunk int
	// Window is how many messages are under way to each rank; 0 means 2.
	Window int

	// StartTimeout bounds Join; 0 means 3m. WaitTimeout bounds a collective; 0 means 15m. SilenceTimeout is how long a
	// rank may give no answer before it counts as dead; 0 means 30s. ProbeInterval is the interval of probes to ranks
	// that are waited for; 0 means 1s.
	StartTimeout, WaitTimeout, SilenceTimeout, ProbeInterval time.Duration
	// Logger receives warnings about ranks that are waited for; nil means slog.Default.
	Logger *slog.Logger
	// Pulses record whether probes go out.
	Pulses *awake.Pulses
}

// The defaults of a Config.
const (
	DefaultBucket = 32 << 20
	DefaultChunk  = 1 << 20
	DefaultWindow = 2
)

var (
	// ErrClosed is the error of calls after the group has ended.
	ErrClosed = errors.New("collective: the group has ended")
	// ErrOrder is the error of a collective for which ranks made different calls.
	ErrOrder = errors.New("collective: ranks make different calls")
	// ErrDead is the error of a group of which a rank is gone.
	ErrDead = errors.New("collective: a rank is gone")
)

// Group is this process's membership in a group of ranks.
type Group struct {
	c        Config
	log      *slog.Logger
	members  *members
	rounds   *rounds
	link     *link
	listener transport.Listener
	serving  sync.WaitGroup // the listener's goroutine and the prober's
	turn     chan struct{}  // held by the collective under way

	life context.Context // ends with the group; its cause says what went wrong
	end  context.CancelCauseFunc
	told sync.Once   // guards the messages that report this group's failure
	left atomic.Bool // Close was called
}

// New listens at this rank's endpoint, whose name must resolve within StartTimeout. Close or Leave ends the group.
func New(ctx context.Context, c Config) (*Group, error) {
	if c.Rank < 0 || c.Rank >= len(c.Endpoints) {
		return nil, fmt.Errorf("collective: rank %d of %d endpoints", c.Rank, len(c.Endpoints))
	}
	c = c.withDefaults()
	ctx, cancel := context.WithTimeout(ctx, c.StartTimeout)
	defer cancel()
	l, err := peer.Listen(ctx, c.Transport, c.Endpoints[c.Rank], c.Logger.With("rank", c.Rank))
	if err != nil {
		return nil, fmt.Errorf("collective: rank %d: %w", c.Rank, err)
	}
	clock := awake.NewClock(4*c.ProbeInterval, time.Now)
	g := &Group{
		c:        c,
		log:      c.Logger.With("rank", c.Rank),
		members:  newMembers(c.Rank, c.Endpoints, rand.Uint64()|1, clock),
		rounds:   newRounds(clock),
		listener: l,
		turn:     make(chan struct{}, 1),
	}
	g.life, g.end = context.WithCancelCause(context.Background())
	g.link = &link{members: g.members, transport: c.Transport, life: g.life}
	g.serving.Go(func() {
		err := l.Serve(g.handle)
		g.fail(fmt.Errorf("collective: rank %d stopped listening: %w", c.Rank, cmp.Or(err, transport.ErrReturned)))
	})
	return g, nil
}

func (c Config) withDefaults() Config {
	set(&c.Bucket, DefaultBucket)
	set(&c.Chunk, DefaultChunk)
	set(&c.Window, DefaultWindow)
	set(&c.StartTimeout, 3*time.Minute)
	set(&c.WaitTimeout, 15*time.Minute)
	set(&c.SilenceTimeout, 30*time.Second)
	set(&c.ProbeInterval, time.Second)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	c.Endpoints = slices.Clone(c.Endpoints)
	return c
}

func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Rank returns this process's rank.
func (g *Group) Rank() int { return g.c.Rank }

// Ranks returns the number of ranks.
func (g *Group) Ranks() int { return len(g.c.Endpoints) }

// Endpoint returns the address where this rank listens.
func (g *Group) Endpoint() string { return g.listener.Endpoint() }

// fail ends the group and returns why it has ended: err, or the first error before it.
func (g *Group) fail(err error) error {
	g.end(err)
	return context.Cause(g.life)
}

// closeTime is how long Close waits for answers that are being sent.
const closeTime = 5 * time.Second

// Close ends the group without waiting for the other ranks. If reason is not nil, it sends it to them, so that their
// waits for this rank fail. It waits up to 5 s for answers that are being sent. It may be called twice.
func (g *Group) Close(ctx context.Context, reason error) error {
	if g.left.Swap(true) {
		return nil
	}
	if reason != nil {
		g.Fail(ctx, reason)
	}
	g.end(ErrClosed)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	err := g.listener.Close(ctx)
	g.serving.Wait()
	if t, ok := g.c.Transport.(transport.IdleCloser); ok {
		t.CloseIdleConnections()
	}
	if err != nil {
		return fmt.Errorf("collective: rank %d: %w", g.c.Rank, err)
	}
	return nil
}
