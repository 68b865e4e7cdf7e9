package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/strategy"
)

// TestMain makes the test binary a role of the jobs that it starts, as the command is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == counterName {
		os.Exit(counterMain(os.Args[2:]))
	}
	os.Exit(law.InMemory(m))
}

// TestSomeRuns plays jobs of real processes of which one is killed or stopped: they end by themselves, and nothing acknowledged is lost
// behind the last checkpoint, doubled, or mixed from two states.
//
// Promise: [G1] when real processes are killed, stopped and restarted by seed, in every mode, what was acknowledged
// outlives servers with journals; elsewhere a checkpoint is whole and the same on all servers
func TestSomeRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("trains models as processes, and kills some")
	}
	s, err := newStage(t.Context())
	law.Check(t, err)
	defer s.close()
	var all sync.WaitGroup
	defer all.Wait()
	type one struct {
		mode  strategy.Mode
		level string
		event event
	}
	for _, c := range law.Some(t, []one{
		{strategy.ModeSync, "checkpoints", event{do: kill, whom: "server 1", after: allSteps / 2}},
		{strategy.ModeAsync, "checkpoints", event{do: kill, whom: "worker 0", after: allSteps / 2}},
		{strategy.ModeSSP, "none", event{do: term, whom: "fleetrun", after: allSteps / 4}},
		{strategy.ModeSync, "process", event{do: kill, whom: "server 0", after: allSteps / 2}},
		{strategy.ModeSync, "checkpoints", event{do: pause, whom: "worker 1", after: allSteps / 2, stops: 2 * timeout}},
		{strategy.ModeAsync, "checkpoints", event{do: pause, whom: "worker 0", after: allSteps / 4, stops: 2 * timeout}},
	}) {
		p := draw(1, c.mode, c.level)
		p.flights, p.restarts, p.events = false, 5, []event{c.event}
		all.Go(func() {
			if v := s.play(t.Context(), p); len(v.wrong) > 0 || !strings.HasPrefix(v.end, "exit 0") {
				t.Errorf("%s, %s, %s: %s, %q", p.mode, p.level.name, p.deeds(), v.end, v.wrong)
			}
		})
	}
}

// TestAudit: an audit passes the weights that a diary tells of, and sees what was lost, doubled or mixed.
func TestAudit(t *testing.T) {
	const first, second, all, missing = 1 << 8, 2<<8 | 1<<4, epochs * steps, -1
	tell := []entry{{Who: "server 0", What: begins}, {Life: first, What: begins}, {Life: second, What: begins},
		{Life: first, What: trains, Sent: all, Acked: all},
		{Life: second, What: trains, Sent: all + 1, Acked: all}, {Life: first, What: stops, Sent: all, Acked: all}}
	for name, c := range map[string]struct {
		firsts, seconds, dense []float32 // rows; then the dense weights of either worker, and those of both
		want                   string
	}{
		"well":             {[]float32{300, 300}, []float32{300, 300}, []float32{300, 300, 300}, ""},
		"an unanswered":    {[]float32{300, 300}, []float32{300, 302}, []float32{300, 302, 301}, ""},
		"lost":             {[]float32{300, 300}, []float32{298, 298}, []float32{300, 298, 299}, "LOST"},
		"missed":           {[]float32{300, 300}, []float32{298, 298}, []float32{300, 298, 299}, "MISSED"},
		"doubled":          {[]float32{302, 302}, []float32{300, 300}, []float32{302, 300, 301}, "DOUBLED"},
		"repeated":         {[]float32{302, 302}, []float32{300, 300}, []float32{302, 300, 301}, "REPEATED"},
		"two states":       {[]float32{300, 300}, []float32{300, 0}, []float32{300, 150, 225}, "MIXED"},
		"other dense ones": {[]float32{300, 300}, []float32{300, 300}, []float32{298, 300, 300}, "MIXED"},
		"rows are missing": {[]float32{300, missing}, []float32{300, 300}, []float32{300, 300, 300}, "MIXED"},
	} {
		got := counts{Dense: c.dense, Rows: map[uint64]float32{}}
		for i := range uint64(copies) {
			got.Rows[first+i], got.Rows[second+i] = c.firsts[i%2], c.seconds[i%2]
			if got.Rows[first+i] == missing {
				delete(got.Rows, first+i)
			}
		}
		bad := audit{plan{mode: strategy.ModeAsync, level: levels[0]}, tell, outcome{dir: written(t, got)}}.wrong()
		if c.want == "" && len(bad) > 0 || c.want != "" && !slices.ContainsFunc(bad, func(b string) bool { return strings.HasPrefix(b, c.want) }) {
			t.Errorf("%s: %q, want %q", name, bad, c.want)
		}
	}
}

// TestAFirstPushThatIsTorn: a life that was killed during its first push has rows on one server only, and only part of what it adds to
// the dense weights.
func TestAFirstPushThatIsTorn(t *testing.T) {
	const killed, next, other, all = 1 << 8, 2 << 8, 3<<8 | 1<<4, epochs * steps
	tell := []entry{{Life: killed, What: trains, Sent: 1}, {Life: next, What: trains, Sent: all, Acked: all}, {Life: next, What: stops, Sent: all, Acked: all},
		{Life: other, What: stops, Sent: all, Acked: all}}
	got := counts{Dense: []float32{300, 300, 300, 302, 300, 301}, Rows: map[uint64]float32{}}
	for i := range uint64(copies) {
		got.Rows[next+i], got.Rows[other+i] = 2*all, 2*all
		if i < 7 {
			got.Rows[killed+i] = 2
		}
	}
	if bad := (audit{plan{mode: strategy.ModeHalfAsync, level: levels[0]}, tell, outcome{dir: written(t, got)}}).wrong(); bad != nil {
		t.Errorf("%q", bad)
	}
}

