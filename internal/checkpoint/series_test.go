package checkpoint

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// saveTo makes the next checkpoint of a series.
func saveTo(t *testing.T, s *Series) string {
	t.Helper()
	dir, err := s.Make(t.Context())
	check(t, err)
	fill(t, dir)
	s.Prune()
	return filepath.Base(dir)
}

// fill writes a whole checkpoint.
func fill(t *testing.T, dir string) {
	t.Helper()
	p, err := WritePart(t.Context(), dir, PartName("x", 0, 1), trained(t, 1)[0])
	check(t, err)
	check(t, Commit(dir, Manifest{ID: "x", Rule: rule.Name(), Params: Params(model()), Parts: []Part{p}}))
}

// listed are the names in a directory.
func listed(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	check(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func newSeries(dir string, keep int) (*Series, *strings.Builder) {
	said := new(strings.Builder)
	return &Series{Dir: dir, Keep: keep, Log: slog.New(slog.NewTextHandler(said, nil))}, said
}

// TestTheLastCheckpointsStay: older ones go, whatever else lies there stays, and another process goes on with the numbers.
func TestTheLastCheckpointsStay(t *testing.T) {
	dir := t.TempDir()
	for _, other := range []string{"ckpt-7", "ckpt-x", "mine", "ckpt-000000"} {
		check(t, os.Mkdir(filepath.Join(dir, other), 0o755))
	}
	others := listed(t, dir)
	s, said := newSeries(dir, 2)
	for range 4 {
		saveTo(t, s)
	}
	if got, want := listed(t, dir), append(others, "ckpt-000003", "ckpt-000004", lockName); !slices.Equal(got, sorted(want)) {
		t.Errorf("there are %v, want %v", got, want)
	}
	s.Release()
	next, _ := newSeries(dir, 1)
	var from string
	found, err := next.Resume(t.Context(), func(dir string) error { from = filepath.Base(dir); return nil })
	if !found || err != nil || from != "ckpt-000004" {
		t.Errorf("it goes on from %q (%t), error %v", from, found, err)
	}
	if got := saveTo(t, next); got != "ckpt-000005" {
		t.Errorf("the next is %s", got)
	}
	next.Release()
	if got, want := listed(t, dir), append(others, "ckpt-000005"); !slices.Equal(got, sorted(want)) {
		t.Errorf("there are %v, want %v", got, want)
	}
	if said.Len() > 0 {
		t.Errorf("the log has %s", said)
	}
}

// TestASeriesGoesOn: a process that takes the place of another removes what that one would have removed, also what it left torn, and
// nothing of others.
func TestASeriesGoesOn(t *testing.T) {
	dir := t.TempDir()
	s, _ := newSeries(dir, 2)
	saveTo(t, s)
	saveTo(t, s)
	last := saveTo(t, s)
	torn, err := s.Make(t.Context())
	check(t, err)
	others := filepath.Join(dir, "ckpt-000005")
	check(t, os.Mkdir(others, 0o755))
	s.Release() // as the system does for a process that was killed
	next, said := newSeries(dir, 2)
	next.GoOn(filepath.Join(dir, last))
	next.Own(torn)
	if got := saveTo(t, next); got != "ckpt-000006" {
		t.Errorf("the next is %s", got)
	}
	next.Release()
	if got, want := listed(t, dir), []string{last, filepath.Base(others), "ckpt-000006"}; !slices.Equal(got, want) {
		t.Errorf("there are %v, want %v", got, want)
	}
	if said.Len() > 0 {
		t.Errorf("the log has %s", said)
	}
}

func sorted(names []string) []string { return slices.Sorted(slices.Values(names)) }

// TestTornCheckpointsArePassedOver: without a manifest, with half of one, with parts that are missing or short, or as loading finds.
func TestTornCheckpointsArePassedOver(t *testing.T) {
	spoil := map[string]func(t *testing.T, dir, part string) error{
		"manifest.json":  func(_ *testing.T, dir, _ string) error { return os.Remove(filepath.Join(dir, manifestName)) },
		"half a text":    func(_ *testing.T, dir, _ string) error { return os.Truncate(filepath.Join(dir, manifestName), 40) },
		"written but is": func(_ *testing.T, dir, part string) error { return os.Remove(filepath.Join(dir, part)) },
		"has 7 bytes":    func(_ *testing.T, dir, part string) error { return os.Truncate(filepath.Join(dir, part), 7) },
		"flipped bit":    func(*testing.T, string, string) error { return nil },
	}
	for says, spoil := range spoil {
		t.Run(says, func(t *testing.T) {
			dir := t.TempDir()
			s, said := newSeries(dir, 5)
			saveTo(t, s)
			torn := filepath.Join(dir, saveTo(t, s))
			check(t, spoil(t, torn, PartName("x", 0, 1)))
			var from string
			found, err := s.Resume(t.Context(), func(dir string) error {
				if dir == torn {
					return errors.Join(ErrDamaged, errors.New("flipped bit"))
				}
				from = dir
				return nil
			})
			if !found || err != nil || filepath.Base(from) != "ckpt-000001" {
				t.Errorf("it goes on from %q (%t), error %v", from, found, err)
			}
			if says == "half a text" {
				says = "unexpected end"
			}
			if !strings.Contains(said.String(), "ckpt-000002") || !strings.Contains(said.String(), says) {
				t.Errorf("the log has %s, want why", said)
			}
			if says == "flipped bit" {
				return
			}
			latest, m, err := Latest(dir)
			if err != nil || latest != from || len(m.Parts) != 1 {
				t.Errorf("the latest is %s, error %v", latest, err)
			}
		})
	}
}

// TestResumeFails where what is there is whole and of another kind: it is not passed over.
func TestResumeFails(t *testing.T) {
	s, _ := newSeries(t.TempDir(), 1)
	saveTo(t, s)
	if _, err := s.Resume(t.Context(), func(string) error { return ErrOtherModel }); !errors.Is(err, ErrOtherModel) {
		t.Errorf("error %v", err)
	}
	if found, err := (&Series{Dir: filepath.Join(s.Dir, "none")}).Resume(t.Context(), nil); found || err != nil {
		t.Errorf("an empty directory: %t, %v", found, err)
	}
	if _, _, err := Latest(t.TempDir()); !errors.Is(err, ErrNone) {
		t.Errorf("no checkpoint: error %v", err)
	}
}

// TestTwoJobsInOneDirectory: the second is refused by the name of the first, which goes on; when that has ended, the second may. Of what
// the first has under way nothing is removed until it is old.
func TestTwoJobsInOneDirectory(t *testing.T) { synctest.Test(t, twoJobs) }

func twoJobs(t *testing.T) {
	dir := t.TempDir()
	first, _ := newSeries(dir, 2)
	check(t, first.Claim(t.Context()))
	second, said := newSeries(dir, 2)
	for _, claim := range []func() error{
		func() error { return second.Claim(t.Context()) },
		func() error { _, err := second.Make(t.Context()); return err },
	} {
		if err := claim(); !errors.Is(err, ErrTaken) || !strings.Contains(err.Error(), fmt.Sprint("process ", os.Getpid())) {
			t.Errorf("error %v", err)
		}
	}
	all := []string{saveTo(t, first), saveTo(t, first)}
	first.Release()
	_, err := second.Resume(t.Context(), func(string) error { return nil })
	check(t, err)
	check(t, second.Claim(t.Context()))
	all = append(all, saveTo(t, second))
	if got, want := listed(t, dir), append(all[1:], lockName); !slices.Equal(got, want) {
		t.Errorf("there are %v, want %v", got, want)
	}
	torn := filepath.Join(dir, all[1])
	check(t, os.Remove(filepath.Join(torn, manifestName)))
	all = append(all, saveTo(t, second))
	if got, want := listed(t, dir), append(all[1:], lockName); !slices.Equal(got, want) {
		t.Errorf("there are %v, want what is under way and the last two, %v", got, want)
	}
	old := time.Now().Add(-2 * abandoned)
	check(t, os.Chtimes(torn, old, old))
	all = append(all, saveTo(t, second))
	second.Release()
	if got, want := listed(t, dir), all[3:]; !slices.Equal(got, want) {
		t.Errorf("there are %v, want %v", got, want)
	}
	if said.Len() > 0 {
		t.Errorf("the log has %s", said)
	}
}

// TestCommittedCheckpointIsNotSwept: a part of a committed checkpoint is out of sight for a while. The next directory that is made
// does not sweep the checkpoint away with what was never finished, and it is whole when the part is back.
func TestCommittedCheckpointIsNotSwept(t *testing.T) {
	s, _ := newSeries(t.TempDir(), 2)
	dir := filepath.Join(s.Dir, saveTo(t, s))
	part := filepath.Join(dir, PartName("x", 0, 1))
	check(t, os.Rename(part, part+".away"))
	if _, err := s.Make(t.Context()); err != nil { // which is never finished
		t.Fatal(err)
	}
	next, err := s.Make(t.Context())
	check(t, err)
	check(t, os.Rename(part+".away", part))
	if _, err := whole(dir); err != nil {
		t.Error(err)
	}
	if got, want := listed(t, s.Dir), []string{filepath.Base(dir), filepath.Base(next), lockName}; !slices.Equal(got, want) {
		t.Errorf("there are %v, want %v", got, want)
	}
}
