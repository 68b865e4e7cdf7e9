package transport

import (
	"testing"

	"github.com/gofleet/gofleet/internal/count/counttest"
)

// TestEveryCounterHasAName: each counter is a field of Stats, and each field of Stats is counted; raw bytes are what
// Compressed counts of the same.
func TestEveryCounterHasAName(t *testing.T) {
	counttest.Run(t, Stats{}, []string{"raw_sent", "raw_received", "raw_served_received", "raw_served_sent"},
		new(callMeter), new(serveMeter))
}
