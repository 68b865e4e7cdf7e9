package dataset

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// placed is rows of two files, of which row x comes from line x%100 of the file x/100.
func placed(t *testing.T) (paths []string) {
	t.Helper()
	var texts []string
	for file := range 2 {
		var text strings.Builder
		for line := 1; line < 100; line++ {
			if line%10 == 0 {
				text.WriteString("\n")
			} else {
				fmt.Fprintf(&text, "x:%d v:%d v:2\n", file*100+line, line)
			}
		}
		texts = append(texts, text.String())
	}
	return onDisk(t, texts...)
}

var placedFormat = SlotText{Slots: []SlotColumn{{Column: Ints("x")}, {Column: Varying(Ints("v"))}}}

// checkPlaces looks whether the tensors of every batch know where their rows come from.
func checkPlaces(t *testing.T, name string, d *Dataset, paths []string, anyWorker bool) {
	t.Helper()
	rows := 0
	for batch, err := range d.Batches(7) {
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for feed, of := range batch {
			p, ok := of.Engine().(interface{ Place(row int) string })
			if !ok {
				t.Fatalf("%s: %s does not know where its rows come from", name, feed)
			}
			for r, x := range batch["x"].Int64s() {
				got, want := p.Place(r), fmt.Sprintf("%s:%d", paths[x/100], x%100)
				if got != want && !(anyWorker && strings.HasPrefix(got, "worker ") && strings.HasSuffix(got, "'s "+want) && strings.Count(got, "'s") == 1) {
					t.Fatalf("%s: %s, row %d comes from %q, want %q", name, feed, r, got, want)
				}
				rows++
			}
			if p.Place(-1) != "" || p.Place(7) != "" {
				t.Errorf("%s: rows that are not there come from somewhere", name)
			}
		}
	}
	if rows == 0 {
		t.Errorf("%s: no rows", name)
	}
}

// TestRowsKeepTheirLines: whatever is done to rows, streaming, in memory, by many goroutines and between workers, each knows its file and line.
func TestRowsKeepTheirLines(t *testing.T) {
	paths := placed(t)
	stream := FromFiles(placedFormat, paths...)
	loaded, err := stream.Load(t.Context())
	law.Check(t, err)
	for name, d := range map[string]*Dataset{"streaming": stream, "loaded": loaded, "many": New(&Files{Paths: paths, Format: placedFormat, Threads: 3})} {
		first, second := d.Split(0.5, 1)
		for what, d := range map[string]*Dataset{
			"plain": d, "split": first, "the rest": second, "shard": d.Shard(1, 3), "random shard": d.RandomShard(1, 2, 3), "window": d.ShuffleWindow(30, 1),
			"skip and take": d.Skip(20).Take(90), "ahead": d.Prefetch(3),
		} {
			checkPlaces(t, name+", "+what, d, paths, false)
		}
	}
	checkPlaces(t, "shuffled", loaded.Shuffle(1).Shard(1, 2), paths, false)
	again, err := first(loaded.Shuffle(1).Split(0.7, 1)).Load(t.Context())
	law.Check(t, err)
	checkPlaces(t, "loaded twice", again, paths, false)
	for name, share := range map[string]bool{"the same files": false, "a file each": true} {
		newCrowd(2).each(func(m member) {
			d := &InMemoryDataset{Format: placedFormat, FileList: paths}
			if share {
				d.FileList = paths[m.index : m.index+1]
			}
			err := d.LoadIntoMemory(t.Context())
			for seed := range uint64(2) { // the second time rows come by other workers
				if err == nil {
					err = d.GlobalShuffle(t.Context(), m, seed)
				}
			}
			if err != nil {
				t.Error(err)
				return
			}
			checkPlaces(t, name, d.Rows(), paths, true)
		})
	}
}

func first(a, _ *Dataset) *Dataset { return a }

// own is a source of a user's.
type own struct{ at bool }

func (own) Columns() []Column          { return []Column{Ints("x")} }
func (o own) Open(int) (Reader, error) { return o, nil }
func (own) Close() error               { return nil }
func (o own) Read(t *Table, _ int) (int, error) {
	if t.Len() >= 3 {
		return 0, io.EOF
	}
	if o.at {
		t.At(fmt.Sprint("file", t.Len()/2), 7)
	}
	return 1, t.Add(func(Row) error { return nil })
}

// TestPlacesOfOtherSources: rows that come from no file have a number, unless a source of one's own says better or nothing.
func TestPlacesOfOtherSources(t *testing.T) {
	places := func(d *Dataset) string {
		table, err := d.Table(context.Background())
		law.Check(t, err)
		var all []string
		for r := range table.Len() {
			all = append(all, table.Place(r))
		}
		return strings.Join(all, ", ")
	}
	type one struct {
		X int `feed:"x"`
	}
	joined, err := NewTable(Ints("x"))
	law.Check(t, err)
	for _, at := range []bool{false, true, true} {
		table, err := New(own{at}).Table(t.Context())
		if err == nil {
			err = joined.Append(table, 2, 0)
		}
		law.Check(t, err)
	}
	for name, c := range map[string]struct {
		d    *Dataset
		want string
	}{
		"columns": {numbers(4).Skip(1), "row 1 of the data, row 2 of the data, row 3 of the data"},
		"structs": {FromStructs([]one{{1}, {2}}).Skip(1), "row 1 of the data"},
		"a sequence": {FromSeq(func(yield func(one, error) bool) {
			for range 2 {
				if !yield(one{}, nil) {
					return
				}
			}
		}), "row 0 of the data, row 1 of the data"},
		"one's own":      {New(own{true}), "file0:7, file0:7, file1:7"},
		"says nothing":   {New(own{}), ", , "},
		"tables, joined": {FromTable(joined), ", , file1:7, file0:7, file1:7, file0:7"},
	} {
		if got := places(c.d); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
