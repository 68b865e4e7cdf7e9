package train_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
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
	"github.com/gofleet/gofleet/fleet/store/storetest"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/strategy"
)

// plays is a job of days in a process alone, with what it says.
func plays(t *testing.T, dir string, d train.Days, set ...func(j *train.Job)) (res train.Result, said string, err error) {
	t.Helper()
	var out bytes.Buffer
	errs := fleettest.Cluster{Workers: 1}.Errors(t, func(ctx context.Context, f *fleet.Fleet) (err error) {
		j := dayJob(dir, "", d)
		j.Stdout = &out
		for _, set := range set {
			set(&j)
		}
		res, err = j.Run(ctx, f)
		return err
	})
	return res, out.String(), errs["worker 0"]
}

var errPower = errors.New("the power is cut")

// cut ends a job behind a step of a day.
func cut(epoch, step int) func(j *train.Job) {
	return func(j *train.Job) {
		j.Hooks = append(j.Hooks, train.Hooks{Step: func(ctx context.Context, r *train.Run, so nn.TrainResult) error {
			if r.Epoch != epoch || so.Steps != step {
				return nil
			}
			return errors.Join(r.Fleet.Checkpoint(ctx), errPower)
		}})
	}
}

func put(t *testing.T, name, text string) {
	t.Helper()
	law.Check(t, os.MkdirAll(filepath.Dir(name), 0o777))
	law.Check(t, os.WriteFile(name, []byte(text), 0o666))
}

// TestADayIsAsItWasWhenItBegan: whatever happens to the directory of a day that has begun, its rows are those that it had. One that was
// changed or is gone ends the job with its name, until it is put back, or the rest of the day is passed over.
func TestADayIsAsItWasWhenItBegan(t *testing.T) {
	t.Parallel()
	line := "1,0.5,999\n"
	for name, c := range map[string]struct {
		then func(t *testing.T, file string)
		want string // of the error; "" if the job goes on
	}{
		"a file comes": {func(t *testing.T, file string) { put(t, file+"-late", line) }, ""},
		"it grows":     {func(t *testing.T, file string) { law.Check(t, appendTo(file, line)) }, ""},
		"it is cut":    {func(t *testing.T, file string) { law.Check(t, os.Truncate(file, 100)) }, "it had "},
		"it is changed": {func(t *testing.T, file string) {
			text, _ := os.ReadFile(file)
			put(t, file, strings.Replace(string(text), "1,", "0,", 1))
		}, "it has changed since"},
		"it is gone": {func(t *testing.T, file string) { law.Check(t, os.Remove(file)) }, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			writeDay(t, filepath.Join(dir, "logs", "0411"), 0, 20)
			writeDay(t, filepath.Join(dir, "logs", "0412"), 20, 30, 30)
			writeDay(t, filepath.Join(dir, "logs", "0413"), 80, 10)
			d, file := train.Days{Last: "0413"}, filepath.Join(dir, "logs", "0412", "part-1")
			before, err := os.ReadFile(file)
			law.Check(t, err)
			if _, _, err := plays(t, dir, d, cut(1, 3)); !errors.Is(err, errPower) {
				t.Fatal(err)
			}
			c.then(t, file)
			_, _, err = plays(t, dir, d)
			if c.want == "" {
				if got, want := dayLedger(t, dir), once(90); err != nil || !maps.Equal(got, want) {
					t.Errorf("%v: %s", err, apart(got, want))
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "day 0412 has begun with "+file) {
				t.Fatalf("error %v, want one of %q", err, c.want)
			}
			other := filepath.Join(t.TempDir(), "other")
			law.Check(t, os.CopyFS(other, os.DirFS(dir)))
			law.Check(t, os.WriteFile(file, before, 0o666))
			_, _, err = plays(t, dir, d)
			if got, want := dayLedger(t, dir), once(90); err != nil || !maps.Equal(got, want) {
				t.Errorf("put back: %v: %s", err, apart(got, want))
			}
			_, said, err := plays(t, other, train.Days{Dir: filepath.Join(dir, "logs"), Last: "0413"}, func(j *train.Job) { j.Options.PassOver("0412") })
			got := dayLedger(t, other)
			if err != nil || len(got) != 54 || slices.Max(slices.Collect(maps.Values(got))) != 1 {
				t.Errorf("passed over: %v: %d samples\n%s", err, len(got), said)
			}
		})
	}
}

