package checkpoint

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/modelfiles"
	"github.com/gofleet/gofleet/internal/safetensors"
)

// saveModel writes a model of one dense param and an embedding.
func saveModel(t *testing.T, dir string) {
	t.Helper()
	s, err := modelfiles.Begin(dir)
	check(t, err)
	defer s.Abandon()
	check(t, s.Write(modelfiles.Graph, func(w io.Writer) error { _, err := io.WriteString(w, `{"ops": []}`); return err }))
	check(t, s.Write(modelfiles.Weights, func(w io.Writer) error {
		arrays, err := safetensors.NewWriter(w, []safetensors.Tensor{
			{Name: "emb.ids", DType: safetensors.U64, Shape: []int{4}}, {Name: "emb", DType: safetensors.F32, Shape: []int{4, 3}},
			{Name: "w", DType: safetensors.F32, Shape: []int{weights}}}, nil)
		if err != nil {
			return err
		}
		return first(func() error { return safetensors.Put(arrays, "emb.ids", make([]uint64, 4)) },
			func() error { return safetensors.Put(arrays, "emb", make([]float32, 12)) },
			func() error { return safetensors.Put(arrays, "w", make([]float32, weights)) }, arrays.Close)
	}))
	check(t, s.Commit())
}

// TestExamineFindsEveryDamage: what was saved is whole; with any of its files cut, changed, gone or swapped with another it is not, and
// the file is named.
//
// Promise: [G6] `fleetrun verify` finds damage in any file, of checkpoints and models, and a weight that no part has
// Also: TestExamineCountsWeights, TestVerify (fleet/fleetrun)
func TestExamineFindsEveryDamage(t *testing.T) {
	for what, save := range map[string]func(dir string){
		"checkpoint": func(dir string) { save(t, dir, "a", trained(t, 2)) },
		"model":      func(dir string) { saveModel(t, dir) },
	} {
		good := t.TempDir()
		save(good)
		f, err := Examine(t.Context(), good)
		if err != nil || f.Damage() != nil || f.Model != (what == "model") || len(f.Files) != 3 {
			t.Fatalf("%s: %+v, error %v", what, f, err)
		}
		for _, file := range listed(t, good) {
			data, err := os.ReadFile(filepath.Join(good, file))
			check(t, err)
			for damage, spoil := range map[string]func(name string) error{
				"gone":    os.Remove,
				"shorter": func(name string) error { return os.Truncate(name, int64(len(data)-3)) },
				"changed": func(name string) error {
					data := slices.Clone(data)
					data[len(data)/2] ^= 1
					return os.WriteFile(name, data, 0o600)
				},
			} {
				dir := t.TempDir()
				check(t, os.CopyFS(dir+"/x", os.DirFS(good)))
				check(t, spoil(filepath.Join(dir, "x", file)))
				f, err := Examine(t.Context(), filepath.Join(dir, "x"))
				check(t, err)
				switch found := f.Damage(); {
				case file == manifestName && damage == "gone":
					if !f.Unfinished() {
						t.Errorf("without a manifest: %v", found)
					}
				case file == modelfiles.Record && damage == "gone": // people write models without
				case found == nil || !names(f, file):
					t.Errorf("%s with %s %s: %v", what, file, damage, found)
				}
			}
		}
	}
}

// names says whether a finding has damage at that file, and at no other.
func names(f Finding, file string) bool {
	if f.Err != nil {
		return strings.Contains(f.Err.Error(), file)
	}
	return !slices.ContainsFunc(f.Files, func(s files.State) bool { return (s.Err != nil) != (s.Name == file) })
}

// TestExamineCountsWeights: parts that are whole, and together lack a weight or have one twice.
func TestExamineCountsWeights(t *testing.T) {
	job := trained(t, 2)
	for want, parts := range map[string][]int{"lack 30 of the 60 weights": {0}, "come twice": {0, 0}, "": {0, 1}} {
		dir := t.TempDir()
		m := Manifest{ID: "x", Rule: rule.Name(), Params: Params(model())}
		for i, from := range parts {
			p, err := WritePart(t.Context(), dir, PartName("x", i, len(parts)), job[from])
			check(t, err)
			m.Parts = append(m.Parts, p)
		}
		check(t, Commit(dir, m))
		f, err := Examine(t.Context(), dir)
		check(t, err)
		if got := f.Damage(); (got == nil) != (want == "") || got != nil && !strings.Contains(got.Error(), want) {
			t.Errorf("parts %v: %v, want %q", parts, got, want)
		}
	}
}

