package ui

import (
	"regexp"
	"slices"
	"sync"
	"time"
)

// Warning is a line of a role's log, of lines that differ in numbers and times alone the last.
type Warning struct {
	Role  string    `json:"role"`
	Text  string    `json:"text"`
	Bad   bool      `json:"bad"` // an error, or a crash
	Count int       `json:"count"`
	At    time.Time `json:"at"`
	like  string    // what they have in common
}

// Warnings are the last of many. Its methods may be called from any goroutine.
type Warnings struct {
	mu  sync.Mutex
	all []Warning // the oldest first
}

// MostWarnings are kept of many, and longestLine bytes of each.
const (
	MostWarnings = 50
	longestLine  = 600
)

// varies are words with digits, such as times, numbers and names of files: lines that differ in them alone are alike.
// Which process is meant stays.
var varies = regexp.MustCompile(`((?:server|worker) \d+\b)|\S*\d\S*`)

// Add puts a warning behind the others, in the place of those that it repeats.
func (w *Warnings) Add(role, line string, bad bool, at time.Time) {
	line = line[:min(len(line), longestLine)]
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

// Last are the last warnings, the oldest first.
func (w *Warnings) Last() []Warning {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.all)
}
