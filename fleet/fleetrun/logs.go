package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofleet/gofleet/internal/checkpoint"
)

// holdLogs takes the directory of the logs until release. A second fleetrun there would replace logs that are still
// written, so that nobody can read them. Those of a job on several machines may share a directory.
func holdLogs(dir string, j *job) (release func(), err error) {
	var held checkpoint.Claims
	lock := filepath.Join(dir, ".job")
	if len(j.here) < len(j.servers)+len(j.workers) {
		return held.Release, nil
	}
	if err := held.Take(context.Background(), lock); errors.Is(err, checkpoint.ErrTaken) {
		return nil, fmt.Errorf("--log_dir=%s has the logs of another fleetrun: %w", dir, err)
	}
	return func() {
		held.Release()
		os.Remove(lock) // unless another fleetrun has it
	}, nil
}

// logPath is the file of a role's output: log/serverlog.0, log/workerlog.1.
func logPath(dir string, r role) string {
	return filepath.Join(dir, fmt.Sprintf("%slog.%d", r.kind, r.rank))
}

// createLog begins a role's log. A process that still writes the old file keeps it.
func createLog(dir string, r role) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("no log directory: %w", err)
	}
	path := logPath(dir, r)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("the old log stays in the way: %w", err)
	}
	return os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND|os.O_TRUNC, 0o666)
}

// attemptLine begins the line in a log after which a restarted role writes.
const attemptLine = "---- fleetrun:"

// openLog is createLog for the first attempt at a job, and continues the log after a line for later ones.
func openLog(dir string, r role, attempt, of int) (*os.File, error) {
	if attempt == 1 {
		return createLog(dir, r)
	}
	return goOnWithLog(dir, r, fmt.Sprintf("attempt %d of %d", attempt, of))
}

// goOnWithLog continues a log after a line with the reason.
func goOnWithLog(dir string, r role, why string) (*os.File, error) {
	f, err := os.OpenFile(logPath(dir, r), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(f, attemptLine+" %s, %s\n", why, time.Now().Format(time.DateTime)); err != nil {
		f.Close()
		return nil, fmt.Errorf("cannot append to the log: %w", err)
	}
	return f, nil
}

// tee writes a stream to the console as it comes and to a log as plain lines. A log that can't be written, for instance
// on a full disk, doesn't end the training: it is reported once.
type tee struct {
	shown  io.Writer
	log    *plainLog
	report func(error)
}

func newTee(shown io.Writer, log *os.File, con *console) *tee {
	return &tee{shown, &plainLog{w: log, now: time.Now},
		func(err error) { con.warn("%v: that log is incomplete", err) }}
}

func (t *tee) Write(b []byte) (int, error) {
	t.shown.Write(b)
	if _, err := t.log.Write(b); err != nil {
		t.broken(err)
	}
	return len(b), nil
}

func (t *tee) Close() {
	if err := t.log.Close(); err != nil {
		t.broken(err)
	}
}

func (t *tee) broken(err error) {
	if t.report != nil {
		t.report(err)
	}
	t.report, t.log.w = nil, io.Discard
}

// Bounds of the output that is printed from a failed role's log.
const (
	tailLines = 20
	tailBytes = 64 << 10
)

// tail returns the last lines of a file; of a log that ends with a stack, those from the panic on, whose cause stands
// first.
func tail(path string) ([]string, error) {
	lines, err := lastOf(path)
	if at, _ := crash(lines); at >= 0 {
		return lines[at:min(at+tailLines, len(lines))], err
	}
	return lines[max(0, len(lines)-tailLines):], err
}

// panicked reports whether the last attempt in a log ends like the log of a Go program that has crashed: with its
// goroutines.
func panicked(path string) bool {
	lines, _ := lastOf(path) // none for a log that can't be read
	_, is := crash(lines)
	return is
}

// crash reports whether the last attempt in a log has a stack, and at which line the reason begins: with Go's own words
// for a panic, or, if the stack is the end of an error, in the paragraph before. It is −1 if it is not known.
func crash(lines []string) (at int, is bool) {
	cause, paragraph := -1, 0
	at = -1
	for i, line := range lines {
		stack := strings.HasPrefix(line, "goroutine ") && strings.HasSuffix(line, "]:")
		switch {
		case strings.HasPrefix(line, attemptLine):
			cause, paragraph, at, is = -1, i+1, -1, false
		case strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: "):
			cause = i
		case stack && cause >= 0:
			at, is = cause, true
		case stack && at < 0:
			at, is = paragraph, true
		case line == "" || strings.HasPrefix(line, "\t") || strings.HasSuffix(line, ")") ||
			strings.HasPrefix(line, "[signal "):
			continue
		case at != cause && !strings.HasPrefix(line, "created by "):
			at, cause = -1, -1 // the program went on
		}
		if line != "" && !stack {
			paragraph = i
		}
	}
	return at, is
}

// lastOf returns the lines at the end of a file, at most tailBytes.
func lastOf(path string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-tailBytes), tailBytes))
	text = bytes.TrimRight(text, "\r\n")
	if err != nil || len(text) == 0 {
		return nil, err
	}
	return strings.Split(string(text), "\n"), nil
}
