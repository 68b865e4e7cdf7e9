package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet/store"
	"github.com/gofleet/gofleet/fleet/store/storetest"
	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/law"
)

// TestEveryCrashOfASeriesInAStore is TestEveryCrashOfASeries where each put and each removal is one operation: behind any of them the
// newest checkpoint that was acknowledged is found and loads, and what was pinned is whole.
//
// Promise: [G6] a crash leaves the newest acknowledged save in a store too, where each put and removal is one
// operation, and each request may fail, hang, or be done and not answered
// Also: TestEveryCrashOfASaveInAStore, TestStoresThatFail, TestDamageInAStore (internal/modelfiles),
// TestEveryCrashOfAModelInAStore (internal/modelfiles)
func TestEveryCrashOfASeriesInAStore(t *testing.T) {
	law.Slow(t)
	m := storetest.NewMemory()
	s, said := newSeries(storetest.Mount(t, m)+"/job", 1)
	defer s.Release()
	acked, pinned := map[int]int64{}, 0
	for step := range int64(4) {
		dir, err := s.Make(t.Context())
		check(t, err)
		commit(t, dir, step+1)
		acked[len(m.Changes())] = step + 1
		if step == 0 {
			check(t, Pin(dir))
			pinned = len(m.Changes())
		}
		s.Prune()
	}
	if said.Len() > 0 {
		t.Errorf("the log has %s", said)
	}
	found := map[int64]int{}
	newest := int64(0)
	for n := range len(m.Changes()) + 1 {
		newest = max(newest, acked[n])
		dir := storetest.Mount(t, m.After(n)) + "/job"
		checkSeries(t, dir, newest, found)
		if _, err := loads(t, files.Join(dir, name(1))); n >= pinned && err != nil {
			t.Errorf("after %d operations the pinned one is gone: %v", n, err)
		}
	}
	t.Logf("%d operations; updates gone on from: %v", len(m.Changes()), found)
	if len(m.Changes()) < 20 || len(found) < 5 {
		t.Errorf("only %d operations, which go on from %v", len(m.Changes()), found)
	}
}

// TestEveryCrashOfASaveInAStore stops a job at every operation of three saves into one directory: it holds the old checkpoint or the new
// one, whole.
func TestEveryCrashOfASaveInAStore(t *testing.T) {
	m := storetest.NewMemory()
	dir := storetest.Mount(t, m) + "/model"
	acked, newest := map[int]int64{}, int64(0)
	for step := range int64(3) {
		commit(t, dir, step+1)
		acked[len(m.Changes())] = step + 1
	}
	found := map[int64]int{}
	for n := range len(m.Changes()) + 1 {
		newest = max(newest, acked[n])
		step, err := loads(t, storetest.Mount(t, m.After(n))+"/model")
		if err != nil {
			step = 0
		}
		found[step]++
		if step < newest || err != nil && !Torn(err) {
			t.Errorf("update %d was acknowledged, and there is %d after %d operations, error %v", newest, step, n, err)
		}
	}
	if len(found) < 4 {
		t.Errorf("the states hold %v", found)
	}
}

// TestStoresThatFail has every request of a checkpoint fail, and every fifth hang, or be done and not answered, once and from then on:
// the checkpoints before stay, the error names the store, and with a store that works again the next is made, and nothing is left of those
// that failed.
func TestStoresThatFail(t *testing.T) {
	law.Slow(t)
	broken := errors.New("503 Slow Down")
	kinds := map[string]int{}
	for what, fault := range map[string]storetest.Fault{
		"fails": {Err: broken}, "hangs": {Hang: true}, "is not answered": {Lost: true, Err: broken},
	} {
		for _, always := range []bool{false, true} {
			stride := 5
			if !always && fault == (storetest.Fault{Err: broken}) {
				stride = 3 - 2*law.Share(8)/8 // 1 where all are played
			}
			for at, over := 1, false; !over; at += stride {
				synctest.Test(t, func(t *testing.T) {
					over = !failsAt(t, at, always, what, fault, broken, kinds)
				})
			}
		}
	}
	for _, op := range []string{"stat", "open", "put", "list", "remove"} {
		if kinds[op] == 0 {
			t.Errorf("no %s failed: %v", op, kinds)
		}
	}
}

