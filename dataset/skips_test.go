package dataset

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

// logged is what work logs.
func logged(t *testing.T, work func()) string {
	t.Helper()
	before := slog.Default()
	defer slog.SetDefault(before)
	var out bytes.Buffer
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
	work()
	return out.String()
}

// TestSkippedLinesAreTold: whoever lets bad lines be passed over is told how many were, and the first of them, in one line of the log and by
// the datasets.
//
// Promise: [G9] bad lines that SkipBad skips are counted and logged
func TestSkippedLinesAreTold(t *testing.T) {
	paths := onDisk(t, "1\nbad\n2\n", "worse\n3\n")
	holds := func(name string, lines int, first *LineError) {
		t.Helper()
		if lines != 2 || first == nil || first.Line != 2 || first.File != paths[0] || first.Got != `"bad"` {
			t.Errorf("%s: %d lines, the first %v", name, lines, first)
		}
	}
	memory := &InMemoryDataset{FileList: paths, Format: xFormat{}, SkipBad: 2}
	ahead := &InMemoryDataset{FileList: paths, Format: xFormat{}, SkipBad: 2} // its own, since the passes below come in any order
	queue := &QueueDataset{FileList: paths, Format: xFormat{}, SkipBad: 2}
	for name, pass := range map[string]func() error{
		"files": func() error {
			_, err := passEnds(New(&Files{Paths: paths, Format: xFormat{}, SkipBad: 2}).Batches(9))
			return err
		},
		"load": func() error {
			_, err := New(&Files{Paths: paths, Format: xFormat{}, SkipBad: 9}).Load(t.Context())
			return err
		},
		"queue": func() error { _, err := passEnds(queue.Batches()); return err },
		"memory": func() error {
			err := memory.LoadIntoMemory(t.Context())
			lines, first := memory.Skipped()
			holds("loaded", lines, first)
			memory.ReleaseMemory()
			if lines, _ := memory.Skipped(); lines != 0 {
				t.Error("skipped after ReleaseMemory")
			}
			return err
		},
		"preload": func() error { return errors.Join(ahead.PreloadIntoMemory(t.Context()), ahead.WaitPreloadDone()) },
		"a global shuffle": func() error {
			return (&InMemoryDataset{FileList: paths, Format: xFormat{}, SkipBad: 2}).GlobalShuffle(t.Context(), workerOf{0, 1}, 1)
		},
	} {
		log := logged(t, func() {
			if err := pass(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
		if strings.Count(log, "\n") != 1 || !strings.Contains(log, "lines=2") || !strings.Contains(log, paths[0]+":2: field x") {
			t.Errorf("%s logs %q", name, log)
		}
	}
	lines, first := ahead.Skipped()
	holds("preloaded", lines, first)
	lines, first = queue.Skipped()
	holds("queue", lines, first)

	told := 0
	quiet := logged(t, func() {
		f := &Files{Paths: paths, Format: xFormat{}, SkipBad: 2, OnBad: func(*LineError) { told++ }}
		if _, err := passEnds(New(f).Batches(1)); err != nil {
			t.Error(err)
		}
		if _, err := passEnds(New(&Files{Paths: onDisk(t, "1\n"), Format: xFormat{}, SkipBad: 2}).Batches(1)); err != nil {
			t.Error(err)
		}
	})
	if quiet != "" || told != 2 {
		t.Errorf("told of %d lines, logs %q", told, quiet)
	}
	for range queue.Batches() {
		break // early, the lines passed over so far count
	}
	if lines, _ := queue.Skipped(); lines > 2 {
		t.Errorf("%d lines", lines)
	}
}
