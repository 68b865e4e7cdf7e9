package wire

import (
	"time"

	"github.com/gofleet/gofleet/internal/count"
)

// OpOf is the op of a frame that this build has built.
func OpOf(frame []byte) Op { return Op(frame[5]) }

// Times makes histograms of the durations of requests, by op.
func Times() []*count.Histogram {
	times := make([]*count.Histogram, opEnd)
	for op := range times {
		times[op] = count.NewTimes(500*time.Microsecond, 2*time.Millisecond, 10*time.Millisecond, 50*time.Millisecond,
			200*time.Millisecond, time.Second, 5*time.Second, 30*time.Second)
	}
	return times
}

// Took returns the durations in seconds by the names of the ops, without ops that did not occur.
func Took(times []*count.Histogram) map[string]count.Distribution {
	took := map[string]count.Distribution{}
	for op, h := range times {
		if d := h.Read(int64(time.Second)); d.Count() > 0 {
			took[Op(op).String()] = d
		}
	}
	return took
}