// written writes the weights at a job's end into a directory of their own.
func written(t *testing.T, got counts) (dir string) {
	t.Helper()
	dir = t.TempDir()
	text, err := json.Marshal(got)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "counts.json"), text, 0o600)
	}
	law.Check(t, err)
	return dir
}

// TestAuditOfSIGTERM: what was acknowledged before the only thing that was done, a SIGTERM, must outlive the servers, and what came later need not.
func TestAuditOfSIGTERM(t *testing.T) {
	const only = 1 << 8
	asked := time.Now()
	tell := []entry{{Who: "server 0", What: begins}, {Life: only, What: begins}, {At: asked.Add(-time.Second), Life: only, What: trains, Sent: 5, Acked: 5},
		{At: asked.Add(time.Second), Life: only, What: trains, Sent: 9, Acked: 9}, {At: asked.Add(2 * time.Second), Who: "server 0", What: begins}}
	for do, want := range map[deed]int64{term: 5, kill: 0} {
		a := audit{plan{level: levels[1]}, tell, outcome{struck: []struck{{event: event{do: do, whom: "server 0"}, at: asked}}}}
		if got := a.lives()[only].least; got != want {
			t.Errorf("%s: %d steps must be in the weights, want %d", do, got, want)
		}
	}
}

// TestAuditOfJournals: what was acknowledged outlives servers that keep a journal. Everybody may go back only where workers go in step and
// one was taken out, and only if a role says so.
func TestAuditOfJournals(t *testing.T) {
	const only = 1 << 8
	tell := []entry{{Life: only, What: begins}, {Life: only, What: trains, Sent: 5, Acked: 5}, {Who: "server 0", What: begins}}
	said := slices.Insert(slices.Clone(tell), 2, entry{Life: only, What: back, Sent: 5, Acked: 5})
	for name, c := range map[string]struct {
		mode    strategy.Mode
		entries []entry
		struck  event
		least   int64
		may     bool
	}{
		"a server":           {strategy.ModeSync, tell, event{do: kill, whom: "server 0"}, 5, false},
		"nobody says so":     {strategy.ModeSync, tell, event{do: kill, whom: "worker 0"}, 5, true},
		"a worker in step":   {strategy.ModeSync, said, event{do: kill, whom: "worker 0"}, 0, true},
		"a short stop":       {strategy.ModeSSP, said, event{do: pause, whom: "worker 0", stops: timeout / 4}, 0, false},
		"a long stop":        {strategy.ModeSSP, said, event{do: pause, whom: "worker 0", stops: timeout * 2}, 0, true},
		"a worker elsewhere": {strategy.ModeAsync, said, event{do: kill, whom: "worker 0"}, 0, false},
	} {
		a := audit{plan{mode: c.mode, level: levels[2]}, c.entries, outcome{struck: []struck{{event: c.struck}}}}
		lives := a.lives()
		if got, lost := lives[only].least, a.wentBack(lives) != ""; got != c.least || lost != (c.least == 0) || a.mayGoBack(a.struck) != c.may {
			t.Errorf("%s: %d steps must be in the weights, lost some: %t, may go back: %t", name, got, lost, a.mayGoBack(a.struck))
		}
	}
}

// TestResumed: the time from what was done to the end of the longest pause behind it.
func TestResumed(t *testing.T) {
	began := time.Now()
	after := func(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }
	var tell []entry
	for i, ms := range []int{0, 10, 20, 1500, 1510, 1520} {
		tell = append(tell, entry{At: after(ms), Life: 1, Acked: int64(i + 1)})
	}
	got := resumed(tell, []struck{{event: event{do: kill, whom: "server 1"}, at: after(15)},
		{event: event{do: term, whom: "fleetrun"}, at: after(1505)}, {at: after(1600)}})
	want := []resumption{{"kill -9 of a server", 1485 * time.Millisecond}, {"SIGTERM of fleetrun", 5 * time.Millisecond}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestPlansRepeat: a seed says all that happens, and seeds go through all modes and levels.
func TestPlansRepeat(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(200) {
		p := draw(seed, "", "")
		if again := draw(seed, p.mode, p.level.name); again.deeds() != p.deeds() || again.flights != p.flights {
			t.Errorf("seed %d: %s, and again %s", seed, p.deeds(), again.deeds())
		}
		seen[string(p.mode)+" "+p.level.name] = true
		for _, e := range p.events {
			seen[string(e.do)+" "+e.whom] = true
		}
	}
	if want := len(strategy.Modes())*len(levels) + 3*5; len(seen) != want {
		t.Errorf("%d things happen, want %d: %v", len(seen), want, seen)
	}
}

// TestWrongFlags: what is no mode or level is refused.
func TestWrongFlags(t *testing.T) {
	for _, args := range [][]string{{"-mode=often"}, {"-level=high"}, {"-runs=x"}, {"more"}} {
		if code := command(t.Context(), args); code != 2 {
			t.Errorf("%v: exit code %d", args, code)
		}
	}
}
