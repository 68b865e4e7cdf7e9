package collective_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/collective"
	"github.com/gofleet/gofleet/internal/porttest"
	"github.com/gofleet/gofleet/transport"
)

// networks are what ranks can meet over: a transport for each rank, and endpoints.
func networks() map[string]func(t testing.TB, ranks int) collective.Config {
	return map[string]func(testing.TB, int) collective.Config{
		"memory": func(_ testing.TB, n int) collective.Config {
			c := collective.Config{Transport: transport.NewMemory()}
			for r := range n {
				c.Endpoints = append(c.Endpoints, fmt.Sprintf("worker-%d:1", r))
			}
			return c
		},
		"FastHTTP": func(t testing.TB, n int) collective.Config {
			return collective.Config{Transport: &transport.FastHTTP{}, Endpoints: porttest.Free(t, n)}
		},
	}
}

func onMemory(t testing.TB, ranks int) collective.Config { return networks()["memory"](t, ranks) }

// run runs f as every rank of a group, and returns what each returned.
func run(t testing.TB, c collective.Config, f func(ctx context.Context, g *collective.Group) error) []error {
	t.Helper()
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	errs := make([]error, len(c.Endpoints))
	var ranks sync.WaitGroup
	for r := range c.Endpoints {
		own := c
		own.Rank = r
		g, err := collective.New(t.Context(), own)
		if err != nil {
			t.Fatal(err)
		}
		ranks.Go(func() { errs[r] = member(t.Context(), g, f) })
	}
	ranks.Wait()
	return errs
}

// member joins, does its part and leaves; when its part fails it goes at once.
func member(ctx context.Context, g *collective.Group, f func(context.Context, *collective.Group) error) error {
	err := g.Join(ctx)
	if err == nil {
		err = f(ctx, g)
	}
	if err == nil {
		return g.Leave(ctx)
	}
	return errors.Join(err, g.Close(context.WithoutCancel(ctx), err))
}

// mustRun fails the test if a rank fails.
func mustRun(t testing.TB, c collective.Config, f func(ctx context.Context, g *collective.Group) error) {
	t.Helper()
	for r, err := range run(t, c, f) {
		if err != nil {
			t.Fatalf("rank %d: %v", r, err)
		}
	}
}

// hasty is a config whose patience a test can wait for.
func hasty(c collective.Config) collective.Config {
	c.StartTimeout, c.WaitTimeout, c.SilenceTimeout, c.ProbeInterval = 5*time.Second, 5*time.Second, 100*time.Millisecond, 10*time.Millisecond
	return c
}
