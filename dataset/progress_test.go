package dataset

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// slow is a source of rows that take a second each.
type slow struct{ rows int }

func (slow) Columns() []Column          { return []Column{Ints("x")} }
func (s slow) Open(int) (Reader, error) { return &slowReader{s.rows}, nil }

type slowReader struct{ rest int }

func (r *slowReader) Close() error { return nil }
func (r *slowReader) Read(t *Table, _ int) (int, error) {
	if r.rest--; r.rest < 0 {
		return 0, io.EOF
	}
	time.Sleep(time.Second)
	return 1, t.Add(func(Row) error { return nil })
}

// TestLongLoadsAreLogged: a load of more than two seconds says how far it is, now and then and at its end; others, and all where
// FLEET_PROGRESS is off, say nothing.
//
// Promise: [G9] a load that takes more than two seconds is logged
func TestLongLoadsAreLogged(t *testing.T) {
	old := slog.Default()
	defer slog.SetDefault(old)
	for _, c := range []struct {
		rows  int
		env   string
		lines []string
	}{
		{1, "", nil},
		{9, "off", nil},
		{9, "", []string{"loading rows=2 elapsed=2s rows/s=1", "loading rows=7 elapsed=7s rows/s=1", "loaded rows=9 elapsed=9s rows/s=1"}},
		{3, "plain", []string{"loading rows=2 elapsed=2s rows/s=1", "loaded rows=3 elapsed=3s rows/s=1"}},
	} {
		t.Setenv("FLEET_PROGRESS", c.env)
		var out bytes.Buffer
		slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
		synctest.Test(t, func(t *testing.T) {
			if _, err := New(slow{c.rows}).Load(t.Context()); err != nil {
				t.Error(err)
			}
		})
		got := strings.ReplaceAll(out.String(), `"`, "")
		for _, want := range c.lines {
			if !strings.Contains(got, "msg=dataset: "+want+"\n") {
				t.Errorf("%d rows with FLEET_PROGRESS %q: %s lacks %s", c.rows, c.env, got, want)
			}
		}
		if n := strings.Count(got, "\n"); n != len(c.lines) {
			t.Errorf("%d rows with FLEET_PROGRESS %q: %d lines: %s", c.rows, c.env, n, got)
		}
	}
}

// TestLongLoadsNameTheFile: of files it says which of them it reads.
func TestLongLoadsNameTheFile(t *testing.T) {
	for _, threads := range []int{1, 2} {
		r, err := (&Files{Paths: placed(t), Format: placedFormat, Threads: threads}).Open(0)
		if err != nil {
			t.Fatal(err)
		}
		table := newTable([]Column{Ints("x"), Varying(Ints("v"))})
		_, err = r.Read(table, 91)
		if file, files := r.(filer).fileNow(); err != nil || file != 2 || files != 2 {
			t.Errorf("%d goroutines read file %d of %d, %v", threads, file, files, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}
