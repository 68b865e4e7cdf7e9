package deps_test

import (
	"fmt"
	"os/exec"
	"path"
	"strings"
	"testing"
)

// budget is what a part of the product has at most.
type budget struct {
	lines int // with a token, as .ci/lines counts them
	names int // that users may name
}

// budgets are those of top-level folders, and of each package of more than 1,500 lines. Who needs more changes a number in
// the same commit, and says in its message what it buys.
var budgets = map[string]budget{
	"dataset":                    {5930, 82},
	"dataset/...":                {7270, 84},
	"fleet":                      {1593, 45},
	"fleet/...":                  {17621, 143},
	"fleet/fleetrun":             {4205, 0},
	"fleet/train":                {7905, 34},
	"fleet/train/internal/check": {1546, 0},
	"internal/...":               {47328, 0},
	"internal/checkpoint":        {2769, 0},
	"internal/client":            {2252, 0},
	"internal/collective":        {1560, 0},
	"internal/kernels":           {2623, 0},
	"internal/server":            {6365, 0},
	"internal/session":           {2038, 0},
	"internal/starter":           {1802, 0},
	"internal/table":             {4127, 0},
	"nn":                         {10904, 188},
	"nn/...":                     {13519, 203},
	"optimizer":                  {1866, 53},
	"optimizer/...":              {4439, 93},
	"optimizer/weights":          {1707, 13},
	"rolemaker":                  {1833, 16},
	"rolemaker/...":              {2537, 16},
	"strategy/...":               {1416, 60},
	"transport":                  {2758, 27},
	"transport/...":              {2995, 33},
}

// TestBudgets holds the house to its size: no part may grow unnoticed, and what a part has lost its budget loses too.
func TestBudgets(t *testing.T) {
	cmd := exec.Command("go", "run", ".ci/lines/main.go", "-v")
	cmd.Dir = "../.."
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	got := map[string]budget{}
	for line := range strings.Lines(string(text)) {
		var b budget
		var all int
		var name string
		if n, _ := fmt.Sscan(line, &b.lines, &all, &b.names, &name); n < 4 || name+"/" == module {
			continue
		}
		name = strings.TrimPrefix(name, module)
		folder, _, _ := strings.Cut(name, "/")
		sum := got[path.Join(folder, "...")]
		got[path.Join(folder, "...")] = budget{sum.lines + b.lines, sum.names + b.names}
		if b.lines > 1500 || budgets[name].lines > 0 {
			got[name] = b
		}
	}
	for name, has := range got {
		may := budgets[name]
		if room := may.lines/50 + 50; has.lines > may.lines || has.names > may.names || has.lines < may.lines-room {
			t.Errorf("%q: {%d, %d}, has a budget of {%d, %d}: if it grew, say in the commit's message what that buys; "+
				"if it shrank, keep the gain", name, has.lines, has.names, may.lines, may.names)
		}
	}
	for name := range budgets {
		if _, is := got[name]; !is {
			t.Errorf("%q has a budget and is no part of the product: remove its row", name)
		}
	}
}
