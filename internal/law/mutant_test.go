package law_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// TestMutate: a seed draws the same mutant again, of a file that has a place to change, and seeds come to all places.
func TestMutate(t *testing.T) {
	dir := t.TempDir()
	empty, full := filepath.Join(dir, "empty.go"), filepath.Join(dir, "full.go")
	text := []byte("package p\n\nfunc f(a, b int) bool {\n\ta += b\n\treturn a < b\n}\n")
	for file, text := range map[string][]byte{empty: []byte("package p\n"), full: text} {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	drawn := map[string]int{}
	for seed := range uint64(20) {
		m, err := law.Mutate([]string{empty, full}, seed)
		again, _ := law.Mutate([]string{empty, full}, seed)
		if err != nil || m.File != full || m.Says != again.Says || bytes.Equal(m.Now, text) || !bytes.Equal(m.Now, again.Now) {
			t.Fatalf("seed %d: %+v, %v", seed, m, err)
		}
		drawn[m.Says] = m.Line
	}
	if len(drawn) != 2 || drawn["a statement left out"] != 4 || drawn["<= for <"] != 5 {
		t.Errorf("drew %v", drawn)
	}
	if _, err := law.Mutate([]string{empty}, 1); err == nil {
		t.Error("a file without a place to change has a mutant")
	}
}
