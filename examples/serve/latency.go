package main

import (
	"math"
	"sync/atomic"
	"time"
)

// latency counts requests by how long they took: four buckets for each doubling, from 1 µs on, so that a quantile is
// told to 19 %.
type latency struct{ buckets [4 * 32]atomic.Int64 }

func (l *latency) add(d time.Duration) {
	at := 4 * math.Log2(float64(max(d, time.Microsecond))/float64(time.Microsecond))
	l.buckets[min(int(at), len(l.buckets)-1)].Add(1)
}

// ends is the time, in microseconds, at which a bucket ends.
func ends(bucket int) float64 { return math.Round(10*math.Exp2(float64(bucket+1)/4)) / 10 }

// report is the number of requests, quantiles in microseconds, and the buckets with something in them by their ends.
func (l *latency) report() map[string]any {
	var counts [len(l.buckets)]int64
	total, by := int64(0), []map[string]float64{}
	for i := range l.buckets {
		if counts[i] = l.buckets[i].Load(); counts[i] > 0 {
			by = append(by, map[string]float64{"below_us": ends(i), "requests": float64(counts[i])})
		}
		total += counts[i]
	}
	quantile := func(q float64) (us float64) {
		for i, left := 0, int64(math.Ceil(q*float64(total))); left > 0; i++ {
			left, us = left-counts[i], ends(i)
		}
		return us
	}
	return map[string]any{"requests": total, "p50_us": quantile(0.5), "p90_us": quantile(0.9), "p99_us": quantile(0.99),
		"buckets": by}
}
