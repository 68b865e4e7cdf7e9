package train_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/store/storetest"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/internal/modelfiles"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/transport"
)

// mark is done/DAY.json.
type mark struct {
	Day, Base, Version           string
	Rows, Trained, Dropped, Born int
	Table, Saved                 int
	Bytes                        int64
	Seconds                      float64
	Damaged                      map[string]string
	Before                       map[string]float64
	BadLines                     int `json:"bad_lines"`
	Slices                       []daySlice
}

type daySlice struct {
	Value  string
	Others bool
	Rows   int
	Values map[string]float64
}

func markOf(dir, day string) (m mark, err error) {
	text, err := files.ReadFile(files.Join(dir, "done", day+".json"))
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	return m, err
}

// unpublished says what is wrong with what a job has published of days: marks, the last bases, which are whole and of which the last is
// current, and no delta of another.
func unpublished(dir string, days []string, keep int) (wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	kept, sums := days[max(0, len(days)-keep):], []string{}
	for i, day := range days {
		m, err := markOf(dir, day)
		rows := 0
		for _, s := range m.Slices {
			rows += s.Rows
		}
		if len(m.Slices) > 0 && rows != m.Rows {
			say("the slices of day %s have %d rows, of %d", day, rows, m.Rows)
		}
		if err != nil || m.Day != day || m.Base != "bases/"+day {
			say("the mark of day %s: %+v, error %v", day, m, err)
		}
		base := files.Join(dir, "bases", day)
		if i < len(days)-keep {
			continue
		}
		if err := modelfiles.Whole(context.Background(), base); err != nil {
			say("the base of day %s: %v", day, err)
		}
		v, _ := modelfiles.Version(base)
		if sums = append(sums, v); v != m.Version {
			say("the mark of day %s is of version %s, its base of %s", day, m.Version, v)
		}
	}
	found, err := modelfiles.FindPublished(dir, 3)
	if err != nil {
		say("%v", err)
	}
	for _, p := range found {
		name := files.Base(p.Dir)
		switch day, _, between := strings.Cut(name, "-"); {
		case p.Delta == nil && !between && !slices.Contains(kept, day):
			say("base %s is still there", name)
		case p.Delta != nil && !slices.Contains(sums, p.Delta.Base) && !slices.ContainsFunc(found, func(o modelfiles.Published) bool { return o.Sum == p.Delta.Base }):
			say("delta %s is of no base that is there", name)
		}
	}
	switch s, err := serve.OpenScorer(dir, serve.ScorerOptions{}); {
	case err != nil:
		say("a scorer: %v", err)
	default:
		if v := s.Version(); v != sums[len(sums)-1] {
			say("a scorer serves %s, the last base is %s", v, sums[len(sums)-1])
		}
		s.Close()
	}
	return wrong
}

// TestDaysInATable: at its end a job prints a line for each day, also of an earlier life, as their marks have them.
func TestDaysInATable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode             string
		servers, workers int
	}{{"", 0, 1}, {"async", 1, 2}} {
		dir := t.TempDir()
		for i, day := range []string{"0411", "0412", "0413"} {
			writeDay(t, filepath.Join(dir, "logs", day), 100*i, 40, 60+i)
		}
		bad := filepath.Join(dir, "logs", "0413", "part-1")
		text, err := os.ReadFile(bad)
		law.Check(t, err)
		law.Check(t, os.WriteFile(bad, append(text, "no row\n"...), 0o666))
		lines := func(last string) []string {
			_, said := play(t, c.servers, c.workers, func() train.Job {
				return dayJob(dir, c.mode, train.Days{Last: last, SkipBad: 1, Publish: train.Publish{Dir: dir + "/serving"}})
			})
			_, table, _ := strings.Cut(said, " days:\n")
			table, _, _ = strings.Cut(table, "serve it")
			return strings.Split(strings.TrimSpace(table), "\n")
		}
		if got := lines("0411"); got[0] != "" {
			t.Errorf("%v: a job of one day has a table: %q", c, got)
		}
		got := lines("0413")
		if len(got) != 4 || strings.Join(strings.Fields(got[0]), " ") != "day rows trained test loss test AUC born dropped bytes seconds left out" {
			t.Fatalf("%v: it said\n%s", c, strings.Join(got, "\n"))
		}
		for i, line := range got[1:] {
			m, err := markOf(dir+"/serving", fmt.Sprint("041", i+1))
			law.Check(t, err)
			f := strings.Fields(strings.NewReplacer("(", " ", ")", " ", ",", "").Replace(line))
			auc := fmt.Sprintf("%.4f", m.Before["test AUC"])
			want := fmt.Sprint(m.Day, " ", m.Rows, " ", m.Trained, " ", m.Born, " ", m.Dropped, " ", m.Bytes, fmt.Sprintf(" %.1f files: 0 lines: %d", m.Seconds, m.BadLines))
			if is := strings.Join(append(slices.Clone(f[:3]), f[len(f)-8:]...), " "); is != want || !slices.Contains(f, auc) {
				t.Errorf("%v: the line is %q, want %q and %s", c, line, want, auc)
			}
			if m.Rows != 100+i || m.Trained != 100+i || m.Bytes == 0 || m.Seconds <= 0 || m.Seconds > 60 || m.BadLines != i/2 {
				t.Errorf("%v: the mark is %+v", c, m)
			}
		}
	}
}

