package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/internal/files"
)

// stranger is a lock that a process of another machine has left or keeps.
type stranger struct {
	t    *testing.T
	name string
	owner
}

func (s *stranger) write() {
	text, err := json.Marshal(s.owner)
	check(s.t, err)
	f, err := os.OpenFile(s.name, os.O_WRONLY|os.O_CREATE, 0o644) // nobody sees it empty
	check(s.t, err)
	_, err = fmt.Fprintf(f, "%-*s", ownerBytes, text)
	check(s.t, errors.Join(err, f.Close()))
}

// newStranger saves into a directory from another machine.
func newStranger(t *testing.T) (s *stranger, dir string) {
	dir = t.TempDir()
	s = &stranger{t, filepath.Join(dir, lockName), owner{Job: "theirs", Host: "node7", PID: 77, Boot: "another", Since: time.Now().UTC()}}
	s.write()
	return s, dir
}

// TestClaimBlocksWhileItsHolderLives: a directory is refused while its holder lives, is free at once when that was a process of this
// machine and has ended, and free after a while when it was one of another machine that says nothing any more.
func TestClaimBlocksWhileItsHolderLives(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(t *testing.T) (dir string)
		taken   string // what the error says, empty if the directory can be had
		within  [2]time.Duration
	}{
		"nobody": {func(t *testing.T) string { return filepath.Join(t.TempDir(), "new") }, "", [2]time.Duration{}},
		"a process that lives": {func(t *testing.T) string {
			dir := t.TempDir()
			h, err := take(t.Context(), dir, "")
			check(t, err)
			t.Cleanup(h.release)
			return dir
		}, "process ", [2]time.Duration{ending, ending + time.Second}},
		"a process that ends": {func(t *testing.T) string {
			dir := t.TempDir()
			h, err := take(t.Context(), dir, "")
			check(t, err)
			time.AfterFunc(2*time.Second, h.release)
			return dir
		}, "", [2]time.Duration{2 * time.Second, 3 * time.Second}},
		"a process that was killed": {func(t *testing.T) string {
			s, dir := newStranger(t)
			s.Boot = newOwner("").Boot
			if s.Boot == "" {
				t.Skip("this system's processes don't know one machine from another")
			}
			s.write()
			return dir
		}, "", [2]time.Duration{}},
		"another machine that lives": {func(t *testing.T) string {
			s, dir := newStranger(t)
			time.AfterFunc(beatEvery, func() { s.Beat++; s.write() })
			return dir
		}, "process 77 on host node7 saves into", [2]time.Duration{ending, 2 * beatEvery}},
		"another machine that is gone": {func(t *testing.T) string {
			_, dir := newStranger(t)
			return dir
		}, "", [2]time.Duration{silent, silent + time.Second}},
		"a lock that nobody gives back": {func(t *testing.T) string {
			s, dir := newStranger(t)
			f, err := os.Open(s.name)
			check(t, err)
			t.Cleanup(func() { f.Close() })
			_, _ = files.TryLock(f)
			return dir
		}, "", [2]time.Duration{silent, silent + time.Second}},
		"half a text": {func(t *testing.T) string {
			s, dir := newStranger(t)
			check(t, os.WriteFile(s.name, []byte(`{"job": "th`), 0o644))
			return dir
		}, "", [2]time.Duration{}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir, begin := c.prepare(t), time.Now()
				var claims Claims
				err := claims.Take(t.Context(), dir)
				if waited := time.Since(begin); waited < c.within[0] || waited > c.within[1] {
					t.Errorf("it took %v, want %v", waited, c.within)
				}
				if c.taken != "" {
					if !errors.Is(err, ErrTaken) || !strings.Contains(err.Error(), c.taken) || !strings.Contains(err.Error(), dir) {
						t.Errorf("error %v", err)
					}
					return
				}
				check(t, err)
				check(t, claims.Take(t.Context(), dir))
				claims.Release()
				if left := listed(t, dir); len(left) > 0 {
					t.Errorf("%v are left", left)
				}
			})
		})
	}
}

// TestExpiredClaimIsNoticed: a job that was taken for gone says so when it saves again, and leaves the other's lock alone.
func TestExpiredClaimIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		var claims Claims
		check(t, claims.Take(t.Context(), dir))
		time.Sleep(3*beatEvery + time.Second)
		s := &stranger{t, filepath.Join(dir, lockName), owner{Job: "theirs", Host: "node7", PID: 77, Since: time.Now()}}
		s.write()
		time.Sleep(beatEvery)
		if err := claims.Take(t.Context(), dir); !errors.Is(err, ErrTaken) || !strings.Contains(err.Error(), "node7") {
			t.Errorf("error %v", err)
		}
		claims.Release()
		data, err := os.ReadFile(s.name)
		check(t, err)
		if !strings.Contains(string(data), "node7") {
			t.Errorf("the lock says %s", data)
		}
	})
}

// TestClaimsAreFew: of many directories a job keeps the last.
func TestClaimsAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := t.TempDir()
		var one, other Claims
		for n := range mostClaims + 1 {
			check(t, one.Take(t.Context(), filepath.Join(root, name(n))))
		}
		check(t, other.Take(t.Context(), filepath.Join(root, name(0))))
		if err := other.Take(t.Context(), filepath.Join(root, name(1))); !errors.Is(err, ErrTaken) {
			t.Errorf("error %v", err)
		}
		one.Release()
		other.Release()
	})
}

// broken is a disk that does not read.
type broken struct{}

func (broken) ReadAt([]byte, int64) (int, error) { return 0, errors.New("input/output error") }

// TestUnreadableClaimCountsAsHeld: a directory whose holder can't be read is not taken for one that nobody holds.
func TestUnreadableClaimCountsAsHeld(t *testing.T) {
	if _, known, err := readOwner(broken{}); known || err == nil {
		t.Errorf("known %t, error %v", known, err)
	}
}

// TestClaimsOfOneJob: a process of the same job is refused by an error of its own.
func TestClaimsOfOneJob(t *testing.T) {
	for _, of := range []string{"", "a job"} {
		synctest.Test(t, func(t *testing.T) {
			var first, second Claims
			first.Of, second.Of = "a job", of
			dir := t.TempDir()
			check(t, first.Take(t.Context(), dir))
			if err := second.Take(t.Context(), dir); !errors.Is(err, ErrTaken) || errors.Is(err, ErrOurs) != (of != "") {
				t.Errorf("of %q: error %v", of, err)
			}
			first.Release()
			check(t, second.Take(t.Context(), dir))
			second.Release()
		})
	}
}
