package strategy

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/strategy/placement"
)

// Validate returns all problems of the strategy, each with the field and its value, or nil. It does not know the
// program's own placement policies; [Strategy.PlacementOptions] does.
func (s Strategy) Validate() error {
	s = s.WithDefaults()
	return errors.Join(
		oneOf("mode", s.Mode, Modes()...),
		oneOf("codec", s.Codec, "none", "s2", "zstd", "gzip"),
		oneOf("payload", s.Payload, PayloadFloat32, PayloadFloat16, PayloadBFloat16, PayloadInt8),
		oneOf("not_finite", s.NotFinite, NotFiniteRefuse, NotFiniteSkip, NotFiniteClip),
		s.checkWeighting(),
		s.checkModeFields(),
		s.checkCollective(),
		s.checkBlocks(),
		s.checkFrame(),
		s.checkMemory(),
		s.checkTimes(),
		s.checkLimits(),
		s.Recovery.check(),
	)
}

func oneOf[T ~string](field string, value T, names ...T) error {
	if slices.Contains(names, value) {
		return nil
	}
	return fmt.Errorf("strategy: %s is %q; it can be %s", field, value, list(names))
}

func (s Strategy) checkWeighting() error {
	if s.Weighting == "" {
		return nil
	}
	if s.Mode != ModeSync {
		return fmt.Errorf("strategy: weighting is %q, but mode %s has no rounds to weigh; leave it out", s.Weighting,
			s.Mode)
	}
	return oneOf("weighting", s.Weighting, WeightSamples, WeightEqual, WeightPushes)
}

// modeField is a number that only some modes obey.
type modeField struct {
	name  string
	value any
	set   bool
	low   bool // below what it can be
	modes []Mode
}

func (s Strategy) modeFields() []modeField {
	number := func(name string, v int, modes ...Mode) modeField {
		return modeField{name, v, v != 0, v < 0, modes}
	}
	return []modeField{
		number("staleness", s.Staleness, ModeSSP),
		number("k_steps", s.KSteps, ModeGeo),
		{"geo_rest", s.GeoRest, s.GeoRest != "", false, []Mode{ModeGeo}},
		{"look_ahead", s.LookAhead, s.LookAhead, false, []Mode{ModeAsync}},
		{"no_foresight", s.NoForesight, s.NoForesight, false, []Mode{ModeAsync, ModeHalfAsync, ModeSSP}},
		{"merge", s.Merge, s.Merge != "", false, []Mode{ModeAsync, ModeHalfAsync}},
		number("max_merge_var_num", s.MaxMergeVarNum, ModeAsync),
		number("push_samples", s.PushSamples, ModeAsync),
		number("send_queue_size", s.SendQueueSize, ModeAsync),
		number("send_wait_times", s.SendWaitTimes, ModeAsync),
		number("thread_pool_size", s.ThreadPoolSize, ModeAsync),
		{"independent_recv_thread", s.IndependentRecvThread, s.IndependentRecvThread, false, []Mode{ModeAsync}},
		number("min_send_grad_num_before_recv", s.MinSendGradNumBeforeRecv, ModeAsync),
		{"recovery: worker_lost", s.Recovery.WorkerLost, s.Recovery.WorkerLost != "", false, []Mode{ModeSync, ModeSSP}},
		{"delay_compensation", s.DelayCompensation, s.DelayCompensation != 0, !(s.DelayCompensation >= 0),
			[]Mode{ModeAsync}},
	}
}