// TestPublish: each kind of job publishes a base at each day's end, and deltas between, which a scorer of the directory follows from the
// first base on; at each day's end it scores what the job has trained.
func TestPublish(t *testing.T) {
	t.Parallel()
	for mode, c := range map[string]fleettest.Cluster{"": {Workers: 1}, "collective": {Workers: 2}, "sync": {Servers: 2, Workers: 2}, "async": {Servers: 1, Workers: 2}, "geo": {Servers: 1, Workers: 2}} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for i, day := range []string{"0411", "0412", "0413", "0414"} {
				writeDay(t, filepath.Join(dir, "logs", day), 100*i, 40, 60)
			}
			serving, versions := filepath.Join(dir, "serving"), map[string]bool{}
			var scorer *serve.Scorer
			c.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
				j := dayJob(dir, mode, train.Days{Last: "0414", Publish: train.Publish{Dir: serving, Deltas: 4}})
				j.Hooks = []train.Hooks{{Step: func(_ context.Context, r *train.Run, _ nn.TrainResult) (err error) {
					switch _, none := os.Stat(filepath.Join(serving, "current")); {
					case !r.Leads() || none != nil:
						return nil
					case scorer == nil:
						scorer, err = serve.OpenScorer(serving, serve.ScorerOptions{})
					default:
						_, err = scorer.Reload()
					}
					if err == nil {
						versions[scorer.Version()] = true
						_, err = scorer.ScoreLines(ctx, []byte("0,0.5,7\n"))
					}
					return err
				}}}
				_, err := j.Run(ctx, f)
				return err
			})
			defer scorer.Close()
			for _, what := range unpublished(serving, []string{"0411", "0412", "0413", "0414"}, 3) {
				t.Error(what)
			}
			if _, err := scorer.Reload(); err != nil {
				t.Error(err)
			}
			model, err := serve.OpenScorer(filepath.Join(dir, "out", "model"), serve.ScorerOptions{})
			law.Check(t, err)
			defer model.Close()
			line := []byte("0,0.5,7\n0,-0.5,8\n")
			want, err := model.ScoreLines(t.Context(), line)
			law.Check(t, err)
			if got, err := scorer.ScoreLines(t.Context(), line); err != nil || !slices.Equal(got.Values[0], want.Values[0]) {
				t.Errorf("it scores %v, the job's model %v: %v", got.Values, want.Values, err)
			}
			if n := len(versions); n < 12 {
				t.Errorf("the scorer has followed %d bases and deltas, want 3 a day", n)
			}
			m, err := markOf(serving, "0412")
			if _, auc := m.Before["constant test AUC"]; err != nil || m.Rows != 100 || m.Trained != 100 || !auc || m.Bytes == 0 {
				t.Errorf("%+v: %v", m, err)
			}
		})
	}
}

