package fleettest

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/transport"
)

// Program is what every role of a cluster runs.
type Program func(ctx context.Context, f *fleet.Fleet) error

// Run runs program on that many servers and workers and fails t if one of them returns an error.
func Run(t testing.TB, servers, workers int, program Program) {
	t.Helper()
	Cluster{Servers: servers, Workers: workers}.Run(t, program)
}

// Cluster is a cluster with options. Several workers without servers are a collective job; one is a process alone.
type Cluster struct {
	Servers, Workers int
	// Options are given to every fleet; a nil Transport means a fresh memory network, a nil Logger one that shows
	// warnings in the test's log.
	Options fleet.Options
	// Endpoints are the addresses of the servers, or of the workers of a collective job; nil means names of the memory
	// network.
	Endpoints []string
}

// Run runs program on every role and fails t if one of them returns an error. Tests that call it may be parallel.
func (c Cluster) Run(t testing.TB, program Program) {
	t.Helper()
	err := watched(t, 10*time.Second, func(ctx context.Context) error { return c.run(t, ctx, program) })
	if err != nil {
		t.Fatal(err)
	}
}

// Errors runs program on every role, lets each finish even if others fail, and returns the errors by role: "server 0",
// "worker 1".
func (c Cluster) Errors(t testing.TB, program Program) map[string]error {
	t.Helper()
	errs := map[string]error{}
	var mu sync.Mutex
	err := c.each(t, t.Context(), program, func(role string, err error) {
		mu.Lock()
		defer mu.Unlock()
		errs[role] = err
	})
	if err != nil {
		t.Fatal(err)
	}
	return errs
}

// run ends all roles when one fails, and returns the error of that role.
func (c Cluster) run(t testing.TB, ctx context.Context, program Program) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	err := c.each(t, ctx, program, func(role string, err error) {
		if err != nil {
			cancel(fmt.Errorf("%s: %w", role, err)) // the first cause is kept
		}
	})
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return err
}

// each starts a goroutine for every role and waits for all.
func (c Cluster) each(t testing.TB, ctx context.Context, program Program, done func(role string, err error)) error {
	if c.Options.Transport == nil {
		c.Options.Transport = transport.NewMemory()
	}
	if c.Options.Logger == nil {
		c.Options.Logger = slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	c.Endpoints = c.endpoints()
	var fleets []*fleet.Fleet
	for _, rm := range c.roles() {
		f, err := fleet.New(ctx, rm, c.Options)
		if err != nil {
			return err
		}
		fleets = append(fleets, f)
	}
	var wg sync.WaitGroup
	for _, f := range fleets {
		wg.Go(func() {
			defer f.Close() // a worker that has failed reports it
			done(name(f), program(ctx, f))
		})
	}
	wg.Wait()
	return nil
}

// endpoints are those given, and names for the rest.
func (c Cluster) endpoints() []string {
	kind, n := "server", c.Servers
	if c.Servers == 0 {
		kind, n = "worker", c.Workers
	}
	all := slices.Clone(c.Endpoints)
	for i := len(all); i < n; i++ {
		all = append(all, fmt.Sprintf("%s-%d:1", kind, i))
	}
	return all
}

func (c Cluster) roles() (all []rolemaker.RoleMaker) {
	if c.Servers == 0 && c.Workers <= 1 {
		return []rolemaker.RoleMaker{rolemaker.Local{}}
	}
	if c.Servers == 0 {
		for i := range c.Workers {
			all = append(all, rolemaker.UserDefinedCollective{CurrentID: i, WorkerEndpoints: c.Endpoints})
		}
		return all
	}
	for i := range c.Servers {
		all = append(all, rolemaker.UserDefined{CurrentID: i, Role: rolemaker.Server, WorkerNum: c.Workers,
			ServerEndpoints: c.Endpoints})
	}
	for i := range c.Workers {
		all = append(all, rolemaker.UserDefined{CurrentID: i, Role: rolemaker.Worker, WorkerNum: c.Workers,
			ServerEndpoints: c.Endpoints})
	}
	return all
}

func name(f *fleet.Fleet) string {
	if f.IsServer() {
		return fmt.Sprintf("server %d", f.ServerIndex())
	}
	return fmt.Sprintf("worker %d", f.WorkerIndex())
}

// testWriter writes a logger's lines into a test's log.
type testWriter struct{ t testing.TB }

var _ io.Writer = testWriter{}

func (w testWriter) Write(b []byte) (int, error) {
	w.t.Log(strings.TrimRight(string(b), "\n"))
	return len(b), nil
}