func appendTo(file, text string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, text)
	return errors.Join(err, f.Close())
}

// packed is a text in gzip, of which so many bytes are cut off.
func packed(text string, cut int) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, text)
	_ = z.Close()
	return b.String()[:b.Len()-cut]
}

// TestDamagedDays: files that can't be read and lines that can't be parsed are left out, counted and told, by any number of workers, and
// more than the job permits end it before it trains on the day.
func TestDamagedDays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	day := filepath.Join(dir, "logs", "0411")
	writeDay(t, day, 0, 20)
	put(t, filepath.Join(day, "part-1.gz"), packed(strings.Repeat("1,0.5,100\n", 1000), 9))
	put(t, filepath.Join(day, "part-2"), "1,0.5,20\n1,half,200\n1,0.5\n1,0.5,21\n")
	for _, workers := range []int{1, 3} {
		for _, c := range []struct {
			files, lines int
			want         string
		}{{1, 2, ""}, {0, 2, "1 files are damaged, and Days.BadFiles is 0: the first is " + day + "/part-1.gz"}, {1, 1, "2 lines are bad, and Days.SkipBad is 1: the first is "}} {
			law.Check(t, os.RemoveAll(filepath.Join(dir, "checkpoints")))
			var said bytes.Buffer
			errs := fleettest.Cluster{Workers: workers}.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
				j := dayJob(dir, map[bool]string{true: "collective"}[workers > 1], train.Days{Last: "0411", BadFiles: c.files, SkipBad: c.lines})
				if f.IsFirstWorker() {
					j.Stdout = &said
				}
				_, err := j.Run(ctx, f)
				return err
			})
			for role, err := range errs {
				if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
					t.Errorf("%+v: %s of %d: %v", c, role, workers, err)
				}
			}
			if c.want == "" && !strings.Contains(said.String(), "files: 1, lines: 2") {
				t.Errorf("%d workers:\n%s", workers, said.String())
			}
			if got, want := dayLedger(t, dir), once(22); c.want == "" && workers == 1 && !maps.Equal(got, want) {
				t.Error(apart(got, want))
			}
		}
	}
}

// TestLateDays: a day without its mark is waited for, if a later one has its own, and then passed over, taken as it is, or an error. One
// that comes when a later day has begun is passed over.
func TestLateDays(t *testing.T) {
	t.Parallel()
	for _, late := range []string{"", "take", "fail", "in time"} {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			logs := filepath.Join(dir, "logs")
			writeDay(t, filepath.Join(logs, "0411"), 0, 10)
			writeDay(t, filepath.Join(logs, "0412"), 10, 10)
			writeDay(t, filepath.Join(logs, "0413"), 20, 10)
			law.Check(t, os.Remove(filepath.Join(logs, "0412", "_SUCCESS")))
			began, want := time.Now(), []string{"0411", "0413", "0414"}
			go func() {
				time.Sleep(3 * time.Minute)
				if late == "in time" {
					put(t, filepath.Join(logs, "0412", "_SUCCESS"), "")
				}
				time.Sleep(6 * time.Minute)
				writeDay(t, filepath.Join(logs, "0412-b"), 30, 10) // when 0413 has begun
				time.Sleep(6 * time.Minute)
				writeDay(t, filepath.Join(logs, "0414"), 40, 10)
			}()
			_, said, err := plays(t, dir, train.Days{Last: "0414", Wait: 6 * time.Minute, Late: strings.Replace(late, "in time", "", 1)})
			if late == "fail" {
				if err == nil || !strings.Contains(err.Error(), "day 0412 was waited for 6m0s") || time.Since(began) < 6*time.Minute {
					t.Errorf("after %v: %v", time.Since(began), err)
				}
				time.Sleep(time.Hour)
				return
			}
			if late != "" {
				want = []string{"0411", "0412", "0413", "0414"}
			}
			if got := daysIn(said); err != nil || !slices.Equal(got, want) {
				t.Errorf("%q: %v after %v: %v\n%s", late, got, time.Since(began), err, said)
			}
		})
	}
}

