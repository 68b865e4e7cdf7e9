package jobs_test

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"
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

var shrinks = flag.Int("shrink", 60, "how many smaller programs are tried when one fails")

// TestJobs plays jobs drawn by seed. A program that fails is made as small as it can be.
func TestJobs(t *testing.T) {
	law.Slow(t)
	if os.Getenv("FLEET_SEED")+os.Getenv("FLEET_SEEDS") == "" {
		t.Skip("until the loop knows what a job has done: FLEET_SEEDS says which jobs to play")
	}
	trial.EachSeed(t, 200, func(seed trial.Seed) {
		p := jobs.Draw(seed.N)
		wrong, said := play(t, p)
		if len(wrong) == 0 {
			return
		}
		fewest := jobs.Fewest(p, func(p jobs.Program) bool {
			again, _ := play(t, p)
			return len(again) > 0 && kind(again[0]) == kind(wrong[0])
		}, *shrinks)
		if again, says := play(t, fewest); len(again) > 0 { // what doesn't fail each time stays as it was
			p, wrong, said = fewest, again, says
		}
		t.Errorf("FLEET_SEED=%d: %s\n%v", seed.N, strings.Join(wrong, "\n\t"), p)
		if testing.Verbose() {
			t.Log(said)
		}
	})
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
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	return p.Wrong(t, dir)
}
