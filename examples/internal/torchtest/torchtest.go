// Package torchtest trains the nets of the examples with PyTorch, on the same rows in the same order, to compare what
// both learn.
package torchtest

import (
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/examples/internal/jobtest"
	"github.com/gofleet/gofleet/fleet/train"
)

var python = flag.String("torch", "", "a python that has torch and numpy: TestAUCIsTorchs trains the example's net "+
	"with it too (minutes)")

//go:embed nets.py
var nets []byte

// seeds are how many trainings of each the means are of.
const seeds = 3

// Compare trains an example alone and its net with PyTorch, and fails where the mean AUC on the test rows is more than
// 0.002 below PyTorch's.
func Compare(t *testing.T, net string, program jobtest.Program, args ...string) {
	if *python == "" {
		t.Skip("it needs a Python with PyTorch: -torch=python3")
	}
	var ours, theirs float64
	for seed := range seeds {
		args := append([]string{"-out=", fmt.Sprint("-seed=", seed+1)}, args...)
		res, _ := jobtest.Run(t, 0, 1, program, args...)
		j, err := jobtest.Job(program, args...)
		if err != nil {
			t.Fatal(err)
		}
		a, b := res.Last.Values["test AUC"], torch(t, net, j, seed)
		t.Logf("seed %d: AUC %.4f, PyTorch's %.4f", seed+1, a, b)
		ours, theirs = ours+a/seeds, theirs+b/seeds
	}
	t.Logf("mean of %d: AUC %.4f, PyTorch's %.4f", seeds, ours, theirs)
	if ours < theirs-0.002 {
		t.Errorf("AUC %.4f, PyTorch's %.4f", ours, theirs)
	}
}

// torch is the AUC that PyTorch comes to.
func torch(t *testing.T, net string, j train.Job, seed int) float64 {
	dir := t.TempDir()
	rows, test, err := j.Data(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(dir, "nets.py")
	errs := []error{os.WriteFile(script, nets, 0o600), write(filepath.Join(dir, "test"), test)}
	for epoch := range j.Epochs {
		errs = append(errs, write(filepath.Join(dir, fmt.Sprint("epoch", epoch)), rows.Shuffle(j.Seed).Epoch(epoch)))
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), *python, script, net, dir, fmt.Sprint(j.Epochs), fmt.Sprint(j.Batch),
		fmt.Sprint(seed))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", cmd.Args, err)
	}
	auc, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	if err != nil {
		t.Fatal(err)
	}
	return auc
}

// column describes a column's file to the script.
type column struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	Width   int    `json:"width"`
	Varying bool   `json:"varying"`
}

// write writes rows, each column as a file of little-endian numbers; a varying one has another, of how many values each
// row has.
func write(dir string, rows *dataset.Dataset) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	var columns []column
	for _, c := range rows.Columns() {
		d := column{Name: c.Name, Kind: "<i8", Width: c.Width(), Varying: c.Varying}
		if c.Type == tensor.Float32 {
			d.Kind = "<f4"
		}
		columns = append(columns, d)
	}
	head, err := json.Marshal(columns)
	if err != nil {
		return err
	}
	bytes := map[string][]byte{"columns.json": head}
	for batch, err := range rows.Batches(4096) {
		if err != nil {
			return err
		}
		for _, c := range columns {
			appended(bytes, c.Name, batch[c.Name].Data())
			if c.Varying {
				appended(bytes, c.Name+".lengths", lengths(batch[c.Name+".offsets"].Int64s()))
			}
		}
	}
	for name, data := range bytes {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// appended appends numbers to a file's bytes.
func appended(bytes map[string][]byte, name string, numbers any) {
	bytes[name], _ = binary.Append(bytes[name], binary.LittleEndian, numbers) // numbers of a fixed size have no error
}

func lengths(offsets []int64) (n []int64) {
	for i := range offsets[1:] {
		n = append(n, offsets[i+1]-offsets[i])
	}
	return n
}
