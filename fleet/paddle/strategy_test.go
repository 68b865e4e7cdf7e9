package paddle_test

import (
	"testing"

	"github.com/gofleet/gofleet/fleet/paddle"
	"github.com/gofleet/gofleet/strategy"
)

func TestFromASync(t *testing.T) {
	for _, tt := range []struct {
		aSync bool
		k     int
		want  strategy.Strategy
	}{{false, 0, strategy.Sync()}, {true, 0, strategy.Async()}, {true, 100, strategy.Geo(100)}} {
		if got, err := paddle.FromASync(tt.aSync, tt.k); err != nil || got != tt.want {
			t.Errorf("a_sync %t, k_steps %d: %v, %v", tt.aSync, tt.k, got, err)
		}
	}
	for _, bad := range []struct {
		aSync bool
		k     int
	}{{false, 1}, {true, -1}, {false, -1}} {
		if got, err := paddle.FromASync(bad.aSync, bad.k); err == nil {
			t.Errorf("a_sync %t, k_steps %d: %v", bad.aSync, bad.k, got)
		}
	}
}

func TestAuto(t *testing.T) {
	for _, tt := range []struct {
		plain       bool
		model, free int64
		want        strategy.Strategy
	}{{true, 100, 500, strategy.Geo(800)}, {true, 100, 499, strategy.Async()}, {false, 100, 1 << 40, strategy.Async()}} {
		if got := paddle.Auto(tt.plain, tt.model, tt.free); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}
