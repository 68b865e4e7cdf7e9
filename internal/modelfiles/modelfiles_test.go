package modelfiles

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/internal/safetensors"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// model is a model in a test: a graph's text, a dense parameter of two numbers, and an embedding.
type model struct {
	graph string
	dense []float32
	ids   []uint64
	rows  []float32
}

func numbered(n float32) model {
	return model{graph: strings.Repeat("x", int(n)), dense: []float32{n, -n}, ids: []uint64{1, 5, 1 << 63}, rows: []float32{n, 1, 2, 3, 4, 5}}
}

// weights writes the file of tensors.
func (m model) weights(out io.Writer) error {
	w, err := safetensors.NewWriter(out, []safetensors.Tensor{
		{Name: "emb.ids", DType: safetensors.U64, Shape: []int{len(m.ids)}},
		{Name: "emb", DType: safetensors.F32, Shape: []int{len(m.ids), 2}},
		{Name: "w", DType: safetensors.F32, Shape: []int{1, 2}}}, nil)
	if err != nil {
		return err
	}
	return errors.Join(safetensors.Put(w, "emb.ids", m.ids), safetensors.Put(w, "emb", m.rows), safetensors.Put(w, "w", m.dense), w.Close())
}

func (m model) write(t testing.TB, dir string) *Save {
	t.Helper()
	s, err := Begin(dir)
	check(t, err)
	check(t, s.Write(Graph, func(w io.Writer) error { _, err := io.WriteString(w, m.graph); return err }))
	check(t, s.Write(Weights, m.weights))
	return s
}

func (m model) save(t testing.TB, dir string) {
	t.Helper()
	check(t, m.write(t, dir).Commit())
}

// readModel reads all of a model in a directory.
func readModel(dir string) (m model, err error) {
	f, err := Open(context.Background(), dir)
	if err != nil {
		return m, err
	}
	defer f.Close()
	graph, err := f.Graph()
	if err != nil {
		return m, err
	}
	m.graph = string(graph)
	if m.dense, _, err = f.Dense("w"); err != nil {
		return m, err
	}
	return m, f.Rows("emb", func(ids []uint64, w []float32) error {
		m.ids, m.rows = append(m.ids, ids...), append(m.rows, w...)
		return nil
	})
}

func (m model) equal(o model) bool {
	return m.graph == o.graph && slices.Equal(m.dense, o.dense) && slices.Equal(m.ids, o.ids) && slices.Equal(m.rows, o.rows)
}

// TestSaveAndOpen saves one model over the other; nothing but three files is left.
func TestSaveAndOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "model")
	for n := range 3 {
		want := numbered(float32(n + 1))
		want.save(t, dir)
		if got, err := readModel(dir); err != nil || !got.equal(want) {
			t.Errorf("got %v, error %v, want %v", got, err, want)
		}
	}
	entries, err := os.ReadDir(dir)
	check(t, err)
	if len(entries) != 3 {
		t.Errorf("%v are left", entries)
	}
}

// TestDamageIsRefused changes every byte of every file in turn, cuts it, removes it, and takes it from another save.
func TestDamageIsRefused(t *testing.T) {
	law.Slow(t)
	dir, other := t.TempDir(), t.TempDir()
	numbered(1).save(t, dir)
	numbered(2).save(t, other)
	for _, file := range []string{Graph, Weights, Record} {
		name := filepath.Join(dir, file)
		good, err := os.ReadFile(name)
		check(t, err)
		refused := func(what string, data []byte) {
			check(t, os.WriteFile(name, data, 0o600))
			if _, err := Open(context.Background(), dir); !errors.Is(err, ErrDamaged) {
				t.Errorf("%s %s: got %v, want ErrDamaged", file, what, err)
			}
		}
		for i := range good {
			bad := slices.Clone(good)
			if bad[i] ^= 4; file == Record && strings.ContainsRune(" \n$", rune(good[i])) {
				continue // between the words of the record, where it may still be white
			}
			refused("with a flipped bit", bad)
		}
		refused("cut", good[:len(good)/2])
		refused("empty", nil)
		foreign, err := os.ReadFile(filepath.Join(other, file))
		check(t, err)
		refused("of another save", foreign)
		if file != Record {
			check(t, os.Remove(name))
			if _, err := Open(context.Background(), dir); !errors.Is(err, ErrDamaged) || !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("without %s: got %v", file, err)
			}
		}
		check(t, os.WriteFile(name, good, 0o600))
	}
	if _, err := readModel(dir); err != nil {
		t.Errorf("the good model is refused: %v", err)
	}
}

