package placementtest_test

import (
	"strings"
	"testing"

	"github.com/gofleet/gofleet/strategy/placement"
	"github.com/gofleet/gofleet/strategy/placement/placementtest"
)

// policy is one made of a name and a function.
type policy struct {
	name  string
	place func(blocks []placement.Block, servers int) []int
}

func (p policy) Name() string                                      { return p.name }
func (p policy) Place(blocks []placement.Block, servers int) []int { return p.place(blocks, servers) }

func zeros(blocks []placement.Block, _ int) []int { return make([]int, len(blocks)) }

func TestCheckPasses(t *testing.T) {
	if err := placementtest.Check(policy{"Zeros", zeros}); err != nil {
		t.Error(err)
	}
}

func TestCheckFails(t *testing.T) {
	calls := make(chan int, 1)
	calls <- 0
	tests := []struct {
		policy policy
		want   string
	}{
		{policy{"", zeros}, "no name"},
		{policy{"short", func(b []placement.Block, _ int) []int { return make([]int, len(b)/2) }}, "of 8 blocks"},
		{policy{"beyond", func(b []placement.Block, n int) []int {
			at := zeros(b, n)
			for i := range at {
				at[i] = n
			}
			return at
		}}, `block "bias" is on server 1`},
		{policy{"vandal", func(b []placement.Block, n int) []int {
			for i := range b {
				b[i].Shape[0]++
			}
			return zeros(b, n)
		}}, "changed the blocks"},
		{policy{"stateful", func(b []placement.Block, n int) []int {
			call := <-calls
			calls <- call + 1
			at := zeros(b, n)
			for i := range at {
				at[i] = call % n
			}
			return at
		}}, "must depend on its arguments alone"},
	}
	for _, tt := range tests {
		err := placementtest.Check(tt.policy)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.policy.name, err, tt.want)
		}
	}
}

// A policy whose name changes can't be told from another.
type renamed struct {
	policy
	calls *int
}

func (r renamed) Name() string {
	*r.calls++
	return strings.Repeat("x", *r.calls)
}

func TestCheckWantsOneName(t *testing.T) {
	err := placementtest.Check(renamed{policy{"", zeros}, new(int)})
	if err == nil || !strings.Contains(err.Error(), "and then") {
		t.Errorf("error %v for a policy that changes its name", err)
	}
}
