package twin

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// trips is a process's way to the network, which counts its calls, and the ids in them.
type trips struct {
	transport.Transport
	made atomic.Int64

	mu    sync.Mutex      // guards what follows, which is nil where requests can't be read
	lists map[int]*listed // by param
	idle  map[string]int  // by server
}

// Call implements [transport.Transport].
func (t *trips) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	t.made.Add(1)
	if t.lists != nil {
		t.mu.Lock()
		list(req, t.lists)
		if idle(req) {
			t.idle[endpoint]++
		}
		t.mu.Unlock()
	}
	return t.Transport.Call(ctx, endpoint, req, read)
}

// differs notes what a process takes of the network that Explain does not say.
func (r *role) differs(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.saw.trips = append(r.saw.trips, fmt.Sprintf(format, args...))
}

// tripped compares the calls of the steps behind the first of an epoch with what Explain says of them.
func (r *role) tripped(at string, c Call, calls []int64) error {
	s, last := r.l.Strategy, len(calls)-1
	if r.l.kind() != string(strategy.ModeSync) || s.MaxFrame+s.GradientMerge.KSteps > 0 ||
		len(c.Looks) > 0 || c.Turn != nil || last < 1 || r.l.returns() {
		return nil
	}
	e, err := r.f.Explain(map[string]int{})
	if err != nil {
		return err
	}
	want := 0.0
	for _, s := range e.Servers {
		want += s.Trips * float64(last)
	}
	if got := float64(calls[last] - calls[0]); math.Abs(got-want) > 0.01 {
		r.differs("%s: %v calls for %d steps, explained are %v", at, got, last, want)
	}
	return nil
}
