package placement_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/strategy/placement"
	"pgregory.net/rapid"
)

func mlp() []placement.Variable {
	return []placement.Variable{
		{Name: "w1", Shape: []int{784, 128}}, {Name: "b1", Shape: []int{128}},
		{Name: "w2", Shape: []int{128, 128}}, {Name: "b2", Shape: []int{128}},
		{Name: "w3", Shape: []int{128, 10}}, {Name: "b3", Shape: []int{10}},
	}
}

func wideDeep() []placement.Variable {
	return []placement.Variable{
		{Name: "wide.w", Shape: []int{13, 1}}, {Name: "wide.b", Shape: []int{1}},
		{Name: "emb", Shape: []int{1000001, 10}},
		{Name: "fc1.w", Shape: []int{273, 400}}, {Name: "fc1.b", Shape: []int{400}},
		{Name: "fc2.w", Shape: []int{400, 400}}, {Name: "fc2.b", Shape: []int{400}},
		{Name: "fc3.w", Shape: []int{400, 400}}, {Name: "fc3.b", Shape: []int{400}},
		{Name: "out.w", Shape: []int{400, 1}}, {Name: "out.b", Shape: []int{1}},
	}
}

func mustPlan(t testing.TB, vars []placement.Variable, servers int, o placement.Options) *placement.Plan {
	t.Helper()
	p, err := placement.New(vars, servers, o)
	law.Check(t, err)
	return p
}

func elements(p *placement.Plan) []int {
	var n []int
	for _, l := range p.Loads() {
		n = append(n, l.Elements)
	}
	return n
}

func TestRoundRobinLoads(t *testing.T) {
	tests := []struct {
		name    string
		vars    []placement.Variable
		servers int
		noSlice bool
		want    []int
	}{
		{"mlp", mlp(), 2, false, []int{59776, 58506}},
		{"mlp", mlp(), 2, true, []int{118016, 266}},
		{"mlp", mlp(), 3, false, []int{33792, 43008, 41482}},
		{"mlp", mlp(), 3, true, []int{100480, 1408, 16394}},
		{"mlp", mlp(), 4, false, []int{26496, 33290, 33280, 25216}},
		{"wide & deep", wideDeep(), 2, false, []int{5215624, 5215201}},
		{"wide & deep", wideDeep(), 2, true, []int{10001224, 429601}},
		{"wide & deep", wideDeep(), 3, false, []int{3476554, 3477331, 3476940}},
		{"wide & deep", wideDeep(), 3, true, []int{110013, 160402, 10160410}},
		{"wide & deep", wideDeep(), 4, false, []int{2608023, 2606781, 2608011, 2608010}},
	}
	for _, tt := range tests {
		p := mustPlan(t, tt.vars, tt.servers, placement.Options{NoSlice: tt.noSlice})
		if got := elements(p); !slices.Equal(got, tt.want) {
			t.Errorf("%s on %d servers, NoSlice %v: %v elements, want %v", tt.name, tt.servers, tt.noSlice, got, tt.want)
		}
	}
}

func TestRoundRobinBlocks(t *testing.T) {
	want := map[int]string{
		2: "w1.block0→0 w1.block1→1 b1→0 w2.block0→1 w2.block1→0 b2→1 w3→0 b3→1",
		3: "w1.block0→0 w1.block1→1 w1.block2→2 b1→0 w2.block0→1 w2.block1→2 b2→0 w3→1 b3→2",
		4: "w1.block0→0 w1.block1→1 w1.block2→2 w1.block3→3 b1→0 w2.block0→1 w2.block1→2 b2→3 w3→0 b3→1",
	}
	for servers, want := range want {
		var got []string
		for _, b := range mustPlan(t, mlp(), servers, placement.Options{}).Blocks {
			got = append(got, fmt.Sprintf("%s→%d", b.Name, b.Server))
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%d servers:\n got %s\nwant %s", servers, s, want)
		}
	}
}