// daysIn are the days that a job says it has ended.
func daysIn(said string) (names []string) {
	said, _, _ = strings.Cut(said, " days:\n") // which has them once more
	for line := range strings.Lines(said) {
		if words := strings.Fields(line); len(words) > 3 && strings.HasPrefix(words[0], "04") {
			names = append(names, words[0])
		}
	}
	return names
}

// TestDaysTrainedAgain: a directory with a number behind the name of a day trains it once more, first, and ends no period.
func TestDaysTrainedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		logs := filepath.Join(dir, "logs")
		writeDay(t, filepath.Join(logs, "0411"), 0, 10)
		writeDay(t, filepath.Join(logs, "0412"), 10, 10)
		go func() {
			time.Sleep(time.Minute)
			writeDay(t, filepath.Join(logs, "0411-2"), 10, 10)
			writeDay(t, filepath.Join(logs, "0413"), 20, 10)
		}()
		_, said, err := plays(t, dir, train.Days{Last: "0413"})
		if got := daysIn(said); err != nil || !slices.Equal(got, []string{"0411", "0412", "0411-2", "0413"}) {
			t.Errorf("%v: %v\n%s", got, err, said)
		}
		want := once(30)
		for i := 10; i < 20; i++ {
			want[i] = 2
		}
		if got := dayLedger(t, dir); !maps.Equal(got, want) {
			t.Error(apart(got, want))
		}
		if n := clock(t, dir); n != 3 {
			t.Errorf("%d periods have ended", n)
		}
	})
}

// TestStopOfDays: a job that is stopped within a day, or between two, ends at a day's end, whose rows are all trained, on all workers; one
// that is started again goes on.
func TestStopOfDays(t *testing.T) {
	t.Parallel()
	for mode, c := range map[string]fleettest.Cluster{"": {Workers: 1}, "collective": {Workers: 2}, "sync": {Servers: 1, Workers: 2}, "async": {Servers: 1, Workers: 2}} {
		for place := range 3 { // before the day is trained, within it, at its end
			dir := t.TempDir()
			for i, day := range []string{"0411", "0412", "0413"} {
				writeDay(t, filepath.Join(dir, "logs", day), 60*i, 60)
			}
			life := func(stops bool) (results []train.Result) {
				results = make([]train.Result, c.Workers)
				c.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
					j := dayJob(dir, mode, train.Days{Last: "0413"})
					stop := func(r *train.Run, at int) error {
						if stops && r.Epoch == 1 && at == place && r.Leads() {
							r.Stop("it is enough")
						}
						return nil
					}
					j.Hooks = []train.Hooks{{
						Evaluated: func(_ context.Context, r *train.Run, e train.Evaluation) error {
							return stop(r, map[bool]int{true: 3}[e.End])
						},
						Step:     func(_ context.Context, r *train.Run, _ nn.TrainResult) error { return stop(r, 1) },
						EpochEnd: func(_ context.Context, r *train.Run, _ nn.TrainResult) error { return stop(r, 2) },
					}}
					res, err := j.Run(ctx, f)
					if f.IsWorker() {
						results[f.WorkerIndex()] = res
					}
					return err
				})
				return results
			}
			for w, r := range life(true) {
				if r.Stopped != "it is enough" || r.Last.Epoch != 2 {
					t.Errorf("%s, %d: worker %d stopped %q in epoch %d", mode, place, w, r.Stopped, r.Last.Epoch)
				}
			}
			if got, want := dayLedger(t, dir), once(120); !maps.Equal(got, want) {
				t.Errorf("%s, %d: %s", mode, place, apart(got, want))
			}
			life(false)
			if got, want := dayLedger(t, dir), once(180); !maps.Equal(got, want) {
				t.Errorf("%s, %d, again: %s", mode, place, apart(got, want))
			}
		}
	}
}

