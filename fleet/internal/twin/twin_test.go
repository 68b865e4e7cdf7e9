package twin_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/internal/twin"
)

// TestJobs plays jobs drawn by seed, and has the twin judge them. A program that fails is made as small as it can be.
func TestJobs(t *testing.T) {
	trial.EachSeed(t, 20, func(seed trial.Seed) {
		p := twin.Draw(seed.N)
		wrong := judge(t, p)
		if len(wrong) == 0 {
			return
		}
		if known := twin.KnownOf(p); len(known) > 0 {
			t.Logf("FLEET_SEED=%d fails, as is known: %s", seed.N, strings.Join(known, ", "))
			return
		}
		if tries := *shrinks; tries > 0 {
			p = twin.Fewest(p, func(p twin.Program) bool { return len(judge(t, p)) > 0 }, tries)
			wrong = judge(t, p)
		}
		t.Errorf("FLEET_SEED=%d: %s\n%v", seed.N, strings.Join(wrong[:min(len(wrong), 6)], "\n\t"), p)
	})
}

// TestKnown fails when a known defect is mended: its line goes then, and TestJobs judges programs that have it.
func TestKnown(t *testing.T) {
	for _, d := range twin.Defects {
		if p := twin.Draw(d.Seed); !d.Has(p) || len(judge(t, p)) == 0 {
			t.Errorf("%q is mended, or seed %d no longer draws it: remove its line from known.go", d.Name, d.Seed)
		}
	}
}

var shrinks = flag.Int("shrink", 300, "how many smaller programs are tried when one fails")

// judge plays a program and says what is wrong.
func judge(t *testing.T, p twin.Program) []string {
	dir, err := os.MkdirTemp("", "twin")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	saw, err := p.Play(t, dir)
	if err != nil {
		return []string{err.Error()}
	}
	return p.Differences(saw)
}