// TestExamineBesideAJob: what a job removed or replaced while it was read is not damaged.
func TestExamineBesideAJob(t *testing.T) {
	dir := t.TempDir()
	old := save(t, dir, "a", trained(t, 1))
	read := Finding{Dir: dir, Manifest: old, Files: []files.State{{Name: old.Parts[0].File, Err: ErrDamaged}}}
	read.Manifest.Sum = "of the one before"
	if f, err := read.settled(t.Context()); err != nil || f.Damage() != nil || f.Manifest.ID != "a" {
		t.Errorf("replaced: %v, %v", f.Damage(), err)
	}
	now, err := Read(dir)
	check(t, err)
	read.Manifest = now
	if f, err := read.settled(t.Context()); err != nil || f.Damage() == nil {
		t.Errorf("as it was: %v, %v", f.Damage(), err)
	}
	_, err = remove(dir)
	check(t, err)
	if f, err := read.settled(t.Context()); err != nil || !f.Unfinished() {
		t.Errorf("removed: %v, %v", f.Damage(), err)
	}
}

func TestExamineEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	save(t, dir, "a", trained(t, 1))
	ctx, stop := context.WithCancelCause(t.Context())
	stop(errors.New("enough"))
	if _, err := Examine(ctx, dir); err == nil || err.Error() != "enough" {
		t.Errorf("error %v", err)
	}
}

// TestFind: a checkpoint, a model, and what has several of them in it.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	s, _ := newSeries(filepath.Join(dir, "series"), 2)
	for range 3 {
		saveTo(t, s)
	}
	check(t, os.Mkdir(filepath.Join(s.Dir, "ckpt-000009"), 0o755)) // never finished
	save(t, filepath.Join(dir, "out", "checkpoint"), "a", trained(t, 1))
	saveModel(t, filepath.Join(dir, "out", "model"))
	for of, want := range map[string]string{
		"series": "series/ckpt-000002 series/ckpt-000003 series/ckpt-000009", "series/ckpt-000009": "series/ckpt-000009",
		"out": "out/checkpoint out/model", "out/model": "out/model", "out/checkpoint": "out/checkpoint",
	} {
		found, err := Find(filepath.Join(dir, of))
		if got := strings.ReplaceAll(strings.Join(found, " "), dir+"/", ""); err != nil || got != want {
			t.Errorf("in %s: %s, error %v", of, got, err)
		}
	}
	meant := ": did you mean " + filepath.Join(dir, "series", "ckpt-000003") + "?"
	if _, err := Find(dir); !errors.Is(err, ErrNone) || !strings.HasSuffix(err.Error(), meant) {
		t.Errorf("nothing: error %v", err)
	}
	if _, err := Find(filepath.Join(dir, "sreies")); !errors.Is(err, os.ErrNotExist) || !strings.HasSuffix(err.Error(), "ckpt-000003?") {
		t.Errorf("no directory: error %v", err)
	}
	if err := Pin(filepath.Join(dir, "out")); !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), ": did you mean "+filepath.Join(dir, "out", "checkpoint")+", or ") {
		t.Errorf("pinned: error %v", err)
	}
	more := t.TempDir()
	for _, name := range []string{"a", "b", "c", "d"} {
		saveModel(t, filepath.Join(more, name))
	}
	if got, want := near(more), ", or "+filepath.Join(more, "c")+", …?"; !strings.HasSuffix(got, want) {
		t.Errorf("of four: %s, want %s", got, want)
	}
}

// TestDescribe: what a checkpoint and a model hold, by name, with their rows and all of their bytes.
func TestDescribe(t *testing.T) {
	dir := t.TempDir()
	m := save(t, dir, "a", trained(t, 2))
	d, err := Describe(dir)
	check(t, err)
	stateful := int64(3 * 4 * weights)
	if d.Kind != "checkpoint" || d.ID != "a" || d.Step != 3 || d.Rule != m.Rule || d.Saved.IsZero() || len(d.Parts) != 2 {
		t.Errorf("got %+v", d)
	}
	if w := d.Params[0]; w.Name != "w" || w.Bytes < stateful || w.Bytes > stateful+8*3 {
		t.Errorf("w: %+v, want about %d bytes", w, stateful)
	}
	if emb := d.Params[1]; !emb.Embedding || emb.Rows != rows || emb.Bytes < rows*3*3*4 {
		t.Errorf("emb: %+v", emb)
	}
	saveModel(t, dir+"/model")
	if d, err = Describe(dir + "/model"); err != nil || len(d.Params) != 2 || len(d.Parts) != 1 {
		t.Fatalf("model: %+v, error %v", d, err)
	}
	if emb := d.Params[0]; emb.Name != "emb" || !emb.Embedding || emb.Rows != 4 || emb.Bytes != 4*(8+12) {
		t.Errorf("emb of the model: %+v", emb)
	}
	if w := d.Params[1]; w.Name != "w" || w.Embedding || w.Bytes != 4*weights {
		t.Errorf("w of the model: %+v", w)
	}
	check(t, os.Remove(filepath.Join(dir, PartName("a", 1, 2))))
	if _, err := Describe(dir); err == nil || !strings.Contains(err.Error(), PartName("a", 1, 2)) {
		t.Errorf("without a part: %v", err)
	}
}
