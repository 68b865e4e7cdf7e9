package cut

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var power = flag.Bool("power", false, "TestPowerOfTheSimulator takes each promise out of the machines")

// TestPowerOfTheSimulator takes promises out of the machines, one after the other, each by a file of testdata/power,
// and has the simulator find that. It builds the package once for each, so that only -power plays it:
// go test ./internal/cut -run Power -power -timeout 30m
//
// Promise: [G6] each rule of the cut that is taken out is found by the simulator
func TestPowerOfTheSimulator(t *testing.T) {
	if !*power {
		t.Skip("-power plays it")
	}
	for _, file := range wrongs(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".diff"), func(t *testing.T) {
			out, err := simulated(t, file)
			if err == nil {
				t.Errorf("not found: %s", out)
			}
			_, said, found := strings.Cut(string(out), "exhaustive_test.go:")
			if said, _, _ = strings.Cut(said, "\n"); !found {
				t.Fatalf("it was not played: %v\n%s", err, out)
			}
			t.Log("found: " + said)
		})
	}
}

// TestWrongsApply to the machines as they are. A file that no longer does is to be made anew: it is what
// `git diff --relative` says in this directory when the promise is taken out by hand.
func TestWrongsApply(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not here")
	}
	there := t.TempDir()
	copied(t, there)
	for _, file := range wrongs(t) {
		if out, err := apply(t, there, file, "--check"); err != nil {
			t.Errorf("%s: %v: %s", file, err, out)
		}
	}
}

// wrongs are the files that take a promise out: some for each.
func wrongs(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("testdata/power/*.diff")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 11 {
		if !slices.ContainsFunc(all, func(f string) bool {
			return strings.HasPrefix(filepath.Base(f), fmt.Sprintf("I%d-", i+1))
		}) {
			t.Fatalf("testdata/power has no wrong of promise I%d among %q", i+1, all)
		}
	}
	return all
}

// copied copies the package's sources, and returns their names.
func copied(t *testing.T, there string) []string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(there, name), src, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// apply applies a file to sources that were copied.
func apply(t *testing.T, there, file string, options ...string) ([]byte, error) {
	t.Helper()
	file, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command("git", append(append([]string{"apply"}, options...), file)...)
	c.Dir = there
	c.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(there)) // of no work tree
	return c.CombinedOutput()
}

// simulated plays the simulator's plain run where a file is applied to the package, and returns what it says.
func simulated(t *testing.T, diff string) ([]byte, error) {
	t.Helper()
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	there := t.TempDir()
	overlay := map[string]map[string]string{"Replace": {}}
	for _, name := range copied(t, there) {
		overlay["Replace"][filepath.Join(here, name)] = filepath.Join(there, name)
	}
	if out, err := apply(t, there, diff); err != nil {
		t.Fatalf("it no longer applies: %s", out)
	}
	text, err := json.Marshal(overlay)
	if err == nil {
		err = os.WriteFile(filepath.Join(there, "overlay.json"), text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	play := exec.Command("go", "test", "-overlay", filepath.Join(there, "overlay.json"), "-run",
		"^TestCutsOutliveEveryEnd$", "-failfast", "-timeout", "5m", ".")
	play.Env = append(os.Environ(), "FLEET_SEEDS=")
	return play.CombinedOutput()
}
