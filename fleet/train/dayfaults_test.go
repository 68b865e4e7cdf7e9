package train_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet/store/storetest"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
)

// TestAFaultLosesNoDay: a request to the store of days, lists and models that fails for a moment, whichever it is, neither makes
// a complete day late nor ends the job.
func TestAFaultLosesNoDay(t *testing.T) {
	t.Parallel()
	type fault struct {
		what string
		n    int
	}
	var all []fault
	asked := daysWithAFault(t, "", 0)
	for _, what := range slices.Sorted(maps.Keys(asked)) {
		for n := range asked[what] + 2 { // how often it looks ahead differs
			all = append(all, fault{what, n + 1})
		}
	}
	for _, f := range law.Some(t, all) {
		daysWithAFault(t, f.what, f.n)
	}
}

// drawnName is the part of a file's name that differs between two runs.
var drawnName = regexp.MustCompile(`[0-9A-Z]{8,}|[0-9a-f]{16}`)

// daysWithAFault plays three days in a store of which the n-th request of a kind for a file fails, counted from the first step,
// and its like for half a second. It returns how many requests there were.
func daysWithAFault(t *testing.T, what string, n int) map[string]int {
	asked := map[string]int{}
	synctest.Test(t, func(t *testing.T) {
		dir, m := t.TempDir(), storetest.NewMemory()
		url := storetest.Mount(t, m)
		for day, first := range map[string]int{"0411": 0, "0412": 20, "0413": 40} {
			storeDay(t, url+"/logs/"+day, first, true)
		}
		trains, mu, until := false, sync.Mutex{}, time.Time{}
		m.SetFault(func(r storetest.Request) (f storetest.Fault) {
			mu.Lock()
			defer mu.Unlock()
			if trains {
				is := r.Op + " " + drawnName.ReplaceAllString(r.Name, "*")
				if asked[is]++; is == what && asked[is] == n {
					until = time.Now().Add(time.Second / 2)
				}
				if is == what && time.Now().Before(until) {
					f.Err = errors.New("no luck")
				}
			}
			return f
		})
		_, _, err := plays(t, dir, train.Days{Dir: url + "/logs", Last: "0413", Publish: train.Publish{Dir: url + "/serving"}},
			func(j *train.Job) {
				j.Checkpoint = url + "/ck"
				j.Strategy.Recovery.Dir = url + "/ck"
				j.Hooks = []train.Hooks{{Step: func(context.Context, *train.Run, nn.TrainResult) error {
					mu.Lock()
					trains = true
					mu.Unlock()
					time.Sleep(time.Second)
					return nil
				}}}
			})
		if err != nil {
			t.Fatalf("%s, the %d. time, failed: %v", what, n, err)
		}
		if is := len(dayLedger(t, dir)); is != 60 {
			t.Fatalf("%s, the %d. time, failed: %d samples were trained, want 60", what, n, is)
		}
	})
	return asked
}

// storeDay writes a day of 20 rows to a store.
func storeDay(t *testing.T, to string, first int, complete bool) {
	local := filepath.Join(t.TempDir(), "day")
	writeDay(t, local, first, 20)
	for _, name := range []string{"part-0", "_SUCCESS"} {
		text, err := os.ReadFile(filepath.Join(local, name))
		if name == "part-0" || complete {
			err = errors.Join(err, files.Write(fmt.Sprintf("%s/%s", to, name), func(w io.Writer) error { _, err := w.Write(text); return err }))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestMarksBetweenTwoLooks: a day that is marked just before the next one, between a look at its mark and a look at the next's,
// is trained.
func TestMarksBetweenTwoLooks(t *testing.T) {
	t.Parallel()
	for nth := 1; nth < 5; nth++ {
		synctest.Test(t, func(t *testing.T) {
			dir, m := t.TempDir(), storetest.NewMemory()
			url := storetest.Mount(t, m)
			storeDay(t, url+"/logs/0411", 0, true)
			storeDay(t, url+"/logs/0412", 20, false)
			storeDay(t, url+"/logs/0413", 40, false)
			var mu sync.Mutex
			looks := 0
			m.SetFault(func(r storetest.Request) storetest.Fault {
				if mu.TryLock() { // else it is a mark's own
					defer mu.Unlock()
					if looks += count(r.Op == "stat" && r.Name == "test/logs/0413/_SUCCESS"); looks == nth {
						looks++
						storeDay(t, url+"/logs/0412", 20, true)
						storeDay(t, url+"/logs/0413", 40, true)
					}
				}
				return storetest.Fault{}
			})
			_, _, err := plays(t, dir, train.Days{Dir: url + "/logs", Last: "0413"})
			if is := len(dayLedger(t, dir)); err != nil || is != 60 || looks < nth {
				t.Fatalf("look %d: %d samples were trained, want 60; %d looks, %v", nth, is, looks, err)
			}
		})
	}
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// TestALinkIsADay: a link to a directory is a day as the directory would be, complete or late.
func TestALinkIsADay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		for i, day := range []string{"0411", "dt=0412", "dt=0413"} {
			writeDay(t, filepath.Join(dir, "else", day), 20*i, 20)
			law.Check(t, os.MkdirAll(filepath.Join(dir, "logs"), 0o777))
			law.Check(t, os.Symlink(filepath.Join(dir, "else", day), filepath.Join(dir, "logs", day)))
		}
		if _, _, err := plays(t, dir, train.Days{Last: "dt=0413"}); err != nil || len(dayLedger(t, dir)) != 60 {
			t.Fatalf("%d samples were trained, want 60: %v", len(dayLedger(t, dir)), err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		writeDay(t, filepath.Join(dir, "logs", "0411"), 0, 20)
		writeDay(t, filepath.Join(dir, "logs", "0413"), 40, 20)
		writeDay(t, filepath.Join(dir, "else"), 20, 20)
		law.Check(t, os.Remove(filepath.Join(dir, "else", "_SUCCESS")))
		law.Check(t, os.Symlink(filepath.Join(dir, "else"), filepath.Join(dir, "logs", "0412")))
		_, _, err := plays(t, dir, train.Days{Last: "0413", Late: "fail", Wait: time.Second})
		if err == nil || !strings.Contains(err.Error(), "day 0412") {
			t.Fatalf("a linked day that is late gives %v, want an error that names it", err)
		}
	})
}

// TestADirectoryThatIsNoDaySaysSo: of a complete directory that no day can have, one line says why.
func TestADirectoryThatIsNoDaySaysSo(t *testing.T) {
	// Serial: it reads the process's log.
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		writeDay(t, filepath.Join(dir, "logs", "04 11"), 0, 20)
		writeDay(t, filepath.Join(dir, "logs", "0412"), 20, 20)
		said := logged(t, func() {
			if _, _, err := plays(t, dir, train.Days{Last: "0412"}); err != nil {
				t.Fatal(err)
			}
		})
		if strings.Count(said, "because of its name") != 1 || !strings.Contains(said, "04 11") {
			t.Fatalf("said %q, want one line about the directory \"04 11\"", said)
		}
	})
}
