package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"

	"github.com/gofleet/gofleet/strategy"
)

// stage is what all runs share: the commands, built once, a directory for each run, and the results of undisturbed
// jobs.
type stage struct {
	bin, dir string
	self     string // this command, which runs the roles of counting jobs
	unharmed map[strategy.Mode]outcome
	places   atomic.Int64
	kept     map[string]bool
}

func newStage(ctx context.Context) (*stage, error) {
	dir, err := os.MkdirTemp("", "chaos-")
	if err != nil {
		return nil, fmt.Errorf("no directory for runs: %w", err)
	}
	s := &stage{bin: filepath.Join(dir, "bin"), dir: dir, unharmed: map[strategy.Mode]outcome{},
		kept: map[string]bool{}}
	if s.self, err = os.Executable(); err != nil {
		return nil, err
	}
	const module = "github.com/gofleet/gofleet/"
	build := exec.CommandContext(ctx, "go", "build", "-o", s.bin+"/", module+"fleet/fleetrun", module+
		"examples/wide_and_deep")
	out, err := build.CombinedOutput()
	if err != nil {
		s.close()
		return nil, fmt.Errorf("the commands can't be built: %w\n%s", err, out)
	}
	return s, nil
}

// place makes a directory for a job.
func (s *stage) place() (string, error) {
	dir := filepath.Join(s.dir, fmt.Sprint("job-", s.places.Add(1)))
	return dir, os.MkdirAll(dir, 0o755)
}

// keep keeps a directory for inspection.
func (s *stage) keep(dir string) { s.kept[dir] = true }

// close removes all directories that are not kept.
func (s *stage) close() {
	if len(s.kept) == 0 {
		_ = os.RemoveAll(s.dir)
		return
	}
	for n := range s.places.Load() {
		if dir := filepath.Join(s.dir, fmt.Sprint("job-", n+1)); !s.kept[dir] {
			_ = os.RemoveAll(dir)
		}
	}
}
