package observe

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Warning is a line of a role's log. It stands for all lines that differ only in numbers and times, with the text of
// the last.
type Warning struct {
	Role  string    `json:"role"`
	Text  string    `json:"text"`
	Bad   bool      `json:"bad"` // an error, or a crash
	Count int       `json:"count"`
	At    time.Time `json:"at"`
	like  string    // the common part
}

// Warnings keeps the last MostWarnings warnings. Its methods may be called from any goroutine.
type Warnings struct {
	mu  sync.Mutex
	all []Warning // the oldest first
}

// MostWarnings is the number of warnings that are kept, and longestLine the number of bytes of each.
const (
	MostWarnings = 50
	longestLine  = 600
)

// varies matches words with digits, such as times, numbers and file names: lines that differ only in them are alike.
// The name of a process does not vary.
var varies = regexp.MustCompile(`((?:server|worker) \d+\b)|\S*\d\S*`)

// Add appends a warning, and removes an earlier one that it repeats.
func (w *Warnings) Add(role, line string, bad bool, at time.Time) {
	line = strings.ToValidUTF8(line[:min(len(line), longestLine)], "") // the cut may split a letter
	last := Warning{Role: role, Text: line, Bad: bad, Count: 1, At: at, like: varies.ReplaceAllString(line, "$1")}
	w.mu.Lock()
	defer w.mu.Unlock()
	same := func(o Warning) bool { return o.Role == last.Role && o.like == last.like }
	if at := slices.IndexFunc(w.all, same); at >= 0 {
		last.Count += w.all[at].Count
		w.all = slices.Delete(w.all, at, at+1)
	}
	w.all = append(w.all[max(0, len(w.all)-MostWarnings+1):], last)
}

// Last returns the last warnings, the oldest first.
func (w *Warnings) Last() []Warning {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.all)
}
