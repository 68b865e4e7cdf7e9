package twin_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/internal/twin"
)

// TestJobs plays jobs drawn by seed, and has the twin judge them. A program that fails is made as small as it can be.
func TestJobs(t *testing.T) {
	trial.EachSeed(t, 200, func(seed trial.Seed) {
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
		file := filepath.Join(os.TempDir(), fmt.Sprintf("twin-%d.json", seed.N))
		if err := os.WriteFile(file, p.JSON(), 0o644); err != nil {
			t.Error(err)
		}
		some := strings.Join(wrong[:min(len(wrong), 6)], "\n\t")
		if *first {
			t.Fatalf("FLEET_SEED=%d: %s", seed.N, wrong[0])
		}
		t.Errorf("FLEET_SEED=%d, or -run TestProgram -program %s: %s\n%v", seed.N, file, some, p)
	})
}

// TestKnown fails when a known defect is mended: its line goes then, and TestJobs judges programs that have it.
func TestKnown(t *testing.T) {
	for _, d := range twin.Defects {
		if p := read(t, d.Program); !d.Has(p) || len(judge(t, p)) == 0 {
			t.Errorf("%q is mended: remove its line from known.go, and %s", d.Name, d.Program)
		}
	}
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
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	saw, err := p.Play(t, filepath.Join(dir, "played"))
	if err != nil {
		return []string{err.Error()}
	}
	wrong := p.Differences(saw)
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
