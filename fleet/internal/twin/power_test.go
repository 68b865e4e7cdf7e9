package twin_test

import (
	"bytes"
	"context"
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

// TestPower puts wrongs back that the house once had, one after the other, each a file of testdata/power, into a copy
// of the tree, and counts the seeds until TestJobs finds it there, for loop-….diff that of package jobs, for cut-….diff
// TestCutsAmidTraining:
//
//	go test ./fleet/internal/twin -run TestPower -power 500 -timeout 2h -v
//
// A file that no longer applies is to be made anew: it is what `git diff` says when the wrong is put back by hand.
func TestPower(t *testing.T) {
	if *power == 0 {
		t.Skip("-power says how many seeds to play")
	}
	tree := copyTree(t)
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
			diff, err := filepath.Abs(file)
			law.Check(t, err)
			if out, err := run(t, tree, "git", "apply", "-C1", diff); err != nil {
				t.Fatalf("it no longer applies: %s", out)
			}
			defer func() { _, _ = run(t, tree, "git", "apply", "-C1", "-R", diff) }()
			machine, test := "twin", "TestJobs"
			switch kind, _, _ := strings.Cut(name, "-"); kind {
			case "loop":
				machine = "jobs"
			case "cut":
				test = "TestCutsAmidTraining"
			}
			if seeds, says := find(t, tree, machine, test); seeds == -2 {
				t.Errorf("it doesn't build: %s", says)
			} else if seeds < 0 {
				t.Errorf("not found by %d seeds: %s", *power, says)
			} else {
				t.Logf("found by seed %d: %s", seeds, says)
			}
		})
	}
}

// copyTree copies the files of the repository.
func copyTree(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../../..")
	law.Check(t, err)
	out, err := run(t, root, "git", "ls-files")
	if err != nil {
		t.Skipf("no repository: %s", out)
	}
	tree := t.TempDir()
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSpace(name)
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			continue // a link, or what was removed
		}
		to := filepath.Join(tree, name)
		law.Check(t, os.MkdirAll(filepath.Dir(to), 0o755))
		law.Check(t, os.WriteFile(to, data, 0o644))
	}
	return tree
}

var found = regexp.MustCompile(`FLEET_SEED=(\d+): ([^\n]*)`)

// find builds a machine that plays jobs in a tree, and says which seed is the first that fails, −1 where all pass, and −2
// where it doesn't build.
func find(t *testing.T, tree, machine, test string) (seed int, says string) {
	t.Helper()
	dir := t.TempDir()
	defer os.RemoveAll(dir) // as soon as it has run
	binary := filepath.Join(dir, "twin.test")
	if out, err := run(t, tree, "go", "test", "-c", "-o", binary, "./fleet/internal/"+machine); err != nil {
		return -2, string(out)
	}
	cmd := exec.Command(binary, "-test.run", "^"+test+"$", "-first", "-shrink", "0", "-test.timeout", "20m")
	cmd.Dir = filepath.Join(tree, "fleet/internal", machine)
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