// failsAt has a request of the third checkpoint fail; false says that there are not so many.
func failsAt(t *testing.T, at int, always bool, what string, fault storetest.Fault, cause error, kinds map[string]int) bool {
	m := storetest.NewMemory()
	dir := storetest.Mount(t, m) + "/job"
	s, said := newSeries(dir, 2)
	check(t, attempt(t, s, 1))
	check(t, attempt(t, s, 2))
	before := m.Requests()
	var mu sync.Mutex         // a claim's beats are requests too
	var req storetest.Request // the first that failed
	m.SetFault(func(r storetest.Request) storetest.Fault {
		mu.Lock()
		defer mu.Unlock()
		n := r.Number - before
		if n == at {
			req = r
		}
		if n == at || n > at && always && req.Number > 0 {
			return fault
		}
		return storetest.Fault{}
	})
	began := time.Now()
	err := attempt(t, s, 3)
	took := time.Since(began)
	m.SetFault(nil)
	mu.Lock()
	hit := req
	mu.Unlock()
	kinds[hit.Op]++
	where := fmt.Sprintf("request %d (%s %s) %s, always %t", at, hit.Op, hit.Name, what, always)
	newest, latest, lost := Latest(dir)
	if lost != nil || latest.Step != 2 && latest.Step != 3 || err == nil && latest.Step != 3 {
		t.Errorf("%s: %v, the latest is %s, error %v", where, err, newest, lost)
	}
	if _, lost := loads(t, newest); lost != nil {
		t.Errorf("%s: %v", where, lost)
	}
	if took > 20*time.Minute {
		t.Errorf("%s: the attempt took %v", where, took)
	}
	if told := fmt.Sprint(err, said); err != nil && (!strings.Contains(told, dir) || !fault.Hang && !errors.Is(err, cause)) {
		t.Errorf("%s: error %v names no file, or not its cause", where, err)
	}
	time.Sleep(2 * silent) // a lock whose answer was lost is nobody's
	check(t, attempt(t, s, 4))
	s.Release()
	all, err := numbers(dir)
	if err != nil || len(all) != 2 {
		t.Errorf("%s: there are %v, error %v", where, all, err)
	}
	names := slices.DeleteFunc(m.Names(), func(name string) bool { return strings.HasSuffix(name, lockName) })
	if len(names) != 6 && !always { // where removing fails too, what is left goes when it is old
		t.Errorf("%s: there are %v", where, names)
	}
	return hit.Number > 0
}

// TestTwoJobsInAStore: a directory is refused while its holder's number grows, free at once when it was given back, and free after a while
// when its holder says nothing; that one finds out before it commits.
//
// Promise: [G6] of two jobs in one directory of a store the second is refused by name, until the first gives it back,
// or says nothing for 20 s; then the first commits nothing any more
// Also: TestTwoWritersOfOneManifest
func TestTwoJobsInAStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := storetest.NewMemory()
		dir := storetest.Mount(t, m) + "/job"
		first, _ := newSeries(dir, 2)
		check(t, attempt(t, first, 1))
		second, _ := newSeries(dir, 2)
		began := time.Now()
		err := second.Claim(t.Context())
		if waited := time.Since(began); !errors.Is(err, ErrTaken) || !strings.Contains(fmt.Sprint(err), dir) || waited > 2*beatEvery {
			t.Errorf("another job has it after %v: %v", waited, err)
		}
		first.Release()
		began = time.Now()
		check(t, second.Claim(t.Context()))
		if waited := time.Since(began); waited > lookEvery {
			t.Errorf("what was given back is had after %v", waited)
		}
		second.Release()

		check(t, attempt(t, first, 2))
		at, err := first.Make(t.Context())
		check(t, err)
		stop(first)
		began = time.Now()
		check(t, second.Claim(t.Context()))
		if waited := time.Since(began); waited < silent-beatEvery || waited > silent+2*lookEvery {
			t.Errorf("the directory of a job that stands still is had after %v, want %v", waited, silent)
		}
		_, err = second.Resume(t.Context(), func(string) error { return nil })
		check(t, err)
		check(t, attempt(t, second, 3))
		if err := commitTo(t, first, at, 4); !errors.Is(err, ErrTaken) {
			t.Errorf("a job that stood still for long commits: %v", err)
		}
		if _, latest, err := Latest(dir); latest.Step != 3 || err != nil {
			t.Errorf("the latest is of update %d, error %v", latest.Step, err)
		}
		if err := attempt(t, first, 5); !errors.Is(err, ErrTaken) {
			t.Errorf("a job that has lost its directory saves again: %v", err)
		}
		second.Release()
	})
}

