package strategy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/strategy"
)

func TestWithoutServers(t *testing.T) {
	var s strategy.Strategy
	text := `{"mode": "sync", "localsgd": {"k_steps": 4, "begin_step": 10}, "fuse_grad_size_in_MB": 16}`
	if err := json.Unmarshal([]byte(text), &s); err != nil || s.Validate() != nil {
		t.Fatal(err, s.Validate())
	}
	if want := (strategy.Strategy{Mode: strategy.ModeSync, LocalSGD: strategy.LocalSGD{KSteps: 4, BeginStep: 10}, FuseGradSizeInMB: 16}); s != want {
		t.Errorf("read %+v, want %+v", s, want)
	}
	if got := s.WithoutServers(); got != "localsgd" {
		t.Errorf("only jobs without servers have %q", got)
	}
	if got := strategy.Sync().WithoutServers(); got != "" {
		t.Errorf("only jobs without servers have %q", got)
	}
	again, err := json.Marshal(strategy.Sync())
	if err != nil || strings.Contains(string(again), "localsgd") {
		t.Errorf("written %s, error %v", again, err)
	}
	if got := (strategy.Strategy{GradientMerge: strategy.GradientMerge{KSteps: 2}}).WithoutServers(); got != "" {
		t.Errorf("only jobs without servers have %q", got)
	}
}

// TestModeWithoutServers: an empty mode is sync where a field asks for a job without servers; another mode is refused once for each field.
func TestModeWithoutServers(t *testing.T) {
	for _, text := range []string{`{"localsgd": {"k_steps": 4}}`, `{"adaptive_localsgd": {"init_k_steps": 2}}`, `{"fuse_grad_size_in_MB": 1}`} {
		s, err := strategy.Read(strings.NewReader(text))
		if err != nil || s.WithDefaults().Mode != strategy.ModeSync {
			t.Errorf("%s has mode %q, error %v", text, s.WithDefaults().Mode, err)
		}
		_, err = strategy.Read(strings.NewReader(`{"mode": "async", ` + text[1:]))
		if err == nil || strings.Count(err.Error(), "strategy: ") != 1 || !strings.Contains(err.Error(), `only mode "sync"`) {
			t.Errorf("%s in mode async: %v", text, err)
		}
	}
}

func TestWithServers(t *testing.T) {
	for _, tt := range []struct {
		s    strategy.Strategy
		want string
	}{
		{strategy.Sync(), ""},
		{strategy.Sync().WithDefaults(), ""},
		{strategy.Strategy{Codec: "zstd", NotFinite: "skip", WaitTimeout: 1, Weighting: "equal", FuseGradSizeInMB: 1}, ""},
		{strategy.Strategy{Placement: "HashName"}, "placement HashName"},
		{strategy.Strategy{NoSlice: true}, "no_slice"},
		{strategy.Strategy{SmallBlocks: true}, "small_blocks"},
		{strategy.Strategy{MinBlockSize: 81920}, "min_block_size 81920"},
		{strategy.Strategy{Payload: "int8"}, "payload int8"},
		{strategy.Strategy{MaxFrame: 4096}, "max_frame 4096"},
		{strategy.Strategy{MaxMemory: 0.8}, "max_memory 0.8"},
	} {
		if got := tt.s.WithServers(); got != tt.want {
			t.Errorf("%v: only jobs with servers have %q, want %q", tt.s, got, tt.want)
		}
	}
}

// TestLocalSGDWeighsEqually: there are no gradients to weigh by samples.
func TestLocalSGDWeighsEqually(t *testing.T) {
	for _, s := range []strategy.Strategy{
		{Mode: "sync", LocalSGD: strategy.LocalSGD{KSteps: 4}}, {Mode: "sync", AdaptiveLocalSGD: strategy.AdaptiveLocalSGD{InitKSteps: 4}},
	} {
		if w := s.WithDefaults().Weighting; w != strategy.WeightEqual {
			t.Errorf("weighting is %q", w)
		}
		if err := s.WithDefaults().Validate(); err != nil {
			t.Error(err)
		}
		s.Weighting = strategy.WeightSamples
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), `weighting is "samples", but localsgd has no gradients to weigh`) {
			t.Errorf("error %v", err)
		}
	}
}

func TestCheckWithoutServers(t *testing.T) {
	for want, text := range map[string]string{
		`localsgd: k_steps is 4, but only mode "sync"`: `{"mode": "async", "localsgd": {"k_steps": 4}}`,
		"in mode geo workers push no gradients":        `{"mode": "geo", "gradient_merge": {"k_steps": 3}}`,
		"gradient_merge: k_steps is -1":                `{"mode": "sync", "gradient_merge": {"k_steps": -1}}`,
		"adaptive_localsgd has begin_step":             `{"mode": "sync", "adaptive_localsgd": {"begin_step": 4}}`,
		"localsgd and adaptive_localsgd both":          `{"mode": "sync", "adaptive_localsgd": {"init_k_steps": 2}, "localsgd": {"k_steps": 4}}`,
		"begin_step and no k_steps":                    `{"mode": "sync", "localsgd": {"begin_step": 4}}`,
		"sum and no k_steps":                           `{"mode": "sync", "gradient_merge": {"sum": true}}`,
		"both say how often":                           `{"mode": "sync", "gradient_merge": {"k_steps": 2}, "localsgd": {"k_steps": 4}}`,
		"fuse_grad_size_in_MB is -2":                   `{"mode": "sync", "fuse_grad_size_in_MB": -2}`,
	} {
		var s strategy.Strategy
		err := json.Unmarshal([]byte(text), &s)
		if err == nil {
			err = s.Validate()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}
