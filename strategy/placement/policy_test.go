package placement_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/strategy/placement"
	"github.com/gofleet/gofleet/strategy/placement/placementtest"
	"pgregory.net/rapid"
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

func TestBalanced(t *testing.T) {
	tests := []struct {
		name    string
		vars    []placement.Variable
		servers int
		want    []int
	}{
		{"mlp", mlp(), 2, []int{100352, 17930}},
		{"mlp", mlp(), 3, []int{100352, 16384, 1546}},
		{"wide & deep", wideDeep(), 2, []int{10000010, 430815}},
		{"wide & deep", wideDeep(), 4, []int{10000010, 160000, 160000, 110815}},
	}
	for _, tt := range tests {
		p := mustPlan(t, tt.vars, tt.servers, placement.Options{Policy: placement.Balanced{}, NoSlice: true})
		if got := elements(p); !slices.Equal(got, tt.want) {
			t.Errorf("%s on %d servers: %v elements, want %v", tt.name, tt.servers, got, tt.want)
		}
	}
}

// TestBalancedIsNearTheBest compares with every way there is to place a few blocks.
func TestBalancedIsNearTheBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		servers := rapid.IntRange(1, 3).Draw(t, "servers")
		var blocks []placement.Block
		for _, n := range rapid.SliceOfN(rapid.IntRange(1, 50), 1, 7).Draw(t, "sizes") {
			blocks = append(blocks, placement.Block{Size: n})
		}
		got := fullest(blocks, placement.Balanced{}.Place(blocks, servers), servers)
		if best := best(blocks, servers); 3*servers*got > (4*servers-1)*best {
			t.Fatalf("the fullest of %d servers has %d elements, %d would do", servers, got, best)
		}
	})
}

// fullest is how many elements the fullest server has.
func fullest(blocks []placement.Block, at []int, servers int) int {
	load := make([]int, servers)
	for i, b := range blocks {
		load[at[i]] += b.Size
	}
	return slices.Max(load)
}

// best is the least that the fullest server can have.
func best(blocks []placement.Block, servers int) int {
	least, at := math.MaxInt, make([]int, len(blocks))
	for {
		least = min(least, fullest(blocks, at, servers))
		i := 0
		for ; i < len(at); i++ { // counts on, to the base of servers
			if at[i]++; at[i] < servers {
				break
			}
			at[i] = 0
		}
		if i == len(at) {
			return least
		}
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

// BigAlone keeps server 0 for blocks of many elements and deals out the others.
type BigAlone struct{}

func (BigAlone) Name() string { return "BigAlone" }

func (BigAlone) Place(blocks []placement.Block, servers int) []int {
	at := make([]int, len(blocks))
	for i, b := range blocks {
		if b.Size < 1000 && servers > 1 {
			at[i] = 1 + i%(servers-1)
		}
	}
	return at
}

// A user's own policy is a type with two methods.
func ExamplePolicy() {
	vars := []placement.Variable{
		{Name: "w", Shape: []int{100, 80}}, {Name: "b", Shape: []int{80}}, {Name: "v", Shape: []int{80}},
	}
	plan, err := placement.New(vars, 2, placement.Options{Policy: BigAlone{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, b := range plan.Blocks {
		fmt.Println(b.Name, "on", b.Server)
	}
	fmt.Println("exam:", placementtest.Check(BigAlone{}))
	// Output:
	// w on 0
	// b on 1
	// v on 1
	// exam: <nil>
}