// TestSlowStoreKeepsItsClaim: a job whose store takes 25 s for a small file keeps its directory, and another is told so; when it says
// nothing more, others wait for as long as four of its beats would take, and one that claims to need an hour is waited for ten minutes.
func TestSlowStoreKeepsItsClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const takes = 25 * time.Second
		m := storetest.NewMemory()
		dir := storetest.Mount(t, m) + "/job"
		var slow atomic.Bool
		slow.Store(true)
		m.SetFault(func(r storetest.Request) storetest.Fault {
			if r.Op == "put" && slow.Load() {
				time.Sleep(takes)
			}
			return storetest.Fault{}
		})
		first, _ := newSeries(dir, 2)
		check(t, first.Claim(t.Context()))
		time.Sleep(3 * time.Minute)
		second, _ := newSeries(dir, 2)
		if err := second.Claim(t.Context()); !errors.Is(err, ErrTaken) {
			t.Errorf("the directory of a job that lives is had: %v", err)
		}
		check(t, first.Claim(t.Context()))
		stop(first)
		slow.Store(false)
		began := time.Now()
		check(t, second.Claim(t.Context()))
		if waited, want := time.Since(began), 4*(beatEvery+takes); waited < want-takes-beatEvery || waited > want+2*lookEvery {
			t.Errorf("the directory of a job that stands still is had after %v, want %v", waited, want)
		}
		stop(second)
		m.Set("test/job/"+lockName, []byte(`{"job":"x","every":3600000000000}`), time.Now())
		began = time.Now()
		var third Claims
		check(t, third.Take(t.Context(), dir))
		third.Release()
		if waited := time.Since(began); waited < mostSilent || waited > mostSilent+2*lookEvery {
			t.Errorf("who says that it beats every hour is waited for %v, want %v", waited, mostSilent)
		}
	})
}

// TestAClaimThatIsTakenWhileItBegins: where a small file takes a store longer than others wait for a sign of life, of two jobs that claim a
// directory one is told that the other has it.
func TestAClaimThatIsTakenWhileItBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := storetest.NewMemory()
		dir := storetest.Mount(t, m) + "/job"
		m.SetFault(func(r storetest.Request) storetest.Fault {
			if r.Op == "put" {
				time.Sleep(25 * time.Second)
			}
			return storetest.Fault{}
		})
		var jobs [2]Claims
		var errs [2]error
		var both sync.WaitGroup
		for i := range jobs {
			both.Go(func() {
				time.Sleep(time.Duration(i) * 26 * time.Second) // the first has written that it is here
				errs[i] = jobs[i].Take(t.Context(), dir)
			})
		}
		both.Wait()
		m.SetFault(nil)
		for i := range jobs {
			jobs[i].Release()
		}
		if !errors.Is(errs[0], ErrTaken) || errs[1] != nil {
			t.Errorf("the first has %v, the second %v", errs[0], errs[1])
		}
	})
}

// stop ends the beats of a series' claim, as SIGSTOP does.
func stop(s *Series) {
	l := s.claims.held[0].(*lease)
	l.ends()
	l.beats.Wait()
}

func commitTo(t *testing.T, s *Series, dir string, step int64) error {
	m := Manifest{ID: fmt.Sprint("s", step), Rule: rule.Name(), Step: step, Params: Params(model())}
	for i, store := range trained(t, 2) {
		p, err := WritePart(t.Context(), dir, PartName(m.ID, i, 2), store)
		check(t, err)
		m.Parts = append(m.Parts, p)
	}
	return s.Commit(t.Context(), dir, m)
}

