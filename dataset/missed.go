package dataset

import (
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/gofleet/gofleet/internal/mistyped"
)

// misser is a parser that looks up fields by name in each line, and so can't know beforehand that a name never occurs.
type misser interface {
	// missed returns the fields that no line so far has had, and names in lines that are no fields; any reports that a
	// line had some name.
	missed() (fields, others []string, any bool)
}

// missed collects the missing fields of a pass's parsers.
type missed struct {
	mu      sync.Mutex // guards the fields below
	parsers int
	fields  map[string]int // by how many
	others  map[string]bool
}

// add records a parser that has ended. A nil parser, or one that is no misser, has missed nothing.
func (m *missed) add(p Parser) {
	misser, ok := p.(misser)
	if !ok {
		return
	}
	fields, others, any := misser.missed()
	if !any {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.parsers++; m.fields == nil {
		m.fields, m.others = map[string]int{}, map[string]bool{}
	}
	for _, f := range fields {
		m.fields[f]++
	}
	for _, o := range others {
		m.others[o] = true
	}
}

// warn logs the fields that no line of the pass has had: an optional field may be absent, but a misspelt name is more
// likely, and would make every value missing.
func (m *missed) warn(paths []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, field := range slices.Sorted(maps.Keys(m.fields)) {
		if m.fields[field] < m.parsers {
			continue
		}
		args := []any{"field", field, "files", paths}
		if meant := mistyped.Near(field, slices.Sorted(maps.Keys(m.others))); meant != "" {
			args = append(args, "meant", meant)
		}
		slog.Warn("dataset: no line has this field, so that every row has the value for a missing one", args...)
	}
	m.parsers, m.fields = 0, nil
}
