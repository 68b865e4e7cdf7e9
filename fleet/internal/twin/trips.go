package twin

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// trips is a process's way to the network, which counts its calls.
type trips struct {
	transport.Transport
	made atomic.Int64
}

// Call implements [transport.Transport].
func (t *trips) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	t.made.Add(1)
	return t.Transport.Call(ctx, endpoint, req, read)
}

// tripped compares the calls of the steps behind the first of an epoch with what Explain says of them.
func (r *role) tripped(at string, c Call, calls []int64) error {
	s, last := r.l.Strategy, len(calls)-1
	if r.l.kind() != string(strategy.ModeSync) || s.MaxFrame+s.GradientMerge.KSteps > 0 ||
		len(c.Looks) > 0 || last < 1 || r.l.returns() {
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
		r.mu.Lock()
		defer r.mu.Unlock()
		wrong := fmt.Sprintf("%s: %v calls for %d steps, explained are %v", at, got, last, want)
		r.saw.trips = append(r.saw.trips, wrong)
	}
	return nil
}
