package replica

import (
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/collective"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// TestGroupObeysTheStrategy: what bounds the workers' meetings is what the strategy says.
func TestGroupObeysTheStrategy(t *testing.T) {
	s := strategy.Strategy{FuseGradSizeInMB: 3, StartTimeout: strategy.Duration(time.Minute), WaitTimeout: strategy.Duration(time.Hour),
		WorkerTimeout: strategy.Duration(7 * time.Second), HeartbeatInterval: strategy.Duration(time.Millisecond)}
	tr, err := New(Config{Params: []*optimizer.Param{{Name: "w", Shape: []int{2}, W: make([]float32, 2), G: make([]float32, 2)}}, Rule: optimizer.SGD{}, Strategy: s.WithDefaults()})
	if err != nil {
		t.Fatal(err)
	}
	want := collective.Config{Bucket: 3 << 20, StartTimeout: time.Minute, WaitTimeout: 16 * time.Hour, SilenceTimeout: 7 * time.Second, ProbeInterval: time.Millisecond}
	if got := tr.c.Group; got.Bucket != want.Bucket || got.StartTimeout != want.StartTimeout || got.WaitTimeout != want.WaitTimeout ||
		got.SilenceTimeout != want.SilenceTimeout || got.ProbeInterval != want.ProbeInterval {
		t.Errorf("the group has %+v, want %+v", got, want)
	}
}

// TestDriftsBy: both kinds of LocalSGD begin with the k and the step that the strategy says.
func TestDriftsBy(t *testing.T) {
	for _, tt := range []struct {
		s    strategy.Strategy
		want mode.LocalSGD
		on   bool
	}{
		{strategy.Sync(), mode.LocalSGD{}, false},
		{strategy.Strategy{LocalSGD: strategy.LocalSGD{KSteps: 4, BeginStep: 9}}, mode.LocalSGD{K: 4, Begin: 9}, true},
		{strategy.Strategy{AdaptiveLocalSGD: strategy.AdaptiveLocalSGD{InitKSteps: 3, BeginStep: 5}}, mode.LocalSGD{K: 3, Begin: 5, Adaptive: true}, true},
	} {
		if got, on := driftsBy(tt.s); got != tt.want || on != tt.on {
			t.Errorf("%v: %+v, %t; want %+v, %t", tt.s, got, on, tt.want, tt.on)
		}
	}
}