// TestMarksSayWhatIsBorn: a mark counts rows that have come and that were dropped.
func TestMarksSayWhatIsBorn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i, day := range []string{"0411", "0412", "0413"} {
		writeDay(t, filepath.Join(dir, "logs", day), 10*i, 10)
	}
	serving := filepath.Join(dir, "serving")
	_, said, err := plays(t, dir, train.Days{Last: "0413", Shrink: fleet.ShrinkOptions{Unseen: 2}, Publish: train.Publish{Dir: serving}}, func(j *train.Job) {
		j.Outputs = append(j.Outputs, nn.Mean(nn.Embedding(j.Loss.Graph().Node("sample"), nn.EmbeddingOptions{Name: "ledger", Dim: 1, Init: optimizer.Constant{}})))
	})
	if err != nil {
		t.Fatal(err)
	}
	for day, want := range map[string][3]int{"0411": {10, 0, 10}, "0412": {10, 0, 20}, "0413": {10, 10, 20}} {
		if m, err := markOf(serving, day); err != nil || [3]int{m.Born, m.Dropped, m.Table} != want {
			t.Errorf("%s: %+v, want %v: %v\n%s", day, m, want, err, said)
		}
	}
}

// TestADamagedBaseStopsNoPublication: a base whose record is damaged stops neither bases nor deltas, and goes when its day is not kept.
func TestADamagedBaseStopsNoPublication(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	serving, days := filepath.Join(dir, "serving"), []string{"0411", "0412", "0413", "0414"}
	for i, day := range days {
		writeDay(t, filepath.Join(dir, "logs", day), 20*i, 20)
	}
	d := train.Days{Last: "0414", Publish: train.Publish{Dir: serving, Deltas: 3}}
	if _, _, err := plays(t, dir, d, cut(1, 2)); !errors.Is(err, errPower) {
		t.Fatal(err)
	}
	put(t, filepath.Join(serving, "bases", "0411", "model.json"), "{}")
	if _, _, err := plays(t, dir, d); err != nil {
		t.Fatal(err)
	}
	for _, what := range unpublished(serving, days, 3) {
		t.Error(what)
	}
}

// TestPublishBelongsToOneJob: a second job with the same directory is refused before it trains.
func TestPublishBelongsToOneJob(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	writeDay(t, filepath.Join(dir, "logs", "0411"), 0, 20)
	d := train.Days{Dir: filepath.Join(dir, "logs"), Last: "0411", Publish: train.Publish{Dir: filepath.Join(dir, "serving")}}
	var second error
	_, _, err := plays(t, dir, d, func(j *train.Job) {
		j.Hooks = []train.Hooks{{EpochEnd: func(context.Context, *train.Run, nn.TrainResult) error {
			_, _, second = plays(t, other, d)
			return nil
		}}}
	})
	if err != nil || !errors.Is(second, fleet.ErrTaken) {
		t.Errorf("%v, the second %v", err, second)
	}
}

// leaving is a transport that says when a worker leaves, before the servers know.
type leaving struct {
	transport.Transport
	once sync.Once
	says func()
}

func (l *leaving) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	if strings.HasPrefix(trial.NameOf(req), "leave") {
		l.once.Do(l.says)
	}
	return l.Transport.Call(ctx, endpoint, req, read)
}

// TestWhoHasLeftPublishesNoMore: a worker that leaves has let go of the directory in which it published. One that begins then
// leads, and takes it.
func TestWhoHasLeftPublishesNoMore(t *testing.T) {
	t.Parallel()
	dir, left, taken := t.TempDir(), false, error(nil)
	serving := filepath.Join(dir, "serving")
	writeDay(t, filepath.Join(dir, "logs", "0411"), 0, 20)
	next := &leaving{Transport: transport.NewMemory(), says: func() {
		var claims checkpoint.Claims
		left, taken = true, claims.Take(t.Context(), serving)
		claims.Release()
	}}
	errs := fleettest.Cluster{Servers: 1, Workers: 1, Options: fleet.Options{Transport: next}}.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
		j := dayJob(dir, "async", train.Days{Last: "0411", Publish: train.Publish{Dir: serving}})
		_, err := j.Run(ctx, f)
		return err
	})
	if err := errs["worker 0"]; err != nil || !left || taken != nil {
		t.Errorf("%v; a worker has left: %t; the next to lead: %v", err, left, taken)
	}
}

