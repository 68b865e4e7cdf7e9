package rows

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/dataset"
)

func points(n int) *dataset.Dataset {
	return dataset.FromColumns(dataset.FloatValues("x", make([]float32, n), 1))
}

func TestSplit(t *testing.T) {
	train, test, err := Split(points(1000), 1)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := train.Len()
	b, _ := test.Len()
	if a+b != 1000 || a < 750 || a > 850 {
		t.Errorf("%d and %d rows", a, b)
	}
	if _, _, err := Split(points(0), 1); err == nil || !strings.Contains(err.Error(), "to train on") {
		t.Errorf("no rows: error %v", err)
	}
}

// TestRead reads a file, and the files of a directory; what holds no rows is refused with its name.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"full/a": "x:1\n", "full/b": "x:2\nx:3\n", "full/.c": "?", "full/sub/d": "x:4\n", "hidden/.c": "x:5\n", "empty": "", "bad": "y\n"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	format := dataset.SlotText{Slots: []dataset.SlotColumn{{Column: dataset.Ints("x", 1)}}}
	for name, want := range map[string]int{"full": 3, "full/b": 2} {
		rows, err := Read(t.Context(), format, filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if n, _ := rows.Len(); n != want {
			t.Errorf("%s has %d rows, want %d", name, n, want)
		}
	}
	for name, want := range map[string]string{"empty": "holds no rows", "hidden": "holds no files", "none": "none", "bad": "bad"} {
		if _, err := Read(t.Context(), format, filepath.Join(dir, name)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
}
