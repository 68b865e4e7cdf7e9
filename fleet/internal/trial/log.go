package trial

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"sync"
)

// Log is a log of many roles that a test reads.
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

// Logger returns a logger that writes to the log.
func (l *Log) Logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// String returns the whole log.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Lines returns the lines that contain a word.
func (l *Log) Lines(word string) (all []string) {
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, word) {
			all = append(all, line)
		}
	}
	return all
}

// Last returns the last n lines that are warnings or worse.
func (l *Log) Last(n int) string {
	all := slices.DeleteFunc(l.Lines(""), func(line string) bool { return strings.Contains(line, "level=INFO") })
	return strings.TrimSpace(strings.Join(all[max(0, len(all)-n):], ""))
}
