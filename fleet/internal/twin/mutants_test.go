package twin_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

var (
	mutants   = flag.Int("mutants", 0, "how many mutants TestMutants draws; 0 leaves it out")
	mutant    = flag.Uint64("mutant", 1, "the seed of the first mutant")
	mayRemain = flag.Int("remain", 3, "how many of the mutants may be found by no seed")
)

// mutated are the packages in which mutants are drawn.
var mutated = []string{"internal/session/*.go", "internal/exchange/*.go", "internal/mode/*.go", "internal/update/*.go",
	"internal/checkpoint/*.go", "nn/executor.go", "nn/table.go", "nn/run.go", "nn/session.go", "nn/plan.go"}

// TestMutants changes one operator, condition or statement of a copy of the tree, drawn by seed, and says which of
// these changes no seed of TestJobs finds:
//
//	go test ./fleet/internal/twin -run TestMutants -mutants 30 -power 500 -timeout 3h -v
//	go test ./fleet/internal/twin -run TestMutants -mutants 30 -v                            says what they change
//	go test ./fleet/internal/twin -run TestMutants -mutant 7 -mutants 1 -power 500 -v        one of them
func TestMutants(t *testing.T) {
	if *mutants == 0 {
		t.Skip("-mutants says how many mutants to draw, -power how many seeds to play")
	}
	tree, remain, drew := copyTree(t), 0, map[string]bool{}
	for seed, drawn := *mutant, 0; drawn < *mutants; seed++ {
		file, was, says := mutate(t, tree, seed)
		if drew[says] {
			if err := os.WriteFile(file, was, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		drew[says] = true
		seeds, how := -2, ""
		if *power > 0 {
			seeds, how = find(t, tree)
		}
		if err := os.WriteFile(file, was, 0o644); err != nil {
			t.Fatal(err)
		}
		switch {
		case *power == 0:
			t.Logf("mutant %d: %s", seed, says)
		case seeds == -2:
			continue // it doesn't build
		case seeds == -1:
			remain++
			t.Logf("mutant %d remains: %s", seed, says)
		default:
			t.Logf("mutant %d is found by seed %d: %s: %s", seed, seeds, says, how)
		}
		drawn++
	}
	if remain > *mayRemain {
		t.Errorf("%d of %d mutants were not found by %d seeds", remain, *mutants, *power)
	}
}

// mutate changes one place of one file, and returns what the file was.
func mutate(t *testing.T, tree string, seed uint64) (file string, was []byte, says string) {
	t.Helper()
	var files []string
	for _, pattern := range mutated {
		all, err := filepath.Glob(filepath.Join(tree, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range all {
			if !strings.HasSuffix(name, "_test.go") && !strings.HasSuffix(name, "doc.go") {
				files = append(files, name)
			}
		}
	}
	m, err := law.Mutate(files, seed)
	if err == nil {
		was, err = os.ReadFile(m.File)
	}
	if err == nil {
		err = os.WriteFile(m.File, m.Now, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	name, _ := filepath.Rel(tree, m.File)
	return m.File, was, fmt.Sprintf("%s:%d: %s", name, m.Line, m.Says)
}
