package fleet_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// others are strategies that are valid and differ in one field, which the key names, from one of a mode that has it.
func others() map[string][2]strategy.Strategy {
	with := func(base strategy.Strategy, change func(*strategy.Strategy)) [2]strategy.Strategy {
		changed := base
		change(&changed)
		return [2]strategy.Strategy{base, changed}
	}
	const minute = strategy.Duration(time.Minute)
	equal := strategy.Strategy{Mode: strategy.ModeSync, Weighting: strategy.WeightEqual}
	merged := strategy.Strategy{MaxMergeVarNum: 2}
	small := strategy.Strategy{SmallBlocks: true, MinBlockSize: 8192}
	return map[string][2]strategy.Strategy{
		"Mode":                     {strategy.Sync(), strategy.Async()},
		"Staleness":                {strategy.SSP(1), strategy.SSP(2)},
		"KSteps":                   {strategy.Geo(1), strategy.Geo(2)},
		"GeoRest":                  with(strategy.Geo(1), func(s *strategy.Strategy) { s.GeoRest = strategy.GeoRestKeep }),
		"LookAhead":                with(strategy.Async(), func(s *strategy.Strategy) { s.LookAhead = true }),
		"NoForesight":              with(strategy.Async(), func(s *strategy.Strategy) { s.NoForesight = true }),
		"Merge":                    with(strategy.HalfAsync(), func(s *strategy.Strategy) { s.Merge = strategy.MergeSum }),
		"MaxMergeVarNum":           with(strategy.Async(), func(s *strategy.Strategy) { s.MaxMergeVarNum = 2 }),
		"PushSamples":              with(strategy.Async(), func(s *strategy.Strategy) { s.PushSamples = 2 }),
		"SendQueueSize":            with(strategy.Async(), func(s *strategy.Strategy) { s.SendQueueSize = 2 }),
		"SendWaitTimes":            with(merged, func(s *strategy.Strategy) { s.SendWaitTimes = 2 }),
		"ThreadPoolSize":           with(strategy.Async(), func(s *strategy.Strategy) { s.ThreadPoolSize = 2 }),
		"IndependentRecvThread":    with(strategy.Async(), func(s *strategy.Strategy) { s.IndependentRecvThread = true }),
		"MinSendGradNumBeforeRecv": with(strategy.Async(), func(s *strategy.Strategy) { s.MinSendGradNumBeforeRecv = 2 }),
		"DelayCompensation":        with(strategy.Async(), func(s *strategy.Strategy) { s.DelayCompensation = 1 }),
		"Placement":                with(strategy.Sync(), func(s *strategy.Strategy) { s.Placement = "HashName" }),
		"NoSlice":                  with(strategy.Sync(), func(s *strategy.Strategy) { s.NoSlice = true }),
		"MinBlockSize":             with(strategy.Sync(), func(s *strategy.Strategy) { s.MinBlockSize = 81920 }),
		"SmallBlocks":              with(small, func(s *strategy.Strategy) { s.SmallBlocks = false }),
		"Codec":                    with(strategy.Sync(), func(s *strategy.Strategy) { s.Codec = "s2" }),
		"Payload":                  with(strategy.Sync(), func(s *strategy.Strategy) { s.Payload = strategy.PayloadInt8 }),
		"MaxFrame":                 with(strategy.Sync(), func(s *strategy.Strategy) { s.MaxFrame = 1 << 20 }),
		"MaxMemory":                with(strategy.Sync(), func(s *strategy.Strategy) { s.MaxMemory = 0.8 }),
		"NotFinite":                with(strategy.Sync(), func(s *strategy.Strategy) { s.NotFinite = strategy.NotFiniteSkip }),
		"HeartbeatInterval":        with(strategy.Sync(), func(s *strategy.Strategy) { s.HeartbeatInterval = minute / 30 }),
		"WorkerTimeout":            with(strategy.Sync(), func(s *strategy.Strategy) { s.WorkerTimeout = minute }),
		"StartTimeout":             with(strategy.Sync(), func(s *strategy.Strategy) { s.StartTimeout = minute }),
		"WaitTimeout":              with(strategy.Sync(), func(s *strategy.Strategy) { s.WaitTimeout = minute }),
		"Weighting":                with(strategy.Sync(), func(s *strategy.Strategy) { s.Weighting = strategy.WeightEqual }),
		"GradientMerge":            with(strategy.Sync(), func(s *strategy.Strategy) { s.GradientMerge.KSteps = 2 }),
		"FuseGradSizeInMB":         with(strategy.Sync(), func(s *strategy.Strategy) { s.FuseGradSizeInMB = 1 }),
		"LocalSGD":                 with(equal, func(s *strategy.Strategy) { s.LocalSGD.KSteps = 2 }),
		"Recovery":                 with(strategy.Sync(), func(s *strategy.Strategy) { s.Recovery.Dir = "checkpoints" }),
		"AdaptiveLocalSGD":         with(equal, func(s *strategy.Strategy) { s.AdaptiveLocalSGD.InitKSteps = 2 }),
	}
}

// TestProcessesMustAgree gives a worker a strategy that differs in one field from that of the rest of its job: it is told at
// once, and which field it is, instead of training half of the one and half of the other.
//
// Promise: [G8] a process of another job, or of one that began from something else, is refused
// Also: TestRestoreIsTheSameEverywhere
func TestProcessesMustAgree(t *testing.T) {
	t.Parallel()
	differ := others()
	fields := reflect.VisibleFields(reflect.TypeFor[strategy.Strategy]())
	for _, field := range fields {
		if _, ok := differ[field.Name]; !ok {
			t.Errorf("no strategy differs in %s", field.Name)
		}
	}
	for _, field := range trial.Some(t, fields) {
		pair := differ[field.Name]
		t.Run(field.Name, func(t *testing.T) {
			cluster := fleettest.Cluster{Servers: 1, Workers: 1}
			if pair[1].WithoutServers() != "" {
				cluster = fleettest.Cluster{Workers: 2}
			}
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			checkRefused(t, cluster, pair, fmt.Sprintf(" has strategy %s ", name))
		})
	}
}

// checkRefused has the last worker of a cluster join with another strategy than all others.
func checkRefused(t *testing.T, cluster fleettest.Cluster, pair [2]strategy.Strategy, want string) {
	t.Helper()
	serving, refused := context.WithCancel(t.Context())
	defer refused()
	errs := cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
		s := pair[0]
		if f.WorkerIndex() == f.WorkerNum()-1 {
			defer refused()
			s = pair[1]
		}
		if err := trial.Minimize(f, trial.NewWeights(3), optimizer.SGD{LR: 1}, s); err != nil {
			return err
		}
		if f.IsWorker() {
			return f.InitWorker(ctx)
		}
		return trial.Serve(serving, f, "")
	})
	worker := fmt.Sprintf("worker %d", cluster.Workers-1)
	if err := errs[worker]; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s was told %v, want %q", worker, err, want)
	}
}
