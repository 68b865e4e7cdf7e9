package dataset

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gofleet/gofleet/internal/law"
)

func onDisk(t *testing.T, texts ...string) []string {
	t.Helper()
	dir := t.TempDir()
	var paths []string
	for i, text := range texts {
		paths = append(paths, filepath.Join(dir, string(rune('a'+i))))
		law.Check(t, os.WriteFile(paths[i], []byte(text), 0o600))
	}
	return paths
}

func batchXs(t *testing.T, batches iter.Seq2[Batch, error]) (out []int64, sizes []int) {
	t.Helper()
	for batch, err := range batches {
		law.Check(t, err)
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
	law.Check(t, d.LoadIntoMemory(t.Context()))
	whole := []int64{0, 1, 2, 3, 4, 5}
	if got, sizes := batchXs(t, d.Batches()); !slices.Equal(got, whole) || !slices.Equal(sizes, []int{4, 2}) || d.MemoryDataSize() != 6 {
		t.Errorf("in memory: %v in batches of %v", got, sizes)
	}
	var orders [][]int64
	for range 2 {
		law.Check(t, d.LocalShuffle(1))
		got, _ := batchXs(t, d.Batches())
		orders = append(orders, slices.Clone(got))
		if slices.Sort(got); !slices.Equal(got, whole) {
			t.Errorf("shuffled: %v", got)
		}
	}
	if slices.Equal(orders[0], orders[1]) || slices.Equal(orders[0], whole) {
		t.Errorf("two shuffles: %v", orders)
	}
	for i, want := range orders { // as in a process that is started again
		d.SetShuffles(i)
		law.Check(t, d.LocalShuffle(1))
		if got, _ := batchXs(t, d.Batches()); !slices.Equal(got, want) {
			t.Errorf("shuffle %d again: %v, it was %v", i, got, want)
		}
	}
	if got, _ := batchXs(t, d.Rows().Shard(1, 2).Batches(9)); len(got) != 3 || got[0] != orders[1][1] {
		t.Errorf("a shard of %v is %v", orders[1], got)
	}
	d.ReleaseMemory()
	if err := d.Rows().Shard(0, 2).Err(); err == nil || !strings.Contains(err.Error(), "call LoadIntoMemory first") {
		t.Errorf("rows of nothing: %v", err)
	}
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

// TestListsOfAFileSystem: a list's files may lie in a file system of the program's own, packed too, whatever reads them.
func TestListsOfAFileSystem(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte("3\n4\n")); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	fsys, list := fstest.MapFS{"day/a": {Data: []byte("0\n1\n2\n")}, "day/b.gz": {Data: packed.Bytes()}}, []string{"day/a", "day/b.gz"}
	d := &InMemoryDataset{FileList: list, FS: fsys, Format: xFormat{}, BatchSize: 2}
	for what, load := range map[string]func() error{
		"load":           func() error { return d.LoadIntoMemory(t.Context()) },
		"preload":        func() error { return errors.Join(d.PreloadIntoMemory(t.Context()), d.WaitPreloadDone()) },
		"global shuffle": func() error { return d.GlobalShuffle(t.Context(), workerOf{0, 1}, 1) },
	} {
		d.ReleaseMemory()
		if err := load(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		got, _ := batchXs(t, d.Batches())
		if slices.Sort(got); !slices.Equal(got, []int64{0, 1, 2, 3, 4}) {
			t.Errorf("%s: %v", what, got)
		}
	}
	q := &QueueDataset{FileList: list, FS: fsys, Format: xFormat{}, BatchSize: 2, PipeCommand: "cat"}
	if got, _ := batchXs(t, q.Batches()); !slices.Equal(got, []int64{0, 1, 2, 3, 4}) {
		t.Errorf("queue, through a command: %v", got)
	}
	q.SetFileList("day/c")
	for _, err := range q.Batches() {
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "day/c") {
			t.Errorf("a file that is not there: %v", err)
		}
	}
}

// workerOf is a worker's place.
type workerOf struct{ index, workers int }

func (w workerOf) WorkerIndex() int { return w.index }
func (w workerOf) WorkerNum() int   { return w.workers }

// TestGlobalShuffle: every row is one worker's, whoever's depends on the seed, and each worker has its rows in a random order.
func TestGlobalShuffle(t *testing.T) {
	const rows, workers = 300, 3
	var text strings.Builder
	var whole []int64
	for i := range rows {
		fmt.Fprintln(&text, i)
		whole = append(whole, int64(i))
	}
	files := onDisk(t, text.String()[:text.Len()/2+1], text.String()[text.Len()/2+1:]) // cut at a line's end
	shares := func(seed uint64) (all []int64, first []int64) {
		for w := range workers {
			d := &InMemoryDataset{FileList: files, Format: xFormat{}, BatchSize: 50}
			law.Check(t, d.GlobalShuffle(t.Context(), workerOf{w, workers}, seed))
			mine, _ := batchXs(t, d.Batches())
			if len(mine) != d.MemoryDataSize() || len(mine) < rows/workers-40 || len(mine) > rows/workers+40 || slices.IsSorted(mine) {
				t.Errorf("seed %d: worker %d has %d of %d rows, sorted %v", seed, w, len(mine), rows, slices.IsSorted(mine))
			}
			if all = append(all, mine...); w == 0 {
				first = mine
			}
		}
		slices.Sort(all)
		slices.Sort(first)
		return all, first
	}
	one, a := shares(1)
	two, b := shares(2)
	_, again := shares(1)
	if !slices.Equal(one, whole) || !slices.Equal(two, whole) {
		t.Errorf("the shares together are %v and %v", one, two)
	}
	if slices.Equal(a, b) || !slices.Equal(a, again) {
		t.Error("worker 0's share is not a function of the seed")
	}
}

// TestRandomShardOfMemory: rows in memory and rows that stream by are shared alike, and a share may be shared again.
func TestRandomShardOfMemory(t *testing.T) {
	files := FromFiles(xFormat{}, onDisk(t, "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n")...)
	loaded, err := files.Load(t.Context())
	law.Check(t, err)
	for w := range 2 {
		a, _ := batchXs(t, files.RandomShard(5, w, 2).Batches(20))
		b, _ := batchXs(t, loaded.RandomShard(5, w, 2).Batches(20))
		if !slices.Equal(a, b) || len(a) == 0 {
			t.Errorf("worker %d: %v of files, %v of memory", w, a, b)
		}
		first, _ := batchXs(t, files.RandomShard(5, w, 2).RandomShard(6, 0, 2).Batches(20))
		second, _ := batchXs(t, files.RandomShard(5, w, 2).RandomShard(6, 1, 2).Batches(20))
		if both := append(first, second...); len(both) != len(a) {
			t.Errorf("worker %d: %v is shared to %v", w, a, both)
		}
	}
	if err := files.RandomShard(1, 2, 2).Err(); err == nil {
		t.Error("a share of worker 2 of 2")
	}
}

func TestPreload(t *testing.T) {
	files := onDisk(t, "0\n1\n", "2\n", "bad\n")
	d := &InMemoryDataset{FileList: files[:1], Format: xFormat{}, BatchSize: 9}
	if err := d.WaitPreloadDone(); err == nil {
		t.Error("waited for nothing")
	}
	law.Check(t, d.LoadIntoMemory(t.Context()))
	for i, want := range [][]int64{{2}, nil} {
		d.SetFileList(files[1+i])
		law.Check(t, d.PreloadIntoMemory(t.Context()))
		if err := d.PreloadIntoMemory(t.Context()); err == nil {
			t.Error("two at a time")
		}
		before := d.MemoryDataSize()
		if got, _ := batchXs(t, d.Batches()); len(got) != before {
			t.Errorf("%d rows in memory, %d read", before, len(got))
		}
		err := d.WaitPreloadDone()
		if (err == nil) != (want != nil) {
			t.Errorf("preload %d: %v", i, err)
		}
		if got, _ := batchXs(t, d.Batches()); !slices.Equal(got, []int64{2}) {
			t.Errorf("after preload %d: %v", i, got)
		}
	}
}
