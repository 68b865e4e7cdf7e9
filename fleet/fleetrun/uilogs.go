package main

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gofleet/gofleet/internal/observe"
)

// logTails are the logs of roles; each is read from where the last read ended.
type logTails struct {
	at       map[role]int64
	warnings observe.Warnings
}

// warns and errs match the lines that a page shows, and stamp the time in one.
var (
	warns = regexp.MustCompile(`\bWARN\b|"level":"WARN"`)
	errs  = regexp.MustCompile(`\bERROR\b|"level":"ERROR"|^panic: |^fatal error: |^` + attemptLine)

	stamp  = regexp.MustCompile(`\d{4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d:\d\d`)
	asTime = strings.NewReplacer("/", "-", "T", " ")
)

// read reads what roles have written since the last call, and returns their last warnings, without repetitions.
func (t *logTails) read(dir string, who []role, now time.Time) []observe.Warning {
	if t.at == nil {
		t.at = map[role]int64{}
	}
	order := func(a, b role) int { return strings.Compare(a.String(), b.String()) }
	for _, r := range slices.SortedFunc(slices.Values(who), order) {
		for _, line := range t.lines(logPath(dir, r), r) {
			bad := errs.MatchString(line)
			if bad || warns.MatchString(line) {
				t.warnings.Add(r.String(), line, bad, written(line, now))
			}
		}
	}
	return t.warnings.Last()
}

// written is the time of a line, or now if it has none. Logs have local times.
func written(line string, now time.Time) time.Time {
	at, err := time.ParseInLocation(time.DateTime, asTime.Replace(stamp.FindString(line)), time.Local)
	if err != nil || at.After(now) {
		return now
	}
	return at
}

// lines are the new whole lines of a log; of very many only the last.
func (t *logTails) lines(path string, r role) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil // there is none yet
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	from := t.at[r]
	if info.Size() < from {
		from = 0
	}
	from = max(from, info.Size()-tailBytes)
	text, _ := io.ReadAll(io.NewSectionReader(f, from, tailBytes))
	end := bytes.LastIndexByte(text, '\n') + 1
	t.at[r] = from + int64(end)
	return strings.FieldsFunc(string(text[:end]), func(c rune) bool { return c == '\n' })
}
