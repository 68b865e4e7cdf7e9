package twin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/law"
)

var (
	power = flag.Int("power", 0, "how many seeds TestPower plays to find each wrong; 0 leaves it out")
	only  = flag.String("only", "", "the wrongs of TestPower whose name holds this")
)

// TestPower builds the tests with wrongs that the house once had, one after the other, each a file of testdata/power,
// and counts the seeds until TestJobs finds it, for loop-….diff that of package jobs, for cut-….diff
// TestCutsAmidTraining, for threads-….diff package fleet's TestThreadsThatMeetSaveTheirAverages, which has none:
//
//	go test ./fleet/internal/twin -run TestPower -power 500 -timeout 2h -v
//
// A file that no longer applies is to be made anew: it is what `git diff` says when the wrong is put back by hand.
//
// Wrongs that no drawn program can have, since its lives keep their rows and seed, have no readers of moments, and read no files:
// another order of rows (TestAnotherOrder, TestAnotherOrderOfEachWorker), GlobalShuffle behind a journal
// (TestLoopsThatExchangeRowsGoBack), one moment for two states (TestAMomentNamesOneState), a full table that can't go on
// (TestFullTablesGoOn), and those of values: types, words and rules have exams of their own.
func TestPower(t *testing.T) {
	if *power == 0 {
		t.Skip("-power says how many seeds to play")
	}
	root, err := filepath.Abs("../../..")
	law.Check(t, err)
	wrongs, err := filepath.Glob("testdata/power/*.diff")
	if err != nil || len(wrongs) == 0 {
		t.Fatalf("testdata/power has no wrongs: %v", err)
	}
	for _, file := range wrongs {
		name := strings.TrimSuffix(filepath.Base(file), ".diff")
		if !strings.Contains(name, *only) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			diff, err := os.ReadFile(file)
			law.Check(t, err)
			there := t.TempDir()
			changed, err := patch(t, root, there, string(diff))
			law.Check(t, err)
			places := map[string]string{}
			for dir, files := range changed {
				for _, name := range files {
					places[filepath.Join(root, dir, name)] = filepath.Join(there, dir, name)
				}
			}
			overlay, err := json.Marshal(map[string]any{"Replace": places})
			law.Check(t, err)
			law.Check(t, os.WriteFile(filepath.Join(there, "overlay.json"), overlay, 0o644))
			machine, test := "fleet/internal/twin", "TestJobs"
			switch kind, _, _ := strings.Cut(name, "-"); kind {
			case "loop":
				machine = "fleet/internal/jobs"
			case "cut":
				test = "TestCutsAmidTraining"
			case "threads":
				machine, test = "fleet", "TestThreadsThatMeetSaveTheirAverages"
			}
			if seeds, says := find(t, root, filepath.Join(there, "overlay.json"), machine, test); seeds == -2 {
				t.Errorf("it doesn't build: %s", says)
			} else if seeds < 0 {
				t.Errorf("not found by %d seeds: %s", *power, says)
			} else {
				t.Logf("found by seed %d: %s", seeds, says)
			}
		})
	}
}

var found = regexp.MustCompile(`FLEET_SEED=(\d+): ([^\n]*)`)

// find builds a machine that plays jobs with the files of an overlay, and says which seed is the first that fails, −1
// where all pass, and −2 where it doesn't build.
func find(t *testing.T, root, overlay, machine, test string) (seed int, says string) {
	t.Helper()
	dir := t.TempDir()
	defer os.RemoveAll(dir) // as soon as it has run
	binary := filepath.Join(dir, "twin.test")
	if out, err := run(t, root, "go", "test", "-c", "-overlay", overlay, "-o", binary, "./"+machine); err != nil {
		return -2, string(out)
	}
	cmd := exec.Command(binary, "-test.run", "^"+test+"$", "-test.timeout", "20m")
	if machine != "fleet" {
		cmd.Args = append(cmd.Args, "-first", "-shrink", "0")
	}
	cmd.Dir = filepath.Join(root, machine)
	cmd.Env = append(os.Environ(), fmt.Sprintf("FLEET_SEEDS=0:%d", *power))
	out, err := cmd.CombinedOutput()
	if err == nil {
		return -1, "all pass"
	}
	m := found.FindSubmatch(out)
	if m == nil { // it panics, or hangs
		first, _, _ := bytes.Cut(out, []byte("\n"))
		return 0, string(first)
	}
	_, _ = fmt.Sscan(string(m[1]), &seed)
	return seed, string(m[2])
}

// run runs a command in a directory.
func run(t *testing.T, dir, name string, args ...string) ([]byte, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	return cmd.CombinedOutput()
}
