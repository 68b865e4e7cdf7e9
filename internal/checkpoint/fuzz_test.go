package checkpoint

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/safetensors"
)

// everything takes all rows of a checkpoint.
func everything(int, uint64) bool { return true }

// FuzzManifest loads a checkpoint whose manifest is any text: it is refused, or it covers the model whole and exactly.
func FuzzManifest(f *testing.F) {
	dir := f.TempDir()
	m := saved(f, dir)
	good, err := os.ReadFile(filepath.Join(dir, manifestName))
	if err != nil {
		f.Fatal(err)
	}
	twice, lacking := m, m
	twice.Parts, lacking.Parts = []Part{m.Parts[0], m.Parts[0]}, m.Parts[:1]
	for _, m := range []Manifest{twice, lacking} {
		data, err := json.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add(good)
	f.Add([]byte(`{"format":"gofleet-checkpoint","version":1,"rule":"adam","parts":[{"file":"../../etc/passwd"}]}`))
	f.Add([]byte(`{"format":"gofleet-checkpoint","version":2}`))
	want := m.Step
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, manifestName), resummed(data), 0o600); err != nil {
			t.Fatal(err)
		}
		store := stores(t, 1)[0]
		m, err := Load(t.Context(), dir, store, rule, model(), everything)
		if err != nil {
			return
		}
		if len(m.Parts) < 2 || store.Step() != m.Step {
			t.Errorf("%+v was loaded, step %d; the whole model is in two parts, of step %d", m, store.Step(), want)
		}
	})
}

// resummed is a manifest with the checksum it should have, so that more than its checksum is looked at.
func resummed(data []byte) []byte {
	var m Manifest
	if json.Unmarshal(data, &m) != nil {
		return data
	}
	signed, err := files.Sign(&m, &m.Sum)
	if err != nil {
		return data
	}
	return signed
}

// FuzzContents loads a part whose table of contents is any text.
func FuzzContents(f *testing.F) {
	dir := f.TempDir()
	m := saved(f, dir)
	part, err := os.Open(filepath.Join(dir, m.Parts[0].File))
	if err != nil {
		f.Fatal(err)
	}
	file, err := safetensors.OpenFrom(part)
	if err != nil {
		f.Fatal(err)
	}
	defer file.Close()
	good := file.Metadata()[contentsKey]
	f.Add(good)
	for _, change := range [][2]string{{`"size":30`, `"size":-30`}, {`"offset":0`, `"offset":9223372036854775807`}, {`"state":`, `"state":-`},
		{`"rows":`, `"rows":9`}, {`"dim":3`, `"dim":0`}, {`"waiting"`, `"waiting":1e9,"w"`}} {
		f.Add(strings.Replace(good, change[0], change[1], 1))
	}
	f.Fuzz(func(t *testing.T, text string) {
		store := stores(t, 1)[0]
		l := loader{ctx: t.Context(), store: store, owns: everything, blocks: []loading{{w: make([]float32, weights), state: make([]float32, 2*weights), left: weights}}}
		var c contents
		if json.Unmarshal([]byte(text), &c) != nil {
			return
		}
		for _, b := range c.Blocks {
			if l.block(file, b) != nil {
				return
			}
		}
		for _, tab := range c.Tables {
			if l.table(file, tab) != nil {
				return
			}
		}
		if l.blocks[0].left < weights/2 {
			t.Errorf("%d of %d weights are said to be in a file of half of them", weights-l.blocks[0].left, weights)
		}
	})
}

// saved is a checkpoint of two parts in dir.
func saved(f *testing.F, dir string) Manifest {
	f.Helper()
	return save(f, dir, "a", trained(f, 2))
}