// TestDaysOfAFunction: days come from a function that gets the names of those before and waits as long as its context lasts; a file that is
// not there is waited for, hours end no period, and io.EOF ends the job. Started again, it is asked for what comes behind.
func TestDaysOfAFunction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		logs := filepath.Join(dir, "logs")
		writeDay(t, filepath.Join(logs, "a"), 0, 10)
		began, last := time.Now(), 2
		d := train.Days{Wait: time.Minute, Next: func(ctx context.Context, past []string) (train.Day, error) {
			file := func(name string) []string { return []string{filepath.Join(logs, name, "part-0")} }
			switch n := len(past); {
			case n > last:
				return train.Day{}, io.EOF
			case n == 0:
				return train.Day{Name: "0411-00", Files: file("a"), Within: true}, nil
			case n == 1 && time.Since(began) < time.Minute:
				<-ctx.Done()
				return train.Day{}, ctx.Err()
			case n == 1:
				return train.Day{Name: "0411-01", Files: file("b")}, nil
			case n == 2:
				return train.Day{Name: "0412", Files: file("c")}, nil
			}
			return train.Day{Name: "0413", Files: []string{filepath.Join(logs, "a")}}, nil
		}}
		go func() {
			time.Sleep(90 * time.Second)
			writeDay(t, filepath.Join(dir, "whole"), 10, 10) // no look finds a part of it
			law.Check(t, os.Rename(filepath.Join(dir, "whole"), filepath.Join(logs, "b")))
		}()
		_, said, err := plays(t, dir, d)
		if got := daysIn(said); err != nil || !slices.Equal(got, []string{"0411-00", "0411-01", "0412"}) {
			t.Errorf("%v: %v\n%s", got, err, said)
		}
		if n := clock(t, dir); n != 2 {
			t.Errorf("%d periods have ended", n)
		}
		last = 3
		_, said, err = plays(t, dir, d)
		want := once(20)
		for i := range 10 {
			want[i] = 2
		}
		if got, days := dayLedger(t, dir), daysIn(said); err != nil || !maps.Equal(got, want) || days[len(days)-1] != "0413" {
			t.Errorf("%v: %v: %s\n%s", days, err, apart(got, want), said)
		}
	})
}

// TestNightsWithoutDays: a job that waits for days saves nothing, and tells nothing, however long no wait of a job else would last.
func TestNightsWithoutDays(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"sync", "async", "collective"} {
		synctest.Test(t, func(t *testing.T) {
			dir, servers := t.TempDir(), 1
			if mode == "collective" {
				servers = 0
			}
			law.Check(t, os.MkdirAll(filepath.Join(dir, "logs"), 0o777))
			writeDay(t, filepath.Join(dir, "logs", "0411"), 0, 20)
			var saved []string
			go func() {
				for range 2 {
					time.Sleep(10 * time.Minute)
					found, _ := filepath.Glob(filepath.Join(dir, "checkpoints", "*"))
					saved = append(saved, fmt.Sprint(found))
				}
				writeDay(t, filepath.Join(dir, "logs", "0412"), 20, 20)
			}()
			var log locked
			errs := fleettest.Cluster{Servers: servers, Workers: 2, Options: fleet.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}}.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
				j := dayJob(dir, mode, train.Days{Last: "0412"})
				j.Strategy.WaitTimeout = strategy.Duration(6 * time.Second)
				_, err := j.Run(ctx, f)
				return err
			})
			for role, err := range errs {
				if err != nil {
					t.Errorf("%s: %s: %v", mode, role, err)
				}
			}
			if got, want := dayLedger(t, dir), once(40); !maps.Equal(got, want) || saved[0] != saved[1] || strings.Contains(log.String(), "WARN") {
				t.Errorf("%s: %s\nsaved %q\n%s", mode, apart(got, want), saved, log.String())
			}
		})
	}
}

// locked is a log of many.
type locked struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(b)
}

