package train_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
)

// grow writes a day as rows come: a file behind each pause, of which the first bytes come half a pause earlier, and then the mark.
func grow(t *testing.T, dir string, first int, pause time.Duration, rows ...int) {
	whole := filepath.Join(t.TempDir(), "whole")
	writeDay(t, whole, first, rows...)
	law.Check(t, os.MkdirAll(dir, 0o777))
	for i := range rows {
		name := fmt.Sprintf("part-%d", i)
		text, err := os.ReadFile(filepath.Join(whole, name))
		law.Check(t, err)
		time.Sleep(pause / 2)
		put(t, filepath.Join(dir, name), string(text[:5]))
		time.Sleep(pause / 2)
		put(t, filepath.Join(dir, name), string(text))
	}
	time.Sleep(pause / 2)
	put(t, filepath.Join(dir, "_SUCCESS"), "")
}

// TestPartsInEveryKindOfJob: jobs of several workers, with servers and without, train parts as they come, and serve each before its day
// is complete.
func TestPartsInEveryKindOfJob(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode             string
		servers, workers int
	}{{"collective", 0, 3}, {"sync", 2, 2}, {"async", 1, 2}, {"geo", 1, 2}} {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			logs, serving := filepath.Join(dir, "logs"), filepath.Join(dir, "serving")
			writeDay(t, filepath.Join(logs, "0411"), 0, 30)
			go grow(t, filepath.Join(logs, "0412"), 30, 3*time.Minute, 30, 20, 9, 11)
			served := map[string]bool{}
			_, said := play(t, c.servers, c.workers, func() train.Job {
				j := dayJob(dir, c.mode, train.Days{Last: "0412", Every: 2 * time.Minute, Publish: train.Publish{Dir: serving}})
				j.Hooks = []train.Hooks{{Step: func(_ context.Context, r *train.Run, _ nn.TrainResult) error {
					_, none := os.Stat(filepath.Join(serving, "current"))
					if !r.Leads() || none != nil {
						return nil
					}
					s, err := serve.OpenScorer(serving, serve.ScorerOptions{})
					if err == nil {
						served[s.Version()] = true
						s.Close()
					}
					return err
				}}}
				return j
			})
			if got, want := dayLedger(t, dir), once(100); !maps.Equal(got, want) {
				t.Errorf("%v: %s\n%s", c, apart(got, want), said)
			}
			if n := clock(t, dir); n != 2 {
				t.Errorf("%v: %d periods have ended", c, n)
			}
			if len(served) < 4 { // the base of 0411, and three parts
				t.Errorf("%v: %d versions were served before the day was complete\n%s", c, len(served), said)
			}
		})
	}
}

// TestDaysThatGrow: with Every, what has come of a day is trained as parts of it before it is complete, each row once, also where the job
// ends in a part and goes on; the day ends one period, and parts are published as deltas.
func TestDaysThatGrow(t *testing.T) {
	t.Parallel()
	for _, ends := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			logs := filepath.Join(dir, "logs")
			d := train.Days{Last: "0412", Every: 2 * time.Minute, Publish: train.Publish{Dir: filepath.Join(dir, "serving"), Deltas: 3}}
			done := make(chan struct{})
			go func() {
				defer close(done)
				grow(t, filepath.Join(logs, "0411"), 0, 3*time.Minute, 10, 20)
				grow(t, filepath.Join(logs, "0412"), 30, 3*time.Minute, 30, 10, 20, 10)
			}()
			said := ""
			if ends {
				_, before, err := plays(t, dir, d, cut(4, 2))
				if said = before; !errors.Is(err, errPower) {
					t.Errorf("it ended with %v", err)
				}
			}
			_, after, err := plays(t, dir, d)
			<-done
			said += after
			if got, want := dayLedger(t, dir), once(100); err != nil || !maps.Equal(got, want) {
				t.Errorf("%v: %s\n%s", err, apart(got, want), said)
			}
			if n := clock(t, dir); n != 2 {
				t.Errorf("%d periods have ended", n)
			}
			want := []string{"0411~01", "0411", "0412~01", "0412~02", "0412~03", "0412"}
			if got := daysIn(said); !slices.Equal(got, want) {
				t.Errorf("it ended the days %v, want %v", got, want)
			}
			for _, day := range want {
				_, _, part := strings.Cut(day, "~")
				m, err := markOf(d.Publish.Dir, day)
				if err != nil || (m.Base == "") != part || m.Trained == 0 {
					t.Errorf("the mark of %s: %+v, error %v", day, m, err)
				}
			}
			last, err := markOf(d.Publish.Dir, "0412")
			if err != nil || last.Born != 70 || last.Table != 100 {
				t.Errorf("ends %t: the mark of 0412: %+v, error %v", ends, last, err)
			}
			found, err := filepath.Glob(filepath.Join(d.Publish.Dir, "deltas", "*"))
			if err != nil || len(found) < 3 {
				t.Errorf("the deltas %q, error %v: want one for each part of 0412", found, err)
			}
		})
	}
}

