package jobs_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet/internal/jobs"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/internal/law"
)

// TestMain leaves out what programs are told of small jobs.
func TestMain(m *testing.M) {
	slog.SetLogLoggerLevel(slog.LevelError)
	os.Exit(law.InMemory(m))
}

// longest is how long a program may take; most take a tenth of a second.
const longest = time.Minute

var (
	shrinks = flag.Int("shrink", 60, "how many smaller programs are tried when one fails")
	first   = flag.Bool("first", false, "end with the first seed that fails")
	program = flag.String("program", "", "a file with a program that TestProgram plays")
)

// TestJobs plays jobs drawn by seed, several beside each other. A program that fails is made as small as it can be.
//
// Promise: [G6] a job that is ended several times anywhere, and goes on with other servers, workers and batches,
// trains each sample once an epoch, ends each period once, and publishes what it has
//
// Promise: [G6] a job in step that is ended several times has the bits of an undisturbed one
//
// Promise: [G6] when single workers die anywhere in the loop, the job ends with each epoch evaluated, the rate, end
// and best model that its evaluations say, and each sample counted as often as its mode promises
func TestJobs(t *testing.T) {
	law.Slow(t)
	var seeds []uint64
	trial.EachSeed(t, 120, func(seed trial.Seed) { seeds = append(seeds, seed.N) })
	var next atomic.Int64
	t.Run("lanes", func(t *testing.T) {
		for lane := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(lane), func(t *testing.T) {
				t.Parallel()
				for k := next.Add(1) - 1; int(k) < len(seeds); k = next.Add(1) - 1 {
					if !right(t, seeds[k]) && *first {
						next.Store(int64(len(seeds)))
					}
				}
			})
		}
	})
}

// right plays the job of a seed, and says what is wrong with it.
func right(t *testing.T, seed uint64) bool {
	p := jobs.Draw(seed)
	wrong, said := play(t, p)
	if len(wrong) == 0 {
		return true
	}
	fewest := trial.Fewest(p, jobs.Program.Less, func(p jobs.Program) bool {
		again, _ := play(t, p)
		return len(again) > 0 && kind(again[0]) == kind(wrong[0])
	}, *shrinks)
	if again, says := play(t, fewest); len(again) > 0 { // what doesn't fail each time stays as it was
		p, wrong, said = fewest, again, says
	}
	file := filepath.Join(os.TempDir(), fmt.Sprintf("job-%d.json", seed))
	data, err := json.Marshal(p)
	if err == nil {
		err = os.WriteFile(file, data, 0o644)
	}
	if err != nil {
		t.Error(err)
	}
	t.Errorf("FLEET_SEED=%d: %s\n%vor -run TestProgram -program %s", seed, strings.Join(wrong, "\n\t"), p, file)
	if testing.Verbose() {
		t.Log(said)
	}
	return false
}

// TestPrograms plays jobs that once went wrong: a worker that led an evaluation ended in it, and no best model was saved; a worker
// that led beside a lower one, which was behind, could not lower the rate; and workers that had come to different places evaluated
// at different steps when they went on without servers.
//
// Promise: [G5] the hooks of each evaluation are led to their end, whoever ends in them
// Also: TestJobs, TestEpochsOutliveEveryEnd (internal/epoch)
func TestPrograms(t *testing.T) {
	files, err := filepath.Glob("testdata/programs/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no programs: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { plays(t, file) })
	}
}

// TestProgram plays the program of -program, a file in which TestJobs has left one.
func TestProgram(t *testing.T) {
	if *program == "" {
		t.Skip("-program names none")
	}
	plays(t, *program)
}

// plays plays the program in a file.
func plays(t *testing.T, file string) {
	var p jobs.Program
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	law.Check(t, err)
	if wrong, said := play(t, p); len(wrong) > 0 {
		t.Errorf("%s\n%v%s", strings.Join(wrong, "\n\t"), p, said)
	}
}

// kind is a wrong without its numbers.
func kind(wrong string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, wrong[:min(len(wrong), 60)])
}

// play plays a program and says what is wrong, and what its roles have said.
func play(t *testing.T, p jobs.Program) (wrong []string, said string) {
	hangs := func() { panic(fmt.Sprintf("seed %d hangs, or takes longer than %v\n%v", p.Model.Seed, longest, p)) }
	defer time.AfterFunc(longest, hangs).Stop()
	dir, err := os.MkdirTemp("", "jobs")
	law.Check(t, err)
	defer os.RemoveAll(dir)
	return p.Wrong(t, dir)
}
