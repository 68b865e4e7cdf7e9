package strategy

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// The most that fields can be. What is beyond is a slip, which would cost the process its memory, or a processor.
const (
	mostStaleness = 1 << 30
	mostQueue     = 1 << 16 // each keeps a copy of the dense gradients
	mostSamples   = 1 << 30
	mostWaits     = 1 << 20 // of 10 ms
	mostRequests  = 1 << 10
	mostFused     = 1 << 20 // MiB
	mostTime      = Duration(10 * 365 * 24 * time.Hour)
	leastBeat     = Duration(time.Millisecond)
	leastEvery    = Duration(100 * time.Millisecond)
	mostKept      = 1 << 20
)

// checkLimits refuses numbers that no job can mean.
func (s Strategy) checkLimits() error {
	var errs []error
	for _, f := range []struct {
		name        string
		value, most int
	}{
		{"staleness", s.Staleness, mostStaleness},
		{"send_queue_size", s.SendQueueSize, mostQueue},
		{"push_samples", s.PushSamples, mostSamples},
		{"send_wait_times", s.SendWaitTimes, mostWaits},
		{"thread_pool_size", s.ThreadPoolSize, mostRequests},
		{"fuse_grad_size_in_MB", s.FuseGradSizeInMB, mostFused},
		{"recovery: keep", s.Recovery.Keep, mostKept},
		{"recovery: deltas", s.Recovery.Deltas, mostKept},
	} {
		if f.value > f.most {
			errs = append(errs, fmt.Errorf("strategy: %s is %d; it can be at most %d", f.name, f.value, f.most))
		}
	}
	if math.IsInf(s.DelayCompensation, 1) {
		errs = append(errs, fmt.Errorf("strategy: delay_compensation is %v; it must be a number", s.DelayCompensation))
	}
	for _, t := range s.times() {
		if t.value > mostTime {
			errs = append(errs, fmt.Errorf("strategy: %s is %v; it can be at most %v", t.field, t.value, mostTime))
		}
	}
	if s.HeartbeatInterval < leastBeat {
		errs = append(errs, fmt.Errorf("strategy: heartbeat_interval is %v; it must be at least %v",
			s.HeartbeatInterval, leastBeat))
	}
	return errors.Join(errs...)
}