// TestTwoWritersOfOneManifest: of two that have read the same manifest one replaces it, and the other is told so.
func TestTwoWritersOfOneManifest(t *testing.T) {
	m := storetest.NewMemory()
	dir := storetest.Mount(t, m) + "/model"
	commit(t, dir, 1)
	late := false
	m.SetFault(func(r storetest.Request) storetest.Fault {
		if r.Op == "put" && strings.HasSuffix(r.Name, manifestName) && !late {
			late = true
			m.Set(r.Name, m.Content(r.Name), time.Now()) // another has committed meanwhile
		}
		return storetest.Fault{}
	})
	if err := Commit(dir, Manifest{ID: "s2", Step: 2}); !errors.Is(err, ErrTaken) || !errors.Is(err, store.ErrChanged) {
		t.Errorf("the manifest of another was replaced: %v", err)
	}
}

// TestAManifestThatIsAnsweredLate: a store that makes the manifest of a checkpoint which was given up that of the directory, when
// servers have discarded their parts, has a whole one then; the next save replaces it, and what is left is removed when it is old.
func TestAManifestThatIsAnsweredLate(t *testing.T) {
	for _, first := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			m := storetest.NewMemory()
			dir := storetest.Mount(t, m) + "/model"
			if !first {
				commit(t, dir, 1)
			}
			m.SetFault(func(r storetest.Request) storetest.Fault {
				return storetest.Fault{Late: r.Op == "put" && strings.HasSuffix(r.Name, manifestName)}
			})
			late := Manifest{ID: "s2", Rule: rule.Name(), Step: 2, Params: Params(model())}
			for i, s := range trained(t, 2) {
				p, err := WritePart(t.Context(), dir, PartName(late.ID, i, 2), s)
				check(t, err)
				late.Parts = append(late.Parts, p)
			}
			if err := Commit(dir, late); err == nil {
				t.Fatal("a manifest that is not answered is committed")
			}
			m.SetFault(nil)
			for _, p := range late.Parts {
				check(t, Discard(dir, p.File))
			}
			m.Arrive()
			if step, err := loads(t, dir); step != 2 || err != nil {
				t.Errorf("behind the late answer it is of update %d, error %v", step, err)
			}
			time.Sleep(2 * abandoned)
			commit(t, dir, 3)
			m.Arrive()
			if step, err := loads(t, dir); step != 3 || err != nil || len(m.Names()) != 3 {
				t.Errorf("behind the next save it is of update %d, error %v: %v", step, err, m.Names())
			}
		})
	}
}

// careless is a store that takes no notice of conditions.
type careless struct{ store.Store }

func (c careless) Put(ctx context.Context, name string, content *io.SectionReader, _ store.Condition) (string, error) {
	return c.Store.Put(ctx, name, content, store.Condition{})
}

// TestClaimsEndInTime: what waits for a claim in a store that hangs ends with its context, and giving it back in a while; a claim that
// can't be read then is not removed, since it may be another job's.
func TestClaimsEndInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := storetest.NewMemory()
		dir := storetest.Mount(t, m) + "/job"
		befalls := func(bad storetest.Fault) {
			m.SetFault(func(r storetest.Request) (f storetest.Fault) {
				if r.Op != "remove" {
					f = bad
				}
				return f
			})
		}
		var c Claims
		check(t, c.Take(t.Context(), dir))
		befalls(storetest.Fault{Hang: true})
		for what, do := range map[string]func(context.Context) error{
			"held": func(ctx context.Context) error { return c.Take(ctx, dir) },
			"new":  func(ctx context.Context) error { return new(Claims).Take(ctx, dir+"/other") },
		} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			began := time.Now()
			err := do(ctx)
			if waited := time.Since(began); waited > 2*time.Second || what == "new" && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v after %v", what, err, waited)
			}
			cancel()
		}
		began := time.Now()
		c.Release()
		if waited := time.Since(began); waited > silent {
			t.Errorf("given back after %v", waited)
		}
		befalls(storetest.Fault{})
		check(t, c.Take(t.Context(), dir+"/next"))
		befalls(storetest.Fault{Err: errors.New("503 Slow Down")})
		c.Release()
		if names := m.Names(); len(names) != 2 {
			t.Errorf("there are %v", names)
		}
	})
}

// TestStoresWithoutConditions are refused before anything is saved there.
//
// Promise: [G6] a store without conditional writes is refused
func TestStoresWithoutConditions(t *testing.T) {
	m := storetest.NewMemory()
	dir := storetest.Mount(t, careless{m}) + "/job"
	s, _ := newSeries(dir, 2)
	_, err := s.Make(t.Context())
	if err == nil || !strings.Contains(err.Error(), "If-None-Match") || !strings.Contains(err.Error(), dir) {
		t.Errorf("a store without conditions: %v", err)
	}
	if err := s.Claim(t.Context()); !errors.Is(err, ErrNoConditions) {
		t.Errorf("a job begins in a store without conditions: %v", err)
	}
	if left := m.Names(); len(left) > 0 {
		t.Errorf("there are %v", left)
	}
}