func TestWholeIsNotCut(t *testing.T) {
	vars := []placement.Variable{{Name: "w", Shape: []int{784, 128}, Whole: true}, {Name: "v", Shape: []int{784, 128}}}
	p := mustPlan(t, vars, 4, placement.Options{})
	if n := len(p.BlocksOf(0)); n != 1 {
		t.Errorf("a whole variable has %d blocks", n)
	}
	if n := len(p.BlocksOf(1)); n != 4 {
		t.Errorf("the same, not whole, has %d blocks, want 4", n)
	}
}

func TestSmallBlocks(t *testing.T) {
	vars := []placement.Variable{{Name: "w", Shape: []int{6, 4}}}
	p := mustPlan(t, vars, 3, placement.Options{MinBlockSize: 4, SmallBlocks: true})
	if n := len(p.Blocks); n != 3 {
		t.Errorf("24 elements in blocks of at least 4 on 3 servers: %d blocks, want 3", n)
	}
}

func TestNewRefuses(t *testing.T) {
	type vars = []placement.Variable
	good := vars{{Name: "w", Shape: []int{4}}}
	tests := []struct {
		name    string
		vars    vars
		servers int
		options placement.Options
		want    string
	}{
		{"no servers", good, 0, placement.Options{}, "0 servers"},
		{"small blocks", good, 1, placement.Options{MinBlockSize: 1024}, "MinBlockSize is 1024, below 8192"},
		{"negative block", good, 1, placement.Options{MinBlockSize: -1}, "MinBlockSize is -1"},
		{"no name", vars{{Shape: []int{4}}}, 1, placement.Options{}, "variable 0 has no name"},
		{"same name", vars{{Name: "w", Shape: []int{4}}, {Name: "w", Shape: []int{5}}}, 1, placement.Options{},
			`two variables are called "w"`},
		{"zero dimension", vars{{Name: "w", Shape: []int{0, 4}}}, 1, placement.Options{}, `variable "w": shape [0 4]`},
		{"overflow", vars{{Name: "w", Shape: []int{math.MaxInt, 3}}}, 1, placement.Options{}, `variable "w": shape`},
		{"open with height", vars{{Name: "e", Shape: []int{9, 4}, Open: true}}, 1, placement.Options{}, "is not an open embedding's"},
		{"open and whole", vars{{Name: "e", Shape: []int{0, 4}, Open: true, Whole: true}}, 1, placement.Options{}, "can't be kept whole"},
		{"name of a block", vars{{Name: "w", Shape: []int{16384}}, {Name: "w.block1", Shape: []int{1}}}, 2, placement.Options{},
			`"w.block1" is a block of both variable "w" and variable "w.block1"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := placement.New(tt.vars, tt.servers, tt.options)
			if err == nil || p != nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("plan %v, error %v, want %q", p, err, tt.want)
			}
			if err != nil && !strings.HasPrefix(err.Error(), "placement: ") {
				t.Errorf("error %q does not say whose it is", err)
			}
		})
	}
}

func TestLookups(t *testing.T) {
	vars := append(mlp(), placement.Variable{Name: "user", Shape: []int{0, 16}, Open: true})
	p := mustPlan(t, vars, 3, placement.Options{})
	if v, ok := p.Variable("w2"); !ok || v != 2 {
		t.Errorf("w2 is variable %d, %v", v, ok)
	}
	if v, ok := p.Variable("w9"); ok {
		t.Errorf("w9 is variable %d of a plan without it", v)
	}
	var names []string
	for _, b := range p.OnServer(1) {
		names = append(names, b.Name)
	}
	if want := []string{"w1.block1", "w2.block0", "w3"}; !slices.Equal(names, want) {
		t.Errorf("server 1 owns %v, want %v", names, want)
	}
	if blocks := p.BlocksOf(6); len(blocks) != 0 {
		t.Errorf("an open embedding has blocks %v", blocks)
	}
}

func TestServerOf(t *testing.T) {
	vars := append(mlp(), placement.Variable{Name: "user", Shape: []int{0, 16}, Open: true})
	p := mustPlan(t, vars, 3, placement.Options{})
	tests := []struct {
		v    int
		row  uint64
		want int
	}{
		{0, 0, 0}, {0, 261, 0}, {0, 262, 1}, {0, 523, 1}, {0, 524, 2}, {0, 783, 2}, {0, 784, -1}, {0, 1 << 63, -1},
		{1, 127, 0}, {1, 128, -1}, {2, 63, 1}, {2, 64, 2},
		{6, 0, 0}, {6, 1, int(kernels.Mix(1) % 3)}, {6, 1 << 63, int(kernels.Mix(1<<63) % 3)},
	}
	for _, tt := range tests {
		if got := p.ServerOf(tt.v, tt.row); got != tt.want {
			t.Errorf("row %d of variable %d is on server %d, want %d", tt.row, tt.v, got, tt.want)
		}
	}
	if b := p.BlockOf(6, 0); b != -1 {
		t.Errorf("a row of an open embedding is in block %d", b)
	}
}

func TestPlanKeepsItsOwnVariables(t *testing.T) {
	vars := mlp()
	p := mustPlan(t, vars, 2, placement.Options{})
	vars[0].Name, vars[0].Shape[0] = "other", 1
	if p.Variables[0].Name != "w1" || p.ServerOf(0, 783) != 1 {
		t.Errorf("changing the caller's variables changed the plan: %+v", p.Variables[0])
	}
}

func drawVariables(t *rapid.T) []placement.Variable {
	vars := make([]placement.Variable, rapid.IntRange(0, 12).Draw(t, "variables"))
	for i := range vars {
		vars[i] = placement.Variable{Name: fmt.Sprint("v", i), Shape: drawShape(t), Whole: rapid.Bool().Draw(t, "whole")}
		if rapid.IntRange(0, 4).Draw(t, "open") == 0 {
			vars[i] = placement.Variable{Name: vars[i].Name, Shape: []int{0, 8}, Open: true}
		}
	}
	return vars
}

// Every row of every variable has exactly one block, which holds it, and one server, which exists.
func TestPlanProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		vars := drawVariables(t)
		servers := rapid.IntRange(1, 9).Draw(t, "servers")
		o := placement.Options{
			Policy:       rapid.SampledFrom(placement.Policies()).Draw(t, "policy"),
			MinBlockSize: rapid.IntRange(1, 9000).Draw(t, "min"),
			SmallBlocks:  true,
			NoSlice:      rapid.Bool().Draw(t, "noSlice"),
		}
		p, err := placement.New(vars, servers, o)
		law.Check(t, err)
		total := 0
		for v, x := range vars {
			if x.Open {
				continue
			}
			total += product(x.Shape)
			checkRows(t, p, v)
		}
		if got := slices.Sorted(slices.Values(elements(p))); sum(got) != total {
			t.Fatalf("servers hold %v elements, the variables have %d", got, total)
		}
	})
}

func checkRows(t *rapid.T, p *placement.Plan, v int) {
	seen := uint64(0)
	for i, b := range p.BlocksOf(v) {
		first, end := b.Rows()
		if b.Variable != v || b.Server < 0 || b.Server >= p.Servers || uint64(first) != seen {
			t.Fatalf("block %d of variable %d is %+v, want first row %d", i, v, b, seen)
		}
		for _, row := range []int{first, (first + end) / 2, end - 1} {
			if p.ServerOf(v, uint64(row)) != b.Server || p.BlockOf(v, uint64(row)) != i {
				t.Fatalf("row %d of variable %d: block %d on server %d, want %d on %d", row, v,
					p.BlockOf(v, uint64(row)), p.ServerOf(v, uint64(row)), i, b.Server)
			}
		}
		seen = uint64(end)
	}
	if p.ServerOf(v, seen) != -1 {
		t.Fatalf("variable %d has a server for row %d, which is past its end", v, seen)
	}
}

func sum(x []int) (s int) {
	for _, n := range x {
		s += n
	}
	return s
}
