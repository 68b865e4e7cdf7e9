package strategy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/strategy"
)

func TestPresets(t *testing.T) {
	for name, want := range map[string]strategy.Strategy{"sync": strategy.Sync(), "async": strategy.Async(), "half_async": strategy.HalfAsync(), "ssp": strategy.SSP(0), "geo": strategy.Geo(0)} {
		got, err := strategy.Named(name)
		if err != nil || got != want {
			t.Errorf("preset %q is %v, error %v; want %v", name, got, err, want)
		}
		if string(got.Mode) != name {
			t.Errorf("preset %q has mode %q", name, got.Mode)
		}
		if err := got.Validate(); err != nil {
			t.Errorf("preset %q: %v", name, err)
		}
	}
}

func TestNamedNamesThePresets(t *testing.T) {
	_, err := strategy.Named("gossip")
	if err == nil || !strings.Contains(err.Error(), `"gossip"`) || !strings.Contains(err.Error(), `"sync", "async"`) {
		t.Errorf("error %v", err)
	}
}

func TestDefaults(t *testing.T) {
	want := strategy.Strategy{
		Mode:                     "async",
		MaxMergeVarNum:           1,
		SendQueueSize:            1,
		ThreadPoolSize:           1,
		MinSendGradNumBeforeRecv: 1,
		Placement:                "RoundRobin",
		MinBlockSize:             8192,
		Codec:                    "none",
		Payload:                  "float32",
		MaxFrame:                 64 << 20,
		NotFinite:                "refuse",
		HeartbeatInterval:        strategy.Duration(time.Second),
		WorkerTimeout:            strategy.Duration(30 * time.Second),
		StartTimeout:             strategy.Duration(3 * time.Minute),
		WaitTimeout:              strategy.Duration(15 * time.Minute),
	}
	if got := (strategy.Strategy{}).WithDefaults(); got != want {
		t.Errorf("the zero strategy is\n%v, want\n%v", got, want)
	}
	want.Mode, want.Weighting = "sync", "samples"
	want.MaxMergeVarNum, want.SendQueueSize, want.ThreadPoolSize, want.MinSendGradNumBeforeRecv = 0, 0, 0, 0
	if got := strategy.Sync().WithDefaults(); got != want {
		t.Errorf("sync is\n%v, want\n%v", got, want)
	}
}

func TestDefaultsKeepWhatIsSet(t *testing.T) {
	set := strategy.Strategy{
		Mode:              "sync",
		Placement:         "HashName",
		MinBlockSize:      100,
		SmallBlocks:       true,
		Codec:             "s2",
		Payload:           "int8",
		MaxFrame:          5000,
		NotFinite:         "clip",
		HeartbeatInterval: 1,
		WorkerTimeout:     2,
		StartTimeout:      3,
		WaitTimeout:       4,
		Weighting:         "equal",
	}
	if got := set.WithDefaults(); got != set {
		t.Errorf("defaults changed what was set: %v", got)
	}
	drifting := strategy.Strategy{LocalSGD: strategy.LocalSGD{KSteps: 2}, AdaptiveLocalSGD: strategy.AdaptiveLocalSGD{InitKSteps: 2}}.WithDefaults()
	if drifting.LocalSGD.BeginStep != 1 || drifting.AdaptiveLocalSGD.BeginStep != 1 {
		t.Errorf("workers that meet seldom begin to at steps %d and %d, want 1", drifting.LocalSGD.BeginStep, drifting.AdaptiveLocalSGD.BeginStep)
	}
}

// Filling in defaults twice changes nothing, and never makes a valid strategy invalid.
func TestDefaultsAreStable(t *testing.T) {
	for _, s := range []strategy.Strategy{{}, strategy.Sync(), strategy.Async(), {NoSlice: true}, {Mode: "sync", Weighting: "pushes"}} {
		once := s.WithDefaults()
		if twice := once.WithDefaults(); twice != once {
			t.Errorf("%v becomes %v", once, twice)
		}
		if err := once.Validate(); err != nil {
			t.Errorf("%v: %v", once, err)
		}
	}
}

// A file of half the traffic: gradients of 2 bytes a number.
func ExamplePayload() {
	s, err := strategy.Read(strings.NewReader(`{"mode": "sync", "payload": "bfloat16"}`))
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println(s.Payload, strategy.Sync().WithDefaults().Payload)
	_, err = strategy.Read(strings.NewReader(`{"payload": "int4"}`))
	fmt.Println(err)
	// Output:
	// bfloat16 float32
	// strategy: payload is "int4"; it can be "float32", "float16", "bfloat16" or "int8"
}
