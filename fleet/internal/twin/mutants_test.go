package twin_test

import (
	"encoding/json"
	"errors"
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

// equivalents are mutants that no program tells from the product, by file, line and change, with the reason. TestMutants
// draws others in their place.
var equivalents = map[[3]string]string{
	{"internal/update/update.go", "if cap(b) < n {", "<= for <"}: "a slice with just room enough is made anew",
	{"internal/checkpoint/chain.go", "case m.ID != want.ID || m.Sum != want.Sum:", "&& for ||"}: "the sum is of a text " +
		"that has the id: where one differs both do",
	{"internal/checkpoint/hold.go", `_, err = h.file.WriteAt(fmt.Appendf(nil, "%-*s\n", ownerBytes-1, text), 0)`,
		"+ for -"}: "two more spaces end a text that is read as JSON",
	{"internal/session/lockstep.go", "w.round.Resume(r)", "a statement left out"}: "in step no worker joins behind the " +
		"first round: of one that has pushed, or ended an epoch, no other life goes on, and the others wait for one that " +
		"has not",
}

// equivalent says why a mutant is none; "" where it changes something.
func equivalent(t *testing.T, file, name string, m law.Mutant) (why string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Split(string(text), "\n")[m.Line-1]
	return equivalents[[3]string{name, strings.TrimSpace(line), m.Says}]
}

// TestMutants changes one operator, condition or statement of the product, drawn by seed, and says which of
// these changes no seed of TestJobs finds:
//
//	go test ./fleet/internal/twin -run TestMutants -mutants 30 -power 500 -timeout 3h -v
//	go test ./fleet/internal/twin -run TestMutants -mutants 30 -v                            says what they change
//	go test ./fleet/internal/twin -run TestMutants -mutant 7 -mutants 1 -power 500 -v        one of them
func TestMutants(t *testing.T) {
	if *mutants == 0 {
		t.Skip("-mutants says how many mutants to draw, -power how many seeds to play")
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir, remain, drew := t.TempDir(), 0, map[string]bool{}
	for seed, drawn := *mutant, 0; drawn < *mutants; seed++ {
		overlay, says, same := mutate(t, root, dir, seed)
		if drew[says] {
			continue
		}
		if drew[says] = true; same != "" {
			t.Logf("mutant %d is equivalent: %s: %s", seed, says, same)
			continue
		}
		seeds, how := -2, ""
		if *power > 0 {
			seeds, how = find(t, root, "twin", "TestJobs", "-overlay", overlay)
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

// mutate changes one place of one file of the tree in root, for builds with the overlay that it writes into dir. same is
// why the change changes nothing, if that is known.
func mutate(t *testing.T, root, dir string, seed uint64) (overlay, says, same string) {
	t.Helper()
	var files []string
	for _, pattern := range mutated {
		all, err := filepath.Glob(filepath.Join(root, pattern))
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
	if err != nil {
		t.Fatal(err)
	}
	now := filepath.Join(dir, "mutant.go")
	overlay = filepath.Join(dir, "overlay.json")
	places, err := json.Marshal(map[string]map[string]string{"Replace": {m.File: now}})
	if err == nil {
		err = errors.Join(os.WriteFile(now, m.Now, 0o644), os.WriteFile(overlay, places, 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
	name, _ := filepath.Rel(root, m.File)
	return overlay, fmt.Sprintf("%s:%d: %s", name, m.Line, m.Says), equivalent(t, m.File, name, m)
}

// TestEquivalents: the places of mutants that change nothing are there.
func TestEquivalents(t *testing.T) {
	for at := range equivalents {
		text, err := os.ReadFile(filepath.Join("../../..", at[0]))
		if err != nil || !strings.Contains(string(text), at[1]) {
			t.Errorf("%s has no line %q, %v", at[0], at[1], err)
		}
	}
}