// TestAClaimWhoseAnswerIsLost: a put of a claim that is done and not answered is this job's own, whichever it is, and the directory is
// taken at once.
func TestAClaimWhoseAnswerIsLost(t *testing.T) {
	for lost := range 2 {
		synctest.Test(t, func(t *testing.T) {
			m := storetest.NewMemory()
			puts := 0
			m.SetFault(func(r storetest.Request) storetest.Fault {
				if r.Op == "put" {
					puts++
				}
				return storetest.Fault{Lost: r.Op == "put" && puts == lost+1}
			})
			s, said := newSeries(storetest.Mount(t, m)+"/job", 2)
			began := time.Now()
			check(t, s.Claim(t.Context()))
			saveTo(t, s)
			if took := time.Since(began); took > 2*time.Second || said.Len() > 0 {
				t.Errorf("the answer of put %d is lost: it takes %v, and the log has %s", lost, took, said)
			}
			s.Release()
		})
	}
}

// TestAStoreIsAskedBeforePushesAreHeld: behind Look, Make asks nothing.
func TestAStoreIsAskedBeforePushesAreHeld(t *testing.T) {
	m := storetest.NewMemory()
	s, _ := newSeries(storetest.Mount(t, m)+"/job", 2)
	defer s.Release()
	for n := range 3 {
		s.Look(t.Context())
		before := m.Requests()
		dir, err := s.Make(t.Context())
		check(t, err)
		if asked := m.Requests() - before; asked > 0 || files.Base(dir) != name(n+1) {
			t.Errorf("Make has asked the store %d times, and made %s", asked, dir)
		}
		commit(t, dir, int64(n))
		s.Committed(dir)
	}
}

// TestLookLeavesWhatIsUnderWay: the next checkpoint is asked for while parts of the one before are written and committed, as by the
// worker that saves in the place of one that has died.
func TestLookLeavesWhatIsUnderWay(t *testing.T) {
	m := storetest.NewMemory()
	s, _ := newSeries(storetest.Mount(t, m)+"/job", 2)
	defer s.Release()
	s.Look(t.Context())
	dir, err := s.Make(t.Context())
	check(t, err)
	is := Manifest{ID: "s1", Rule: rule.Name(), Params: Params(model())}
	for i, store := range trained(t, 2) {
		p, err := WritePart(t.Context(), dir, PartName(is.ID, i, 2), store)
		check(t, err)
		is.Parts = append(is.Parts, p)
		s.Look(t.Context())
	}
	check(t, s.Commit(t.Context(), dir, is))
	if newest, _, err := Latest(s.Dir); err != nil || newest != dir {
		t.Errorf("the latest is %s, error %v", newest, err)
	}
	s.Look(t.Context())
	if next, err := s.Make(t.Context()); err != nil || next != files.Join(s.Dir, name(2)) {
		t.Errorf("the next is %s, error %v", next, err)
	}
}

// TestDamageInAStore changes bytes of parts and of the manifest: it is refused as on a disk.
func TestDamageInAStore(t *testing.T) {
	m := storetest.NewMemory()
	dir := storetest.Mount(t, m) + "/model"
	commit(t, dir, 1)
	for _, file := range m.Names() {
		was := m.Content(file)
		for at := 0; at < len(was); at += max(1, len(was)/40) {
			bad := slices.Clone(was)
			bad[at] ^= 0x40
			m.Set(file, bad, time.Now())
			if _, err := loads(t, dir); !Torn(err) {
				t.Errorf("byte %d of %s is another: %v", at, file, err)
			}
		}
		m.Set(file, was[:len(was)-2], time.Now())
		if _, err := Verify(t.Context(), dir); !Torn(err) {
			t.Errorf("%s is shorter: %v", file, err)
		}
		m.Set(file, was, time.Now())
	}
	if _, err := Verify(t.Context(), dir); err != nil {
		t.Error(err)
	}
}