// checkModeFields refuses what the mode would ignore.
func (s Strategy) checkModeFields() error {
	var errs []error
	if s.Merge != "" {
		errs = append(errs, oneOf("merge", s.Merge, MergeMean, MergeSum))
	}
	if s.GeoRest != "" {
		errs = append(errs, oneOf("geo_rest", s.GeoRest, GeoRestSend, GeoRestKeep))
	}
	if s.Mode == ModeGeo && s.Payload != PayloadFloat32 {
		errs = append(errs, fmt.Errorf("strategy: payload is %q, but mode geo exchanges differences of weights, "+
			"which must add up exactly; leave it out", s.Payload))
	}
	for _, f := range s.modeFields() {
		switch {
		case !f.set:
		case f.low:
			errs = append(errs, fmt.Errorf("strategy: %s is %v; it can't be negative", f.name, f.value))
		case !slices.Contains(f.modes, s.Mode):
			errs = append(errs, fmt.Errorf("strategy: %s is %v, but only mode %s has it; leave it out", f.name, f.value,
				list(f.modes)))
		}
	}
	if s.Merge != "" && s.Mode == ModeAsync && s.MaxMergeVarNum <= 1 {
		errs = append(errs, fmt.Errorf("strategy: merge is %q, but max_merge_var_num is %d: no gradients travel "+
			"together; raise the one or leave out the other", s.Merge, s.MaxMergeVarNum))
	}
	if s.PushSamples > 1 && s.Queues() {
		errs = append(errs, fmt.Errorf("strategy: push_samples is %d, but another option queues, merges or delays "+
			"gradients or weights; leave one out", s.PushSamples))
	}
	if s.NoForesight && s.DelayCompensation > 0 {
		errs = append(errs, errors.New("strategy: no_foresight is true, but with delay_compensation nothing is "+
			"foreseen; leave it out"))
	}
	if s.SendWaitTimes > 0 && s.MaxMergeVarNum <= 1 {
		errs = append(errs, fmt.Errorf("strategy: send_wait_times is %d, but max_merge_var_num is %d: there is "+
			"nothing to wait for; raise the one or leave out the other", s.SendWaitTimes, s.MaxMergeVarNum))
	}
	return errors.Join(errs...)
}

func (s Strategy) checkBlocks() error {
	const least = placement.DefaultMinBlockSize
	switch {
	case s.NoSlice && s.MinBlockSize != 0:
		return fmt.Errorf("strategy: min_block_size is %d, but no_slice cuts nothing; leave one out", s.MinBlockSize)
	case s.NoSlice && s.SmallBlocks:
		return errors.New("strategy: small_blocks is true, but no_slice cuts nothing; leave one out")
	case s.MinBlockSize < 0:
		return fmt.Errorf("strategy: min_block_size is %d; it counts elements", s.MinBlockSize)
	case !s.NoSlice && s.MinBlockSize < least && !s.SmallBlocks:
		return fmt.Errorf("strategy: min_block_size is %d, below %d; set small_blocks if that is meant", s.MinBlockSize,
			least)
	}
	return nil
}

func (s Strategy) checkMemory() error {
	switch {
	case !(s.MaxMemory >= 0 && s.MaxMemory < 1):
		return fmt.Errorf("strategy: max_memory is %v; it is a share, such as 0.8, and 0 for no bound", s.MaxMemory)
	case s.MaxMemory > 0 && s.Mode == ModeGeo:
		return fmt.Errorf("strategy: max_memory is %v, but mode geo keeps every row on every worker; leave it out",
			s.MaxMemory)
	}
	return nil
}

// minFrame leaves room for a frame's header and some rows.
const minFrame = 4096

func (s Strategy) checkFrame() error {
	if s.MaxFrame < minFrame {
		return fmt.Errorf("strategy: max_frame is %d; it counts bytes and is at least %d", s.MaxFrame, minFrame)
	}
	return nil
}

func (s Strategy) checkTimes() error {
	var errs []error
	for _, t := range s.times() {
		if t.value < 0 {
			errs = append(errs, fmt.Errorf("strategy: %s is %v; it can't be negative", t.field, t.value))
		}
	}
	if s.HeartbeatInterval > s.WorkerTimeout/2 {
		errs = append(errs, fmt.Errorf("strategy: heartbeat_interval is %v and worker_timeout is %v; "+
			"a worker must be able to miss one heartbeat, so worker_timeout must be at least twice as long",
			s.HeartbeatInterval, s.WorkerTimeout))
	}
	return errors.Join(errs...)
}

type namedTime struct {
	field string
	value Duration
}

func (s Strategy) times() []namedTime {
	return []namedTime{
		{"heartbeat_interval", s.HeartbeatInterval},
		{"worker_timeout", s.WorkerTimeout},
		{"start_timeout", s.StartTimeout},
		{"wait_timeout", s.WaitTimeout},
		{"recovery: every", s.Recovery.Every},
		{"recovery: restart_timeout", s.Recovery.RestartTimeout},
	}
}
