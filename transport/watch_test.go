package transport_test

import (
	"context"
	"errors"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/transport"
)

// TestConnectionsFollowTheirCalls: a context that ends between calls leaves the connection to others, and the context of many calls
// ends the one that is under way.
func TestConnectionsFollowTheirCalls(t *testing.T) {
	tr := &transport.FastHTTP{}
	l, err := tr.Listen("127.0.0.1:0")
	law.Check(t, err)
	arrived, release := make(chan struct{}), make(chan struct{})
	served := make(chan error, 1)
	go func() {
		served <- l.Serve(func(req []byte, _ *transport.Reply) {
			if string(req) == "stay" {
				close(arrived)
				<-release
			}
		})
	}()
	call := func(ctx context.Context, what string) error {
		return tr.Call(ctx, l.Endpoint(), [][]byte{[]byte(what)}, func([]byte) error { return nil })
	}
	for range 5 {
		ctx, cancel := context.WithCancel(t.Context())
		law.Check(t, call(ctx, "go"))
		cancel()
	}
	errEnded := errors.New("it was ended")
	ctx, cancel := context.WithCancelCause(t.Context())
	for range 5 {
		law.Check(t, call(ctx, "go"))
	}
	if n := tr.Stats().Dials; n != 1 {
		t.Errorf("calls in a row made %d connections, want 1", n)
	}
	go func() {
		<-arrived
		cancel(errEnded)
	}()
	if err := call(ctx, "stay"); !errors.Is(err, errEnded) {
		t.Errorf("a call whose context ended: %v", err)
	}
	if err := call(ctx, "go"); !errors.Is(err, errEnded) || !errors.Is(err, transport.ErrUnreachable) {
		t.Errorf("a call after the end of its context: %v", err)
	}
	law.Check(t, call(t.Context(), "go"))
	if n := tr.Stats().Dials; n != 2 {
		t.Errorf("%d connections in all, want one more after a call that was ended", n)
	}
	close(release)
	law.Check(t, errors.Join(l.Close(t.Context()), <-served))
}

// TestAContextCostsNothing: calls with one context allocate no more than those without.
func TestAContextCostsNothing(t *testing.T) {
	tr := &transport.FastHTTP{}
	endpoint, _ := start(t, tr, "127.0.0.1:0")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, errs := [][]byte{make([]byte, 64)}, error(nil)
	allocations := func(ctx context.Context) float64 {
		return testing.AllocsPerRun(200, func() {
			errs = errors.Join(errs, tr.Call(ctx, endpoint, req, func([]byte) error { return nil }))
		})
	}
	with, without := allocations(ctx), allocations(context.Background())
	if law.Check(t, errs); with > without+1 {
		t.Errorf("%v allocations a call, and %v without a context that ends", with, without)
	}
}