// TestACrashLeavesTheOldModelOrTheNew kills a writer after each of its steps, over a model of its kind and over one without record: a
// reader finds one of the two, whole, and the next save leaves nothing of it behind.
//
// Promise: [G6] a crash at any moment leaves the old saved model or the new one
// Also: TestDamageIsRefused, TestSavesAtOnce
func TestACrashLeavesTheOldModelOrTheNew(t *testing.T) {
	before, after := numbered(1), numbered(2)
	for _, record := range []bool{true, false} {
		for step := range 5 {
			dir := t.TempDir()
			before.save(t, dir)
			if !record {
				check(t, os.Remove(filepath.Join(dir, Record)))
			}
			want := before
			s := after.write(t, dir)
			r := s.finished(t)
			if step > 0 {
				_, err := r.write(dir)
				check(t, err)
				want = after
			}
			for _, e := range r.Files[:min(max(step-1, 0), 2)] {
				check(t, os.Rename(filepath.Join(dir, e.Written), filepath.Join(dir, e.File)))
			}
			if got, err := readModel(dir); err != nil || !got.equal(want) {
				t.Errorf("after step %d: got %v, error %v, want %v", step, got, err, want)
			}
			r.age(t, dir)
			numbered(3).save(t, dir)
			if got, err := readModel(dir); err != nil || !got.equal(numbered(3)) {
				t.Errorf("saved over step %d: got %v, error %v", step, got, err)
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 3 {
				t.Errorf("saved over step %d: %v are left, error %v", step, entries, err)
			}
		}
	}
}

// finished makes files durable, as Commit does first.
func (s *Save) finished(t *testing.T) record {
	t.Helper()
	r, err := s.finish()
	check(t, err)
	return r
}

// age makes the files of a record that have no name of their own old.
func (r record) age(t *testing.T, dir string) {
	t.Helper()
	old := time.Now().Add(-2 * longAgo)
	for _, e := range r.Files {
		if err := os.Chtimes(filepath.Join(dir, e.Written), old, old); !errors.Is(err, fs.ErrNotExist) {
			check(t, err)
		}
	}
}

// TestSavesAtOnce has several save into one directory while others read: every model that is read is one of those saved, whole.
func TestSavesAtOnce(t *testing.T) {
	law.Slow(t)
	dir := t.TempDir()
	numbered(1).save(t, dir)
	done := make(chan error)
	const savers, saves = 3, 6
	for n := range savers {
		go func() {
			for i := range saves {
				s, err := Begin(dir)
				m := numbered(float32(1 + n*saves + i))
				if err == nil {
					err = errors.Join(s.Write(Graph, func(w io.Writer) error { _, err := io.WriteString(w, m.graph); return err }), s.Write(Weights, m.weights), s.Commit())
				}
				if err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for left := savers; left > 0; {
		select {
		case err := <-done:
			check(t, err)
			left--
		default:
			m, err := readModel(dir)
			check(t, err)
			if !m.equal(numbered(m.dense[0])) {
				t.Fatalf("a torn model: %v", m)
			}
		}
	}
}

// TestRecordsNameNothingElsewhere: what a record of another hand names outside of its directory is not removed with it.
func TestRecordsNameNothingElsewhere(t *testing.T) {
	dir := t.TempDir()
	mine, model := filepath.Join(dir, "mine"), filepath.Join(dir, "model")
	check(t, os.WriteFile(mine, nil, 0o600))
	check(t, os.Mkdir(model, 0o700))
	r, err := record{Files: []entry{{File: "x", Written: "../mine"}}}.signed()
	check(t, err)
	_, err = r.write(model)
	check(t, err)
	numbered(1).save(t, model)
	if _, err := os.Stat(mine); err != nil {
		t.Error(err)
	}
}

// TestRecordsOfLaterVersions: what a later version has written into a record is in its checksum, and is no damage.
func TestRecordsOfLaterVersions(t *testing.T) {
	dir := t.TempDir()
	numbered(2).save(t, dir)
	name := filepath.Join(dir, Record)
	text, err := os.ReadFile(name)
	check(t, err)
	r, err := parseRecord(text)
	check(t, err)
	later := struct {
		Later string `json:"later"`
		record
	}{"more", *r}
	text, err = files.Sign(&later, &later.Sum)
	check(t, err)
	check(t, os.WriteFile(name, text, 0o600))
	if got, err := readModel(dir); err != nil || !got.equal(numbered(2)) {
		t.Errorf("got %v, error %v", got, err)
	}
	check(t, os.WriteFile(name, bytes.Replace(text, []byte("more"), []byte("less"), 1), 0o600))
	if _, err := readModel(dir); !errors.Is(err, ErrDamaged) {
		t.Errorf("changed by hand: got %v", err)
	}
}

// TestAModelOfAnotherVersion is refused with both versions, and its files stay as they are.
//
// Promise: [G6] a model of another version is refused with both versions, and stays as it is
func TestAModelOfAnotherVersion(t *testing.T) {
	dir := t.TempDir()
	numbered(2).save(t, dir)
	name := filepath.Join(dir, Record)
	text, err := os.ReadFile(name)
	check(t, err)
	r, err := parseRecord(text)
	check(t, err)
	r.Version = 3
	text, err = files.Sign(r, &r.Sum)
	check(t, err)
	check(t, os.WriteFile(name, text, 0o600))
	before, err := os.ReadDir(dir)
	check(t, err)
	if _, err := readModel(dir); !errors.Is(err, ErrVersion) ||
		!strings.Contains(err.Error(), `format "gofleet-model" version 3, this build reads "gofleet-model" version 4`) {
		t.Errorf("got %v", err)
	}
	after, err := os.ReadDir(dir)
	check(t, err)
	if now, err := os.ReadFile(name); err != nil || !bytes.Equal(now, text) || len(after) != len(before) {
		t.Errorf("%d files have become %d, %v", len(before), len(after), err)
	}
}

// TestWithoutARecord reads what other programs write: several files, and rows in each.
func TestWithoutARecord(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(context.Background(), dir); !errors.Is(err, ErrNone) {
		t.Errorf("an empty directory: got %v", err)
	}
	a, b := numbered(1), numbered(1)
	b.ids = []uint64{7, 6, 2}
	for name, m := range map[string]model{"a": a, "b": b} {
		f, err := os.Create(filepath.Join(dir, name+tensors))
		check(t, err)
		check(t, errors.Join(m.weights(f), f.Close()))
	}
	f, err := Open(context.Background(), dir)
	check(t, err)
	defer f.Close()
	var ids []uint64
	check(t, f.Rows("emb", func(some []uint64, _ []float32) error { ids = append(ids, some...); return nil }))
	if n, err := f.RowCount("emb"); n != 6 || err != nil || !slices.Equal(ids, append(a.ids, b.ids...)) {
		t.Errorf("ids %v, %d counted, error %v", ids, n, err)
	}
	if _, _, err := f.Dense("w"); err == nil || !strings.Contains(err.Error(), "a second file") {
		t.Errorf("a dense param in two files: %v", err)
	}
	if _, _, err := f.Dense("v"); err == nil || f.Has("v") || !f.Has("w") {
		t.Errorf("a param that no file has: %v", err)
	}
	if err := f.Rows("v", nil); err == nil || !strings.Contains(err.Error(), "is a file missing?") {
		t.Errorf("an embedding that no file has: %v", err)
	}
	if _, err := f.Graph(); !errors.Is(err, ErrNone) {
		t.Errorf("got %v", err)
	}
}

// TestStrayFiles: a file that the record does not name must hold nothing of the model.
func TestStrayFiles(t *testing.T) {
	dir := t.TempDir()
	numbered(1).save(t, dir)
	f, err := os.Create(filepath.Join(dir, "more"+tensors))
	check(t, err)
	check(t, errors.Join(numbered(1).weights(f), f.Close()))
	if _, err := readModel(dir); err == nil || !strings.Contains(err.Error(), "more.safetensors has \"w\"") {
		t.Errorf("got %v", err)
	}
}

// TestTablesWithoutRows reads empty tables, of F32 as others.
func TestTablesWithoutRows(t *testing.T) {
	for _, dtype := range []safetensors.DType{safetensors.F32, safetensors.U64} {
		dir := t.TempDir()
		f, err := os.Create(filepath.Join(dir, Weights))
		check(t, err)
		w, err := safetensors.NewWriter(f, []safetensors.Tensor{{Name: "e.ids", DType: safetensors.U64, Shape: []int{0}},
			{Name: "e", DType: dtype, Shape: []int{0, 4}}}, nil)
		check(t, err)
		check(t, errors.Join(w.Close(), f.Close()))
		m, err := Open(context.Background(), dir)
		check(t, err)
		defer m.Close()
		err = m.Rows("e", func([]uint64, []float32) error { return errors.New("a call") })
		if n, counted := m.RowCount("e"); n != 0 || (err == nil && counted == nil) != (dtype == safetensors.F32) {
			t.Errorf("%s: %v, %d rows, error %v", dtype, err, n, counted)
		}
	}
}

// TestWritesThatFail: what was there stays, and nothing is left behind.
func TestWritesThatFail(t *testing.T) {
	dir := t.TempDir()
	numbered(1).save(t, dir)
	full := errors.New("disk full")
	s, err := Begin(dir)
	check(t, err)
	check(t, s.Write(Graph, func(io.Writer) error { return nil }))
	if err := s.Write(Weights, func(io.Writer) error { return full }); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	s.Abandon()
	entries, err := os.ReadDir(dir)
	check(t, err)
	if got, err := readModel(dir); err != nil || !got.equal(numbered(1)) || len(entries) != 3 {
		t.Errorf("got %v, error %v, files %v", got, err, entries)
	}
	if _, err := Begin("s3://bucket/model"); err == nil {
		t.Error("a URL is taken for a directory")
	}
}

// TestAFileIsWrittenAgain: what is written last counts, as where a server dies while weights are read, and nothing else is
// left behind.
func TestAFileIsWrittenAgain(t *testing.T) {
	dir := t.TempDir()
	s, err := Begin(dir)
	check(t, err)
	m := numbered(2)
	check(t, s.Write(Graph, func(w io.Writer) error { _, err := io.WriteString(w, m.graph); return err }))
	check(t, s.Write(Weights, numbered(1).weights))
	check(t, s.Write(Weights, m.weights))
	check(t, s.Commit())
	entries, err := os.ReadDir(dir)
	check(t, err)
	if got, err := readModel(dir); err != nil || !got.equal(m) || len(entries) != 3 {
		t.Errorf("got %v, error %v, files %v", got, err, entries)
	}
}

// TestDeltasBesideWhatCantBeRead: no delta is saved where a base may lie that can't be read now.
func TestDeltasBesideWhatCantBeRead(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, Record), 0o755); err != nil {
		t.Fatal(err)
	}
	s, err := Begin(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Follow(Delta{Base: "a", Follows: "a", Number: 1}); err == nil {
		t.Error("it was begun")
	}
}

// TestHeads: the arrays by name, and the signature, of a model with a record.
func TestHeads(t *testing.T) {
	dir := t.TempDir()
	s := numbered(1).write(t, dir)
	check(t, s.Write(Signature, func(w io.Writer) error { _, err := io.WriteString(w, "{}"); return err }))
	check(t, s.Commit())
	arrays, signature, err := Heads(dir)
	check(t, err)
	if len(arrays) != 3 || arrays[2].Name != "w" || string(signature) != "{}" {
		t.Errorf("got %v, %q", arrays, signature)
	}
}
