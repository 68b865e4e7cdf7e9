package trial

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
)

// Log is a log that many roles write to and a test reads.
type Log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements [io.Writer].
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// Logger writes to the log.
func (l *Log) Logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// String is all that was written.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Lines are the lines with a word.
func (l *Log) Lines(word string) (all []string) {
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, word) {
			all = append(all, line)
		}
	}
	return all
}
