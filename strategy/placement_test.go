package strategy_test

import (
	"strings"
	"testing"

	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/strategy/placement"
)

// first is a policy that puts everything on server 0.
type first struct{ name string }

func (f first) Name() string                              { return f.name }
func (first) Place(blocks []placement.Block, _ int) []int { return make([]int, len(blocks)) }

func TestPlacementOptions(t *testing.T) {
	tests := []struct {
		s    strategy.Strategy
		want placement.Options
	}{
		{strategy.Strategy{}, placement.Options{Policy: placement.RoundRobin{}, MinBlockSize: 8192}},
		{strategy.Strategy{Placement: "HashName", MinBlockSize: 81920},
			placement.Options{Policy: placement.HashName{}, MinBlockSize: 81920}},
		{strategy.Strategy{Placement: "First", NoSlice: true}, placement.Options{Policy: first{"First"}, NoSlice: true}},
		{strategy.Strategy{MinBlockSize: 8, SmallBlocks: true},
			placement.Options{Policy: placement.RoundRobin{}, MinBlockSize: 8, SmallBlocks: true}},
	}
	for _, tt := range tests {
		got, err := tt.s.PlacementOptions(first{"First"})
		if err != nil || got != tt.want {
			t.Errorf("%v: %+v, error %v; want %+v", tt.s, got, err, tt.want)
		}
		vars := []placement.Variable{{Name: "w", Shape: []int{784, 128}}}
		if _, err := placement.New(vars, 2, got); err != nil {
			t.Errorf("%v: %v", tt.s, err)
		}
	}
}

func TestPlacementOptionsRefuse(t *testing.T) {
	tests := []struct {
		placement, own, want string
	}{
		{"Nearest", "First", `unknown placement "Nearest"; want "RoundRobin", "HashName", "Balanced" or "First"`},
		{"HashName", "HashName", `two placement policies are called "HashName"`},
		{"RoundRobin", "HashName", `two placement policies are called "HashName"`},
	}
	for _, tt := range tests {
		_, err := strategy.Strategy{Placement: tt.placement}.PlacementOptions(first{tt.own})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("placement %s with own policy %s: error %v, want %q", tt.placement, tt.own, err, tt.want)
		}
	}
}
