package trial

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/modelfiles"
	"github.com/gofleet/gofleet/internal/safetensors"
	"github.com/gofleet/gofleet/nn/serve"
)

// Weights returns the file of weights of a model saved in a directory, after a check that the directory is valid.
func Weights(t testing.TB, dir string) []byte {
	t.Helper()
	data, err := WeightsOf(dir)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// WeightsOf is Weights for a role, which may not end the test.
func WeightsOf(dir string) ([]byte, error) {
	files, err := modelfiles.Examine(context.Background(), dir)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if f.Err != nil {
			return nil, fmt.Errorf("%s in %s is not what was saved: %w", f.Name, dir, f.Err)
		}
	}
	graph, err := os.ReadFile(filepath.Join(dir, modelfiles.Graph)) // a delta has none
	if err == nil && strings.Contains(string(graph), "gofleet graph") {
		if _, err := serve.Load(dir); err != nil {
			return nil, err
		}
	}
	return os.ReadFile(WeightsFile(dir))
}

// WeightsFile returns the name of that file.
func WeightsFile(dir string) string { return filepath.Join(dir, "weights.safetensors") }

// Read returns the contents of a file.
func Read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Tensor returns one variable of a file of weights.
func Tensor[T float32 | uint64](t testing.TB, weights []byte, name string) []T {
	t.Helper()
	all, err := TensorOf[T](weights, name)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TensorOf is Tensor for a role, which may not end the test.
func TensorOf[T float32 | uint64](weights []byte, name string) ([]T, error) {
	f, err := safetensors.Open(bytes.NewReader(weights), int64(len(weights)))
	if err != nil {
		return nil, err
	}
	return safetensors.Read[T](f, name)
}

// Manifest returns the manifest of a checkpoint.
func Manifest(t testing.TB, dir string) checkpoint.Manifest {
	t.Helper()
	m, err := checkpoint.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Names returns the names in a directory, without the lock of a job that saves there.
func Names(dir string) (all []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.Name() != "job.lock" {
			all = append(all, e.Name())
		}
	}
	return all, err
}

// floats are the toy's params.
var floats = []string{"w", "b", "big", "emb", "open"}

// Distance returns the largest difference between the numbers of two files of a toy's weights, which must have the same
// rows.
func Distance(t testing.TB, a, b []byte) (far float64) {
	t.Helper()
	for _, name := range []string{"emb.ids", "open.ids"} {
		if !slices.Equal(Tensor[uint64](t, a, name), Tensor[uint64](t, b, name)) {
			t.Fatalf("%s differ", name)
		}
	}
	for _, name := range floats {
		x, y := Tensor[float32](t, a, name), Tensor[float32](t, b, name)
		if len(x) == 0 || len(x) != len(y) {
			t.Fatalf("%s: %d numbers and %d", name, len(x), len(y))
		}
		for i := range x {
			d := math.Abs(float64(x[i]) - float64(y[i]))
			if math.IsNaN(d) {
				t.Fatalf("%s[%d]: %g and %g", name, i, x[i], y[i])
			}
			far = max(far, d)
		}
	}
	return far
}

// Apart returns the norm of two toys' difference as a fraction of the first one's norm.
func Apart(t testing.TB, a, b []byte) float64 {
	t.Helper()
	var difference, norm float64
	for _, name := range floats {
		x, y := Tensor[float32](t, a, name), Tensor[float32](t, b, name)
		for i := range x {
			d := float64(x[i]) - float64(y[i])
			difference, norm = difference+d*d, norm+float64(x[i])*float64(x[i])
		}
	}
	return math.Sqrt(difference / norm)
}

// Values returns the rows of every table of a model saved in a directory, by name and id, and the weights of every
// dense param as one row.
func Values(t testing.TB, dir string) map[string]map[uint64][]float32 {
	t.Helper()
	m, err := serve.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]map[uint64][]float32{}
	for _, p := range m.Graph.Params() {
		all[p.Name] = map[uint64][]float32{}
		if !p.Embedding {
			all[p.Name][0] = p.W
			continue
		}
		err := p.Rows.EachRow(func(ids []uint64, w []float32) error {
			for i, id := range ids {
				all[p.Name][id] = slices.Clone(w[i*p.Dim():][:p.Dim()])
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}