// TestDaysAreRefused: what a job of days can't have.
func TestDaysAreRefused(t *testing.T) {
	t.Parallel()
	next := func(context.Context, []string) (train.Day, error) { return train.Day{Name: "../a"}, nil }
	for want, set := range map[string]func(j *train.Job){
		"want one of them":           func(j *train.Job) { j.Days.Next = next },
		"Next's io.EOF ends the job": func(j *train.Job) { j.Days.Dir, j.Days.Next, j.Days.Last = "", next, "0412" },
		`have Late "never"`:          func(j *train.Job) { j.Days.Late = "never" },
		"SkipBad -1":                 func(j *train.Job) { j.Days.SkipBad = -1 },
		"a period has the name":      func(j *train.Job) { j.Days.Shrink.Period = "0412" },
		"all but thresholds":         func(j *train.Job) { j.Days.Publish = train.Publish{Dir: "a", Save: fleet.SaveOptions{Name: "b"}} },
		"want a Dir":                 func(j *train.Job) { j.Days.Publish.Deltas = 3 },
		"Job.Outputs is empty":       func(j *train.Job) { j.Days.Publish.Dir, j.Outputs = "a", nil },
		"the Format alone":           func(j *train.Job) { j.Files.Paths = []string{"a"} },
		"leave Data, Rows":           func(j *train.Job) { j.Sharded = true },
		"each day is one epoch":      func(j *train.Job) { j.EvalEvery = 3 },
		"without a directory":        func(j *train.Job) { j.Strategy.Recovery = strategy.Recovery{} },
		"Days.Next returned the day": func(j *train.Job) { j.Days.Dir, j.Days.Next = "", next },
	} {
		_, _, err := plays(t, t.TempDir(), train.Days{}, set)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want one with %q", err, want)
		}
	}
	_, _, err := plays(t, t.TempDir(), train.Days{}, func(j *train.Job) { j.Days = nil; j.Options.PassOver("0412") })
	if err == nil || !strings.Contains(err.Error(), "has no Days") {
		t.Error(err)
	}
}

// TestCheckOfDays: -check looks at the rows of the first day.
func TestCheckOfDays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeDay(t, filepath.Join(dir, "logs", "0411"), 0, 200)
	j := dayJob(dir, "", train.Days{})
	report, err := train.Check(t.Context(), j)
	if err != nil || report.Rows != 200 {
		t.Errorf("%v: %v", report, err)
	}
}

// TestTheNextDayIsReadMeanwhile: from a store that takes seconds for each answer, a day is read while the one before is trained. If its
// files are others when it begins, they are read again.
func TestTheNextDayIsReadMeanwhile(t *testing.T) {
	t.Parallel()
	for _, changes := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m, dir := storetest.NewMemory(), t.TempDir()
			url := storetest.Mount(t, m)
			fill := func(day string, first int) {
				local := filepath.Join(dir, "local", day)
				writeDay(t, local, first, 10)
				for _, name := range []string{"part-0", "_SUCCESS"} {
					text, err := os.ReadFile(filepath.Join(local, name))
					law.Check(t, err)
					law.Check(t, files.Write(url+"/logs/"+day+"/"+name, func(w io.Writer) error { _, err := w.Write(text); return err }))
				}
			}
			fill("0411", 0)
			fill("0412", 10)
			m.SetFault(func(r storetest.Request) storetest.Fault {
				if r.Op == "open" {
					time.Sleep(40 * time.Second)
				}
				return storetest.Fault{}
			})
			var began, ended time.Time
			_, _, err := plays(t, dir, train.Days{Dir: url + "/logs", Last: "0412"}, func(j *train.Job) {
				j.Hooks = []train.Hooks{{Step: func(_ context.Context, r *train.Run, so nn.TrainResult) error {
					if r.Epoch == 1 && began.IsZero() {
						began = time.Now()
					}
					time.Sleep(2 * time.Minute)
					return nil
				}, EpochEnd: func(_ context.Context, r *train.Run, _ nn.TrainResult) error {
					if r.Epoch == 0 && changes {
						fill("0412", 20)
					}
					if ended.IsZero() {
						ended = time.Now()
					}
					return nil
				}}}
			})
			want := once(20)
			if changes {
				for i := 10; i < 20; i++ {
					delete(want, i)
					want[i+10] = 1
				}
			}
			if got := dayLedger(t, dir); err != nil || !maps.Equal(got, want) {
				t.Errorf("%v: %s", err, apart(got, want))
			}
			if took := began.Sub(ended); (took < 30*time.Second) == changes {
				t.Errorf("changes %t: the second day begins %v after the first", changes, took)
			}
		})
	}
}