// TestADayEndsAsItBegan: a job that failed between a day's period and its base, and is started again with other options, ends the day with
// those with which it has begun, at another place.
func TestADayEndsAsItBegan(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		for i, day := range []string{"0411", "0412"} {
			writeDay(t, filepath.Join(dir, "logs", day), 10*i, 10)
		}
		d := train.Days{Last: "0412", Publish: train.Publish{Dir: filepath.Join(dir, "serving")}}
		put(t, filepath.Join(dir, "serving", "bases"), "which is no directory")
		if _, _, err := plays(t, dir, d, func(j *train.Job) { j.Hooks = []train.Hooks{saves} }); err == nil || !strings.Contains(err.Error(), "bases") {
			t.Fatal(err)
		}
		d.Shrink.Unseen, d.Publish.Dir, d.Publish.Save.DeltaThreshold = 9, filepath.Join(dir, "elsewhere"), 1
		_, said, err := plays(t, dir, d)
		if got := daysIn(said); err != nil || !slices.Equal(got, []string{"0411", "0412"}) {
			t.Fatalf("%v: %v\n%s", got, err, said)
		}
		for _, what := range unpublished(d.Publish.Dir, []string{"0411", "0412"}, 3) {
			t.Error(what)
		}
		if n := clock(t, dir); n != 2 {
			t.Errorf("%d periods have ended", n)
		}
	})
}

// saves is a hook that has a job go back to where it ended a day.
var saves = train.Hooks{Evaluated: func(ctx context.Context, r *train.Run, e train.Evaluation) error {
	if e.End {
		go func() { time.Sleep(5 * time.Second); _ = r.Fleet.Checkpoint(ctx) }()
	}
	return nil
}}

// TestEveryCrashOfADay: whenever a job of days ends between two changes of the store that has all it writes, there is no mark without its
// base, a scorer of what is published opens as soon as there is a base, and a job that goes on from there comes to the same.
//
// Promise: [G6] a day's done mark never exists without its base, and a job that ends between any two writes goes on from there
func TestEveryCrashOfADay(t *testing.T) {
	// Serial: it takes over the process's log.
	trial.Slow(t)
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.DiscardHandler))
	logs := t.TempDir()
	days := []string{"0411", "0412", "0413"}
	for i, day := range days {
		writeDay(t, filepath.Join(logs, "logs", day), 10*i, 10)
	}
	play := func(t *testing.T, m *storetest.Memory) (url string, err error) {
		synctest.Test(t, func(t *testing.T) {
			url = storetest.Mount(t, m)
			errs := fleettest.Cluster{Workers: 1}.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
				j := dayJob(logs, "", train.Days{Last: "0413", Publish: train.Publish{Dir: url + "/serving", Deltas: 2, Keep: 2}})
				j.Checkpoint, j.Out, j.Strategy.Recovery.Dir = url+"/checkpoints", "", url+"/checkpoints"
				_, err := j.Run(ctx, f)
				return err
			})
			if err = errs["worker 0"]; err == nil {
				for _, what := range unpublished(url+"/serving", days, 2) {
					err = errors.Join(err, errors.New(what))
				}
			}
		})
		return url, err
	}
	whole := storetest.NewMemory()
	if _, err := play(t, whole); err != nil {
		t.Fatal(err)
	}
	all := len(whole.Changes())
	for _, n := range trial.Some(t, slices.Collect(func(yield func(int) bool) {
		for i := range all {
			if !yield(i) {
				return
			}
		}
	})) {
		m := whole.After(n)
		func() {
			url := storetest.Mount(t, m)
			for _, day := range days {
				if mark, err := markOf(url+"/serving", day); err == nil && day == days[len(days)-1] && modelfiles.Whole(t.Context(), url+"/serving/"+mark.Base) != nil {
					t.Errorf("after %d changes: a mark of %s without its base", n, day)
				}
			}
			if base, _, err := modelfiles.ReadCurrent(url + "/serving"); base != "" || err != nil {
				s, err := serve.OpenScorer(url+"/serving", serve.ScorerOptions{})
				if err != nil {
					t.Errorf("after %d changes: a scorer: %v", n, err)
					return
				}
				s.Close()
			}
		}()
		if _, err := play(t, m); err != nil {
			t.Errorf("after %d changes of %d, behind %+v: %v", n, all, whole.Changes()[max(0, n-1)].Name, err)
		}
	}
}
