package checkpoint

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/google/go-cmp/cmp"
)

// TestManifestWithAFlippedBit: what is damaged is refused, or says the same as before (a space more, a name in capitals).
func TestManifestWithAFlippedBit(t *testing.T) {
	law.Slow(t)
	dir := t.TempDir()
	save(t, dir, "a", trained(t, 2))
	want, err := Read(dir)
	check(t, err)
	name := filepath.Join(dir, manifestName)
	good, err := os.ReadFile(name)
	check(t, err)
	refused, bits := 0, law.Some(t, []int{0, 1, 2, 3, 4, 5, 6, 7})
	for i := range good {
		for _, bit := range bits {
			bad := bytes.Clone(good)
			bad[i] ^= 1 << bit
			check(t, os.WriteFile(name, bad, 0o600))
			got, err := Read(dir)
			switch {
			case errors.Is(err, ErrDamaged):
				refused++
			case err != nil || !cmp.Equal(got, want):
				t.Fatalf("bit %d of byte %d (%q): %v, manifest %+v", bit, i, good[i], err, got)
			}
		}
	}
	if whole := len(bits) * len(good); 2*refused < whole {
		t.Errorf("%d of %d flipped bits were refused", refused, whole)
	}
}

func TestOtherModelsAreRefused(t *testing.T) {
	dir := t.TempDir()
	save(t, dir, "a", trained(t, 2))
	change := func(do func(all []*optimizer.Param) []*optimizer.Param) []*optimizer.Param { return do(model()) }
	for says, params := range map[string][]*optimizer.Param{
		`it has no param "more"`: change(func(all []*optimizer.Param) []*optimizer.Param {
			return append(all, &optimizer.Param{Name: "more", Shape: []int{1}})
		}),
		`its param "emb" is not in this model`: change(func(all []*optimizer.Param) []*optimizer.Param { return all[:1] }),
		`"w" is dense, of shape [60], this model's is dense, of shape [6 10]`: change(func(all []*optimizer.Param) []*optimizer.Param {
			all[0].Shape = []int{6, 10}
			return all
		}),
		`"w" is dense, of shape [60], this model's is an embedding`: change(func(all []*optimizer.Param) []*optimizer.Param {
			all[0].Embedding = true
			return all
		}),
	} {
		store := stores(t, 1)[0]
		_, err := Load(t.Context(), dir, store, rule, params, everything)
		if !errors.Is(err, ErrOtherModel) || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %q", err, says)
		}
		if store.Tables[0].Len() != 0 || store.Step() != 0 {
			t.Errorf("%s: %d rows were loaded", says, store.Tables[0].Len())
		}
	}
	turned := model()
	turned[0], turned[1] = turned[1], turned[0]
	if _, err := Load(t.Context(), dir, stores(t, 1)[0], rule, turned, everything); err != nil {
		t.Errorf("params in another order: %v", err)
	}
}

func TestMissingPartIsDamage(t *testing.T) {
	dir := t.TempDir()
	m := save(t, dir, "a", trained(t, 2))
	check(t, os.Remove(filepath.Join(dir, m.Parts[1].File)))
	_, err := Load(t.Context(), dir, stores(t, 1)[0], rule, model(), everything)
	if !errors.Is(err, ErrDamaged) || !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), m.Parts[1].File) {
		t.Errorf("got %v, want ErrDamaged that names the part", err)
	}
}

// TestLoadOfSomeParams takes one param out of a checkpoint of another model, and leaves the rest of the store alone.
func TestLoadOfSomeParams(t *testing.T) {
	dir := t.TempDir()
	from := trained(t, 2)
	save(t, dir, "a", from)
	other := append(model(), &optimizer.Param{Name: "more", Shape: []int{1}})
	want, fresh := flat(from), flat(stores(t, 1))
	for _, name := range []string{"w", "emb"} {
		store := stores(t, 1)[0]
		if _, err := Load(t.Context(), dir, store, rule, other, everything, name); err != nil {
			t.Fatal(err)
		}
		got, n := flat([]*table.Store{store}), 3*weights
		if name == "w" && (!slices.Equal(got, want[:n]) || store.Tables[0].Len() != 0) {
			t.Errorf("w: %v, want %v and no rows", got, want[:n])
		}
		if name == "emb" && (!slices.Equal(got[:n], fresh[:n]) || store.Tables[0].Len() != rows || !sameRows(got[n:], want[n:])) {
			t.Errorf("emb: %d rows %v, want %v, and nothing in w: %v", store.Tables[0].Len(), got[n:], want[n:], got[:n])
		}
		if _, _, step := store.Blocks[0].Values.Snapshot(); step+store.Step() != 0 {
			t.Errorf("%s: updates are counted from %d", name, step+store.Step())
		}
	}
	for says, name := range map[string]string{
		`it has no param "more"`:                          "more",
		`param "less" is named, which this model has not`: "less",
	} {
		if _, err := Load(t.Context(), dir, stores(t, 1)[0], rule, other, everything, "w", name); !errors.Is(err, ErrOtherModel) || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %q", err, says)
		}
	}
}

// sameRows compares rows of flat but for their step, which is 0 in those that were loaded alone.
func sameRows(got, want []float32) bool {
	const width = 3 + 2*3 + 2 // weights, both moments, step and count
	for i := range got {
		if i%width == width-2 && got[i] != 0 || i%width != width-2 && got[i] != want[i] {
			return false
		}
	}
	return len(got) == len(want)
}
