package dataset

import (
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func onDisk(t *testing.T, texts ...string) []string {
	t.Helper()
	dir := t.TempDir()
	var paths []string
	for i, text := range texts {
		paths = append(paths, filepath.Join(dir, string(rune('a'+i))))
		if err := os.WriteFile(paths[i], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return paths
}

func batchXs(t *testing.T, batches iter.Seq2[Batch, error]) (out []int64, sizes []int) {
	t.Helper()
	for batch, err := range batches {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, batch["x"].Data().([]int64)...)
		sizes = append(sizes, batch["x"].Shape()[0])
	}
	return out, sizes
}

func TestInMemoryDataset(t *testing.T) {
	d := &InMemoryDataset{Format: xFormat{}, BatchSize: 4, SkipBad: 1}
	for _, err := range d.Batches() {
		if err == nil || !strings.Contains(err.Error(), "call LoadIntoMemory first") {
			t.Errorf("batches of nothing: %v", err)
		}
	}
	if err := d.LocalShuffle(1); err == nil || d.MemoryDataSize() != 0 {
		t.Errorf("shuffle of nothing: %v", err)
	}
	d.SetFileList(onDisk(t, "0\n1\n2\n3\nbad\n", "4\n5\n")...)
	if err := d.LoadIntoMemory(t.Context()); err != nil {
		t.Fatal(err)
	}
	whole := []int64{0, 1, 2, 3, 4, 5}
	if got, sizes := batchXs(t, d.Batches()); !slices.Equal(got, whole) || !slices.Equal(sizes, []int{4, 2}) || d.MemoryDataSize() != 6 {
		t.Errorf("in memory: %v in batches of %v", got, sizes)
	}
	var orders [][]int64
	for range 2 {
		if err := d.LocalShuffle(1); err != nil {
			t.Fatal(err)
		}
		got, _ := batchXs(t, d.Batches())
		orders = append(orders, slices.Clone(got))
		if slices.Sort(got); !slices.Equal(got, whole) {
			t.Errorf("shuffled: %v", got)
		}
	}
	if slices.Equal(orders[0], orders[1]) || slices.Equal(orders[0], whole) {
		t.Errorf("two shuffles: %v", orders)
	}
	d.ReleaseMemory()
	if d.MemoryDataSize() != 0 {
		t.Error("rows after ReleaseMemory")
	}
	d.SetFileList("nowhere")
	if err := d.LoadIntoMemory(t.Context()); !os.IsNotExist(err) && !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("load of a missing file: %v", err)
	}
}

func TestQueueDataset(t *testing.T) {
	d := &QueueDataset{Format: xFormat{}}
	d.SetFileList(onDisk(t, "0\n1\n", "2\n")...)
	for _, c := range []struct {
		size, capacity int
		sizes          []int
	}{{0, 0, []int{1, 1, 1}}, {2, 1, []int{2, 1}}, {5, 9, []int{3}}} {
		d.BatchSize, d.Capacity = c.size, c.capacity
		if got, sizes := batchXs(t, d.Batches()); !slices.Equal(got, []int64{0, 1, 2}) || !slices.Equal(sizes, c.sizes) {
			t.Errorf("size %d, capacity %d: %v in batches of %v", c.size, c.capacity, got, sizes)
		}
	}
	d.BatchSize = -1
	for _, err := range d.Batches() {
		if err == nil {
			t.Error("batches of -1 rows")
		}
	}
}
