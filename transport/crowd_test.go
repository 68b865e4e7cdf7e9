package transport_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/gofleet/gofleet/transport"
)

// TestThousandConnections has a thousand calls at once, keeps their connections, and looks at what they hold while they are
// idle; the server must answer as before, and close at once.
func TestThousandConnections(t *testing.T) {
	const many = 1000
	server, client := &transport.FastHTTP{}, &transport.FastHTTP{IdleConns: many}
	l, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	var all sync.WaitGroup
	all.Add(many)
	go func() {
		served <- l.Serve(func(req []byte, _ *transport.Reply) {
			if len(req) == 0 {
				all.Done()
				all.Wait()
			}
		})
	}()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var calls sync.WaitGroup
	for range many {
		calls.Go(func() {
			if err := client.Call(t.Context(), l.Endpoint(), nil, func([]byte) error { return nil }); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	if s := client.Stats(); s.Dials != many || s.Calls != many {
		t.Errorf("%d connections for %d calls", s.Dials, s.Calls)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := (int64(after.HeapInuse) - int64(before.HeapInuse)) / many
	t.Logf("an idle connection holds %d bytes of heap on both sides together", each)
	if each > 400<<10 {
		t.Errorf("an idle connection holds %d bytes", each)
	}
	for range 100 {
		if _, err := ask(client, l.Endpoint(), "still there"); err != nil {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := errors.Join(l.Close(ctx), <-served); err != nil {
		t.Error(err)
	}
	client.CloseIdleConnections()
}
