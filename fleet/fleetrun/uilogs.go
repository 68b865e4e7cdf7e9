package main

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/gofleet/gofleet/internal/ui"
)

// logTails are the logs of roles, read on from where they were read last.
type logTails struct {
	at       map[role]int64
	warnings []ui.Warning // the oldest first
}

// Lines that a page shows, how many of them it has, and how long one is.
var (
	warns  = regexp.MustCompile(`\bWARN\b|"level":"WARN"`)
	errs   = regexp.MustCompile(`\bERROR\b|"level":"ERROR"|^panic: |^fatal error: |^` + attemptLine)
	mostOf = 50
	wide   = 600
)

// read reads what roles have written since the last call, and returns their last warnings.
func (t *logTails) read(dir string, who []role) []ui.Warning {
	if t.at == nil {
		t.at = map[role]int64{}
	}
	order := func(a, b role) int { return strings.Compare(a.String(), b.String()) }
	for _, r := range slices.SortedFunc(slices.Values(who), order) {
		for _, line := range t.lines(logPath(dir, r), r) {
			bad := errs.MatchString(line)
			if bad || warns.MatchString(line) {
				line = line[:min(len(line), wide)]
				t.warnings = append(t.warnings, ui.Warning{Role: r.String(), Text: line, Bad: bad})
			}
		}
	}
	t.warnings = slices.Delete(t.warnings, 0, max(0, len(t.warnings)-mostOf))
	return slices.Clone(t.warnings)
}

// lines are the whole lines of a log that are new, of very many the last.
func (t *logTails) lines(path string, r role) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil // it has none yet
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
