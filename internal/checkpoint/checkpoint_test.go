package checkpoint

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/optimizer"
)

const weights, rows = 60, 40

var rule = optimizer.Adam{LR: 0.1}

// model is the params of the job.
func model() []*optimizer.Param {
	return []*optimizer.Param{
		{Name: "w", Shape: []int{weights}},
		{Name: "emb", Shape: []int{rows, 3}, Embedding: true, Init: optimizer.Uniform{Low: -1, High: 1}},
	}
}

// stores cuts a variable of 60 weights and an embedding of 40 rows over n servers.
func stores(t testing.TB, n int) (all []*table.Store) {
	t.Helper()
	w, emb := model()[0], model()[1]
	for i := range n {
		s, from, to := new(table.Store), weights*i/n, weights*(i+1)/n
		sparse, err := table.NewSparse(emb, rule, table.Options{})
		check(t, err)
		check(t, s.AddTable(sparse))
		check(t, s.AddBlock(table.Block{Param: w, Name: "w", Offset: from, Values: table.NewDense(to-from, rule)}))
		all = append(all, s)
	}
	return all
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// trained is a job of n servers after some updates.
func trained(t testing.TB, n int) []*table.Store {
	t.Helper()
	all := stores(t, n)
	for i, s := range all {
		for range 3 {
			step, b := s.Advance(), s.Blocks[0]
			g := make([]float32, b.Values.Len())
			for k := range g {
				g[k] = float32(b.Offset+k)*0.1 - 2
			}
			check(t, b.Values.Push(g, step))
			for id := uint64(i); id < rows; id += uint64(n) {
				_, err := s.Tables[0].Push([]uint64{id}, []float32{float32(id), 1, -1}, step)
				check(t, err)
			}
			s.Finish(step)
		}
	}
	return all
}

// save writes a checkpoint as the servers of a job do together.
func save(t testing.TB, dir, id string, all []*table.Store) Manifest {
	t.Helper()
	m := Manifest{ID: id, Step: all[0].Step()}
	m.Holds(rule, model())
	for i, s := range all {
		p, err := WritePart(t.Context(), dir, PartName(id, i, len(all)), s)
		check(t, err)
		m.Parts = append(m.Parts, p)
	}
	check(t, Commit(dir, m))
	return m
}

// flat is all numbers of a job by their place in the model: weights, both moments of Adam, then rows with their state.
func flat(all []*table.Store) []float32 {
	dense, sparse := make([]float32, 3*weights), make([][]float32, rows)
	for _, s := range all {
		b := s.Blocks[0]
		w, state, _ := b.Values.Snapshot()
		copy(dense[b.Offset:], w)
		copy(dense[weights+b.Offset:], state[:len(w)])
		copy(dense[2*weights+b.Offset:], state[len(w):2*len(w)])
		for r := range s.Tables[0].RowsOf(s.Tables[0].IDs(), s.Step()) {
			sparse[r.ID] = append(slices.Concat(r.W, r.State), float32(r.Step), float32(r.Updates))
		}
	}
	return append(dense, slices.Concat(sparse...)...)
}

// TestResharding saves with any number of servers and loads with any other.
//
// Promise: [G6] a checkpoint has all parts or is refused; damage, other models and missing parts are refused; any
// number of servers may read it
// Also: TestCommitRemovesOthers, TestCommitWantsEveryPart, TestLoadRefusesDamage, TestManifestWithAFlippedBit,
// TestOtherModelsAreRefused, TestMissingPartIsDamage, TestCountsAreKept
func TestResharding(t *testing.T) {
	for from := 1; from <= 4; from++ {
		dir, job := t.TempDir(), trained(t, from)
		save(t, dir, "a", job)
		for to := 1; to <= 5; to++ {
			loaded := stores(t, to)
			for i, s := range loaded {
				owns := func(_ int, id uint64) bool { return id%uint64(to) == uint64(i) }
				if _, err := Load(t.Context(), dir, s, rule, model(), owns); err != nil {
					t.Fatalf("%d servers to %d: %v", from, to, err)
				}
				if s.Step() != 3 {
					t.Errorf("%d servers to %d: step %d, want 3", from, to, s.Step())
				}
			}
			if !slices.Equal(flat(job), flat(loaded)) {
				t.Errorf("%d servers to %d: weights or state differ", from, to)
			}
		}
	}
}

// TestCommitRemovesOthers saves twice: the first parts go, and files that were never finished when they are old; what is not a part stays.
func TestCommitRemovesOthers(t *testing.T) {
	dir, job := t.TempDir(), trained(t, 2)
	old := save(t, dir, "a", job)
	for _, name := range []string{"notes.txt", ".notes.tmp", "." + PartName("c", 0, 2) + ".1234.tmp", ".manifest.json.1234.tmp"} {
		check(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
		long := time.Now().Add(-2 * abandoned)
		check(t, os.Chtimes(filepath.Join(dir, name), long, long))
	}
	young := []string{"." + PartName("d", 0, 2) + ".1234.tmp", PartName("d", 1, 2)} // another job's, for all that is known
	for _, name := range young {
		check(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
	}
	now := save(t, dir, "b", job)
	var names []string
	entries, err := os.ReadDir(dir)
	check(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	want := []string{young[0], ".notes.tmp", "manifest.json", "notes.txt", now.Parts[0].File, now.Parts[1].File, young[1]}
	if !slices.Equal(names, sorted(want)) {
		t.Errorf("%v is left of %v, want %v", names, old.Parts, want)
	}
}

// TestCommitWantsEveryPart commits with a part that is gone: the old checkpoint stays.
func TestCommitWantsEveryPart(t *testing.T) {
	dir, job := t.TempDir(), trained(t, 1)
	old := save(t, dir, "a", job)
	if err := Commit(dir, Manifest{ID: "b", Parts: []Part{{File: PartName("b", 0, 1)}}}); err == nil {
		t.Error("a part that is not there was committed")
	}
	if m, err := Read(dir); err != nil || m.ID != old.ID {
		t.Errorf("checkpoint %q, %v, want %q", m.ID, err, old.ID)
	}
}

func TestLoadRefusesDamage(t *testing.T) {
	dir := t.TempDir()
	m := save(t, dir, "a", trained(t, 2))
	name := filepath.Join(dir, m.Parts[1].File)
	data, err := os.ReadFile(name)
	check(t, err)
	data[len(data)-1] ^= 1
	check(t, os.WriteFile(name, data, 0o644))
	all := func(int, uint64) bool { return true }
	if _, err := Load(t.Context(), dir, stores(t, 1)[0], rule, model(), all); !errors.Is(err, ErrDamaged) {
		t.Errorf("a flipped bit: %v, want ErrDamaged", err)
	}
	if _, err := Load(t.Context(), t.TempDir(), stores(t, 1)[0], rule, model(), all); !errors.Is(err, ErrNone) {
		t.Errorf("an empty directory: %v, want ErrNone", err)
	}
	if _, err := Load(t.Context(), dir, stores(t, 1)[0], optimizer.SGD{}, model(), all); err == nil {
		t.Error("another rule's state was taken")
	}
}

// TestLoadRefusesTheSameTwice names one part twice and the other not at all: half of the weights would be nobody's.
func TestLoadRefusesTheSameTwice(t *testing.T) {
	dir := t.TempDir()
	m := save(t, dir, "a", trained(t, 2))
	m.Parts[1] = m.Parts[0]
	check(t, Commit(dir, m))
	_, err := Load(t.Context(), dir, stores(t, 1)[0], rule, model(), func(int, uint64) bool { return true })
	if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "twice") {
		t.Errorf("got %v, want ErrDamaged that says what comes twice", err)
	}
}

// TestPartsLieBesideTheManifest refuses a manifest that leads elsewhere.
func TestPartsLieBesideTheManifest(t *testing.T) {
	dir := t.TempDir()
	m := save(t, dir, "a", trained(t, 2))
	file := m.Parts[1].File
	for _, name := range []string{"../" + file, "/" + file, "sub/" + file, ""} {
		m.Format, m.Version, m.Parts[1].File = format, version, name
		data, err := files.Sign(&m, &m.Sum)
		check(t, err)
		check(t, os.WriteFile(filepath.Join(dir, manifestName), data, 0o600))
		if _, err := Read(dir); !errors.Is(err, ErrDamaged) {
			t.Errorf("%q: got %v, want ErrDamaged", name, err)
		}
	}
}

// TestACheckpointOfAnotherVersion is refused with both versions, by load and by a series, which skips and removes only what is torn.
//
// Promise: [G6] a checkpoint of another version is refused with both versions, and stays as it is
func TestACheckpointOfAnotherVersion(t *testing.T) {
	root := t.TempDir()
	s, _ := newSeries(root, 2)
	before, dir := saveTo(t, s), saveTo(t, s)
	name := filepath.Join(root, dir, manifestName)
	m, err := Read(filepath.Join(root, dir))
	check(t, err)
	m.Version = 2
	text, err := files.Sign(&m, &m.Sum)
	check(t, err)
	check(t, os.WriteFile(name, text, 0o600))
	again, _ := newSeries(root, 1)
	_, load := Load(t.Context(), filepath.Join(root, dir), stores(t, 1)[0], rule, model(), func(int, uint64) bool { return true })
	found, resume := again.Resume(t.Context(), func(string) error { return nil })
	again.Prune()
	for _, err := range []error{load, resume} {
		if !errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), `format "gofleet-checkpoint" version 2, this build reads "gofleet-checkpoint" version 5`) {
			t.Errorf("error %v, found %t", err, found)
		}
	}
	if now, err := os.ReadFile(name); err != nil || !bytes.Equal(now, text) {
		t.Errorf("the manifest of %s, behind %s, has changed: %v", dir, before, err)
	}
}

// TestWritesThatFail has a disk refuse a file in its middle, and a name that can't be given: the caller is told, the file
// that was there stays whole, and nothing is left behind.
func TestWritesThatFail(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, manifestName)
	check(t, files.Write(name, func(w io.Writer) error { _, err := w.Write([]byte("old")); return err }))
	errFull := errors.New("disk full")
	err := files.Write(name, func(w io.Writer) error {
		if _, err := w.Write(make([]byte, 3<<20)); err != nil {
			return err
		}
		return errFull
	})
	if data, readErr := os.ReadFile(name); !errors.Is(err, errFull) || readErr != nil || string(data) != "old" {
		t.Errorf("got %v, want %v; the file holds %q, error %v", err, errFull, data, readErr)
	}
	store := trained(t, 1)[0]
	part := PartName("a", 0, 1)
	check(t, os.MkdirAll(filepath.Join(dir, part, "in the way"), 0o755))
	if _, err := WritePart(t.Context(), dir, part, store); err == nil {
		t.Error("a part whose name is a directory's was written")
	}
	if _, err := WritePart(t.Context(), name, part, store); err == nil {
		t.Error("a part was written below a file")
	}
	entries, err := os.ReadDir(dir)
	check(t, err)
	if len(entries) != 2 {
		t.Errorf("left behind: %v", entries)
	}
}
