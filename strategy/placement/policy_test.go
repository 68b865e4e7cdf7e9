package placement_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/strategy/placement"
	"github.com/gofleet/gofleet/strategy/placement/placementtest"
)

func TestPoliciesPassTheExam(t *testing.T) {
	for _, p := range placement.Policies() {
		t.Run(p.Name(), func(t *testing.T) {
			if err := placementtest.Check(p); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestHashName(t *testing.T) {
	tests := []struct {
		name          string
		on2, on3, on4 int
	}{
		{"fc_0.w_0", 0, 2, 0},
		{"fc_0.b_0", 1, 0, 1},
		{"fc_1.w_0", 1, 0, 1},
		{"fc_1.b_0", 0, 1, 0},
		{"fc_2.w_0", 0, 1, 2},
		{"fc_2.b_0", 1, 0, 3},
		{"embedding", 0, 1, 2},
		{"SparseFeatFactors.block0", 1, 0, 3},
		{"SparseFeatFactors.block1", 0, 2, 2},
	}
	for _, tt := range tests {
		block := []placement.Block{{Name: tt.name}}
		for servers, want := range map[int]int{1: 0, 2: tt.on2, 3: tt.on3, 4: tt.on4} {
			if got := (placement.HashName{}).Place(block, servers); !slices.Equal(got, []int{want}) {
				t.Errorf("%s of %d servers = %v, want %d", tt.name, servers, got, want)
			}
		}
	}
}

func TestRoundRobinRunsOn(t *testing.T) {
	got := placement.RoundRobin{}.Place(make([]placement.Block, 8), 3)
	if want := []int{0, 1, 2, 0, 1, 2, 0, 1}; !slices.Equal(got, want) {
		t.Errorf("8 blocks on 3 servers: %v, want %v", got, want)
	}
}

// fixed is a policy that answers what it is told to.
type fixed []int

func (fixed) Name() string                             { return "fixed" }
func (f fixed) Place(_ []placement.Block, _ int) []int { return f }

func TestNewRefusesABadPolicy(t *testing.T) {
	vars := []placement.Variable{{Name: "a", Shape: []int{4}}, {Name: "b", Shape: []int{4}}}
	tests := []struct {
		answer fixed
		want   string
	}{
		{nil, `policy "fixed" placed 0 of 2 blocks`},
		{fixed{0}, `policy "fixed" placed 1 of 2 blocks`},
		{fixed{0, 1, 0}, `policy "fixed" placed 3 of 2 blocks`},
		{fixed{0, 2}, `policy "fixed" put block "b" on server 2, but servers are 0 to 1`},
		{fixed{-1, 0}, `policy "fixed" put block "a" on server -1, but servers are 0 to 1`},
	}
	for _, tt := range tests {
		_, err := placement.New(vars, 2, placement.Options{Policy: tt.answer})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("answer %v: error %v, want %q", []int(tt.answer), err, tt.want)
		}
	}
	if _, err := placement.New(vars, 2, placement.Options{Policy: fixed{1, 0}}); err != nil {
		t.Errorf("a good answer: %v", err)
	}
}

// Smallest puts each block on the server that has the fewest elements so far.
type Smallest struct{}

func (Smallest) Name() string { return "Smallest" }

func (Smallest) Place(blocks []placement.Block, servers int) []int {
	at, load := make([]int, len(blocks)), make([]int, servers)
	for i, b := range blocks {
		at[i] = slices.Index(load, slices.Min(load))
		load[at[i]] += b.Size
	}
	return at
}

// A user's own policy is a type with two methods.
func ExamplePolicy() {
	vars := []placement.Variable{
		{Name: "w", Shape: []int{100, 80}}, {Name: "b", Shape: []int{80}}, {Name: "v", Shape: []int{80}},
	}
	plan, err := placement.New(vars, 2, placement.Options{Policy: Smallest{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, b := range plan.Blocks {
		fmt.Println(b.Name, "on", b.Server)
	}
	fmt.Println("exam:", placementtest.Check(Smallest{}))
	// Output:
	// w on 0
	// b on 1
	// v on 1
	// exam: <nil>
}
