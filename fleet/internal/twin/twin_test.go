package twin_test

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/internal/twin"
	"github.com/gofleet/gofleet/internal/law"
)

// TestMain leaves out what services tell of each delta.
func TestMain(m *testing.M) {
	slog.SetLogLoggerLevel(slog.LevelWarn)
	os.Exit(law.InMemory(m))
}

// TestJobs plays jobs drawn by seed, several beside each other, and has the twin judge them. A program that fails is
// made as small as it can be.
//
// Promise: [G11] what users see of a job drawn by seed is what a float64 model that shares no code with it says;
// without rounds by the order in which pushes arrived
// Also: TestEveryOptionIsDrawn
//
// Promise: [G11] in sync, in collective jobs and alone a drawn job's bits are as if undisturbed, on any servers, and
// each sample counts as often as its epochs say
// Also: TestEveryOptionIsDrawn
func TestJobs(t *testing.T) {
	law.Slow(t)
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	var seeds []uint64
	trial.EachSeed(t, 200, func(seed trial.Seed) { seeds = append(seeds, seed.N) })
	follows.Store(0)
	var next atomic.Int64
	var over atomic.Bool
	t.Run("lanes", func(t *testing.T) {
		for lane := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(lane), func(t *testing.T) {
				t.Parallel()
				for {
					k := int(next.Add(1)) - 1
					if k >= len(seeds) || over.Load() {
						return
					}
					if !play(t, seeds[k]) && *first {
						over.Store(true)
					}
				}
			})
		}
	})
	if n, most := follows.Load(), 2+len(seeds)/500; !t.Failed() && int(n) > most {
		t.Errorf("in %d programs of %d the twin took another sign than its own, may be %d", n, len(seeds), most)
	}
}

// longest is how long a program may take where the first that fails is looked for; most take a tenth of a second.
const longest = 4 * time.Minute

// follows counts programs in which the twin took another sign than its own.
var follows atomic.Int64

// TestPrograms plays programs that once were judged wrongly, or that once failed.
//
// Promise: [G6] after a meeting all workers' executors evaluate by the same moving averages
// Also: TestJobs, TestFrozenValuesComeInPieces (internal/server), TestFrozenValuesThatNobodyKnows (internal/server)
func TestPrograms(t *testing.T) {
	files, err := filepath.Glob("testdata/programs/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no programs: %v", err)
	}
	for _, file := range files {
		for _, wrong := range judge(t, read(t, file)) {
			t.Errorf("%s: %s", file, wrong)
		}
	}
}

// play plays the job of a seed, and says what is wrong with it.
func play(t *testing.T, seed uint64) (passes bool) {
	p := twin.Draw(seed)
	if *first {
		hangs := func() { panic(fmt.Sprintf("FLEET_SEED=%d: it hangs, or takes longer than %v", seed, longest)) }
		defer time.AfterFunc(longest, hangs).Stop()
	}
	wrong := judge(t, p)
	if len(wrong) == 0 {
		return true
	}
	if tries := *shrinks; tries > 0 {
		fails := func(p twin.Program) bool { return len(judge(t, p)) > 0 }
		fewest := trial.Fewest(p, twin.Program.Less, fails, tries)
		if again := judge(t, fewest); len(again) > 0 { // what doesn't fail each time stays as it was
			p, wrong = fewest, again
		}
	}
	file := filepath.Join(os.TempDir(), fmt.Sprintf("twin-%d.json", seed))
	if err := os.WriteFile(file, p.JSON(), 0o644); err != nil {
		t.Error(err)
	}
	some := strings.Join(wrong[:min(len(wrong), 6)], "\n\t")
	if *first {
		t.Errorf("FLEET_SEED=%d: %s", seed, wrong[0])
	} else {
		t.Errorf("FLEET_SEED=%d, or -run TestProgram -program %s: %s\n%v", seed, file, some, p)
	}
	return false
}

// TestProgram plays the program of -program, a file in which TestJobs has left one.
func TestProgram(t *testing.T) {
	if *program == "" {
		t.Skip("-program names none")
	}
	p := read(t, *program)
	for _, wrong := range judge(t, p) {
		t.Error(wrong)
	}
	t.Log(p)
}

func read(t *testing.T, name string) (p twin.Program) {
	data, err := os.ReadFile(name)
	if err == nil {
		p, err = twin.Parse(data)
	}
	law.Check(t, err)
	return p
}

var (
	shrinks = flag.Int("shrink", 300, "how many smaller programs are tried when one fails")
	first   = flag.Bool("first", false, "end with the first seed that fails")
	program = flag.String("program", "", "a file with a program that TestProgram plays")
)

// judge plays a program and says what is wrong.
func judge(t *testing.T, p twin.Program) []string {
	dir, err := os.MkdirTemp("", "twin")
	law.Check(t, err)
	defer os.RemoveAll(dir)
	saw, err := p.Play(t, filepath.Join(dir, "played"))
	if err != nil {
		return []string{err.Error()}
	}
	wrong, followed := p.Differences(saw)
	if len(followed) > 0 {
		t.Logf("program %d: rounding decides the sign of %s, and the twin follows", p.Seed,
			strings.Join(followed, ", "))
		follows.Add(1)
	}
	calm, ok := p.Calm()
	if !ok || len(wrong) > 0 {
		return wrong
	}
	undisturbed, err := calm.Play(t, filepath.Join(dir, "calm"))
	if err != nil {
		return []string{"undisturbed: " + err.Error()}
	}
	return p.Bits(saw, undisturbed)
}
