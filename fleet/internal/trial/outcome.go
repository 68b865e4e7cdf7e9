package trial

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet/stats"
	"github.com/gofleet/gofleet/strategy/placement"
	"github.com/gofleet/gofleet/transport"
)

// Outcome is the observable result of a trial.
type Outcome struct {
	Model  []byte
	Plan   *placement.Plan
	Counts []stats.Counts  // by worker
	Looped []time.Duration // time that a worker's loop took
	Begun  float32         // a weight at the beginning of worker 0's last step
	Errs   map[string]error
	When   map[string]time.Duration // the time at which a role ended
	Net    transport.Stats
	Most   int            // bytes of the largest message
	To     map[string]int // bytes of requests by endpoint
	Pushes int            // requests to server 0 with its half of the large param's gradient
}

// Steps returns the number of all workers' pushes that count.
func (o Outcome) Steps() (n int64) {
	for _, c := range o.Counts {
		n += c.Steps
	}
	return n
}

// Near reports whether a differs from b by at most the given part of b.
func Near(a, b, part float64) bool { return math.Abs(a-b) <= part*math.Abs(b) }

// Value returns the first element of a variable.
func (o Outcome) Value(t *testing.T, name string) float64 { return float64(o.Values(t, name)[0]) }

// Values returns all elements of a variable.
func (o Outcome) Values(t *testing.T, name string) []float32 {
	t.Helper()
	return Tensor[float32](t, o.Model, name)
}

// Row returns the first element of a row.
func (o Outcome) Row(t *testing.T, id uint64) float64 {
	t.Helper()
	at := slices.Index(Tensor[uint64](t, o.Model, "rows.ids"), id)
	if at < 0 {
		t.Fatalf("missing row %d", id)
	}
	return float64(o.Values(t, "rows")[4*at])
}