// TestPartsOfAChangedDay: a day's directory may move between lives; a part whose file has changed ends the job, until it is passed over, which
// ends no period.
func TestPartsOfAChangedDay(t *testing.T) {
	t.Parallel()
	for _, changed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			d := train.Days{Dir: filepath.Join(dir, "before"), Last: "0411", Every: time.Minute, BadFiles: 1,
				Publish: train.Publish{Dir: filepath.Join(dir, "serving")}}
			day := filepath.Join(d.Dir, "0411")
			writeDay(t, day, 0, 20)
			law.Check(t, os.Remove(filepath.Join(day, "_SUCCESS")))
			go func() {
				time.Sleep(90 * time.Second)
				put(t, filepath.Join(day, "part-1"), "")
				time.Sleep(90 * time.Second)
				writeDay(t, filepath.Join(dir, "whole"), 20, 30)
				law.Check(t, os.Rename(filepath.Join(dir, "whole", "part-0"), filepath.Join(day, "part-1")))
			}()
			if _, _, err := plays(t, dir, d, cut(1, 2)); !errors.Is(err, errPower) {
				t.Fatal(err)
			}
			d.Dir = filepath.Join(dir, "logs")
			if !changed {
				law.Check(t, os.Symlink(filepath.Join(dir, "before"), d.Dir))
			} else {
				law.Check(t, os.Rename(filepath.Join(day, "part-1"), filepath.Join(dir, "part-1")))
				_, _, err := plays(t, dir, d)
				if err == nil || !strings.Contains(err.Error(), "-pass_over=0411~02") {
					t.Fatalf("error %v", err)
				}
				law.Check(t, os.Rename(filepath.Join(dir, "before"), d.Dir))
			}
			put(t, filepath.Join(d.Dir, "0411", "part-2"), "1,0.5,50\n")
			put(t, filepath.Join(d.Dir, "0411", "_SUCCESS"), "")
			_, said, err := plays(t, dir, d, func(j *train.Job) {
				if changed {
					j.Options.PassOver("0411~02")
				}
			})
			got := dayLedger(t, dir)
			if n := len(got); err != nil || n != map[bool]int{false: 51, true: 37}[changed] || slices.Max(slices.Collect(maps.Values(got))) != 1 {
				t.Errorf("changed %t: %v: %d samples\n%s", changed, err, n, said)
			}
			if n := clock(t, dir); n != 1 {
				t.Errorf("changed %t: %d periods have ended", changed, n)
			}
		})
	}
}

// TestFilesOutgrowTheirParts: rows that come into a file behind its part are trained by no later one, and end the job unless it permits
// damaged files.
func TestFilesOutgrowTheirParts(t *testing.T) {
	t.Parallel()
	for _, bad := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			day := filepath.Join(dir, "logs", "0411")
			writeDay(t, day, 0, 20, 10)
			law.Check(t, os.Remove(filepath.Join(day, "_SUCCESS")))
			go func() {
				time.Sleep(10 * time.Minute)
				law.Check(t, appendTo(filepath.Join(day, "part-0"), "1,0.5,999\n"))
				put(t, filepath.Join(day, "part-2"), "1,0.5,30\n")
				put(t, filepath.Join(day, "_SUCCESS"), "")
			}()
			_, said, err := plays(t, dir, train.Days{Last: "0411", Every: time.Minute, BadFiles: bad})
			if bad == 0 {
				if err == nil || !strings.Contains(err.Error(), "part-0: a part of the day was trained with it: it had ") {
					t.Errorf("error %v", err)
				}
				return
			}
			if got, want := dayLedger(t, dir), once(31); err != nil || !maps.Equal(got, want) || !strings.Contains(said, "files: 1, lines: 0") {
				t.Errorf("%v: %s\n%s", err, apart(got, want), said)
			}
		})
	}
}

// TestALateDayOfPartsEnds: a day of which parts were trained, and whose mark does not come, ends its period once it was waited for.
func TestALateDayOfPartsEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		logs := filepath.Join(dir, "logs")
		writeDay(t, filepath.Join(logs, "0411"), 0, 20)
		law.Check(t, os.Remove(filepath.Join(logs, "0411", "_SUCCESS")))
		go func() {
			time.Sleep(10 * time.Minute)
			writeDay(t, filepath.Join(logs, "0410"), 50, 10) // when a later one has begun
			writeDay(t, filepath.Join(logs, "0412"), 20, 10)
		}()
		_, said, err := plays(t, dir, train.Days{Last: "0412", Every: time.Minute, Wait: 5 * time.Minute})
		if got := daysIn(said); err != nil || !slices.Equal(got, []string{"0411~01", "0411", "0412"}) {
			t.Errorf("%v: %v\n%s", got, err, said)
		}
		if got, want := dayLedger(t, dir), once(30); !maps.Equal(got, want) {
			t.Error(apart(got, want))
		}
		if n := clock(t, dir); n != 2 {
			t.Errorf("%d periods have ended", n)
		}
	})
}
