package dataset

import (
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gofleet/gofleet/internal/law"
)

// passEnds is how one pass ends.
func passEnds(batches iter.Seq2[Batch, error]) (n int, err error) {
	for _, err := range batches {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// TestEmptyPasses: a pass without a batch is an error that names the file or the option that left nothing, with and without a goroutine
// ahead, of files and of rows in memory; MayBeEmpty lets it be.
//
// Promise: [G9] a pass without a batch is an error that names the file or the option that left nothing
// Also: TestEmptyLists, TestEmptySourcesOfUsers, TestTrainFromNothing (nn), TestThreadsOfNothing (nn)
func TestEmptyPasses(t *testing.T) {
	needShell(t)
	fsys := fstest.MapFS{"empty.csv": {}, "header.csv": {Data: []byte("x,y\n")}, "three": {Data: []byte("1\n2\n3\n")}, "bad": {Data: []byte("a\n\nb\n")}}
	read := func(f Files) *Dataset {
		if f.FS = fsys; f.Format == nil {
			f.Format = xFormat{}
		}
		return New(&f)
	}
	header := CSV{Schema: []CSVColumn{{Column: Ints("x")}}}
	three := read(Files{Paths: []string{"three"}})
	first, second := three.Split(1, 7)
	none, _ := three.Split(0, 7)
	for _, c := range []struct {
		rows  *Dataset
		words []string
	}{
		{read(Files{Paths: []string{"empty.csv"}, Format: header}), []string{"empty.csv is empty"}},
		{read(Files{Paths: []string{"header.csv"}, Format: header}), []string{"header.csv has a header and nothing after it"}},
		{read(Files{Paths: []string{"header.csv", "empty.csv"}, Format: header}), []string{"header.csv and 1 more"}},
		{read(Files{}), []string{"no files are named"}},
		{read(Files{Paths: []string{"bad"}, SkipBad: 9}), []string{"SkipBad passed over all 2 lines", "bad:1: field x", `"a"`}},
		{read(Files{Paths: []string{"three"}, PipeCommand: "grep 7 || true"}), []string{`"grep 7 || true"`, "writes nothing of three"}},
		{three.Shard(3, 4), []string{"Shard(3, 4) leaves none of 3", "three"}},
		{three.RandomShard(5, 42, 100), []string{"RandomShard(5, 42, 100) leaves none of 3"}},
		{three.Shard(0, 2).Shard(2, 3), []string{"Shard(2, 3) leaves none of 2"}},
		{three.Skip(3), []string{"Skip(3) leaves none of 3"}},
		{three.Take(0), []string{"Take(0) leaves none"}},
		{second, []string{"the second part of Split(1, 7) leaves none of 3"}},
		{none, []string{"the first part of Split(0, 7) leaves none of 3"}},
		{second.ShuffleWindow(2, 1), []string{"Split(1, 7)"}},
		{first.Skip(4).Take(2), []string{"Skip(4) leaves none of 3"}},
		{three.DropLast(), []string{"DropLast", "3 of 4 rows"}},
		{numbers(0), []string{"the source has none"}},
		{numbers(3).Skip(3).Shuffle(1), []string{"Skip(3) leaves none of 3 rows"}},
		{Generate(0, nil, Floats("x")), []string{"the source has none"}},
	} {
		loaded, err := c.rows.Load(t.Context())
		if err != nil {
			t.Errorf("%q: load: %v", c.words, err)
			continue
		}
		for form, d := range map[string]*Dataset{"as it is": c.rows, "loaded": loaded, "ahead": c.rows.Prefetch(2), "shuffled": loaded.Shuffle(1)} {
			n, err := passEnds(d.Batches(4))
			if n != 0 || !errors.Is(err, ErrNoRows) {
				t.Errorf("%q, %s: %d batches, %v", c.words, form, n, err)
				continue
			}
			for _, w := range c.words {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%s: %q does not say %q", form, err, w)
				}
			}
			if n, err := passEnds(d.MayBeEmpty().Batches(4)); n != 0 || err != nil {
				t.Errorf("%q, %s: where it may be empty: %d batches, %v", c.words, form, n, err)
			}
		}
	}
}

// TestEmptyLists: the two datasets of files tell of an empty list too.
func TestEmptyLists(t *testing.T) {
	for _, may := range []bool{false, true} {
		memory := &InMemoryDataset{Format: xFormat{}, MayBeEmpty: may}
		law.Check(t, memory.LoadIntoMemory(t.Context()))
		queue := &QueueDataset{Format: xFormat{}, MayBeEmpty: may}
		for name, batches := range map[string]iter.Seq2[Batch, error]{"memory": memory.Batches(), "rows": memory.Rows().Batches(2), "queue": queue.Batches()} {
			if n, err := passEnds(batches); n != 0 || errors.Is(err, ErrNoRows) == may || (err == nil) != may {
				t.Errorf("%s, may be empty %v: %d batches, %v", name, may, n, err)
			}
		}
	}
}

// TestEmptySourcesOfUsers: a user's own source without rows is told of as well, and one empty file among others is not.
func TestEmptySourcesOfUsers(t *testing.T) {
	if _, err := passEnds(streamed(numbers(0)).Batches(1)); !errors.Is(err, ErrNoRows) {
		t.Error(err)
	}
	fsys := fstest.MapFS{"a": {}, "b": {Data: []byte("1\n")}}
	if n, err := passEnds(New(&Files{FS: fsys, Paths: []string{"a", "b"}, Format: xFormat{}}).Batches(1)); n != 1 || err != nil {
		t.Errorf("%d batches, %v", n, err)
	}
}

// TestColumnsWithoutValues: a varying column of a batch of which no row has a value is empty, in each way to read it.
func TestColumnsWithoutValues(t *testing.T) {
	d := FromReader(strings.NewReader("1\n0\n"), "labels", LibSVM{})
	for batch, err := range d.Batches(2) {
		law.Check(t, err)
		ids, values := batch["ids"], batch["values"]
		if len(ids.Data().([]int64)) != 0 || len(values.Data().([]float32)) != 0 || len(ids.Int64s()) != 0 || ids.Shape()[0] != 0 {
			t.Errorf("ids are %v, values %v", ids, values)
		}
	}
}
