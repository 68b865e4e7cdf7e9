package cut

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var power = flag.Bool("power", false, "TestPowerOfTheSimulator takes each promise out of the machines")

// TestPowerOfTheSimulator takes promises out of the machines, one after the other, each by a file of testdata/power,
// and has the simulator find that. It builds the package once for each, so that only -power plays it:
// go test ./internal/cut -run Power -power -timeout 30m. A file that no longer applies is to be made anew: it is what `git diff --relative` says in
// this directory when the promise is taken out by hand.
func TestPowerOfTheSimulator(t *testing.T) {
	if !*power {
		t.Skip("-power plays it")
	}
	wrongs, err := filepath.Glob("testdata/power/*.diff")
	if err != nil || len(wrongs) == 0 {
		t.Fatalf("testdata/power has no wrongs: %v", err)
	}
	for _, file := range wrongs {
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

// simulated plays the simulator's plain run where a file is applied to the package, and returns what it says.
func simulated(t *testing.T, diff string) ([]byte, error) {
	t.Helper()
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	there := t.TempDir()
	overlay := map[string]map[string]string{"Replace": {}}
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(there, name), src, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		overlay["Replace"][filepath.Join(here, name)] = filepath.Join(there, name)
	}
	apply := exec.Command("git", "apply", filepath.Join(here, diff))
	apply.Dir = there
	if out, err := apply.CombinedOutput(); err != nil {
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
