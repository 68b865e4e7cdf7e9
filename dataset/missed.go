package dataset

import (
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/gofleet/gofleet/internal/mistyped"
)

// misser is a parser that finds fields by name in each line, and so can't know beforehand that a name is in none.
type misser interface {
	// missed are the fields that no line so far has had, and names that were there and are no fields; any says that a
	// line had some name.
	missed() (fields, others []string, any bool)
}

// missed is what the parsers of a pass have missed.
type missed struct {
	mu      sync.Mutex // guards what follows
	parsers int
	fields  map[string]int // by how many
	others  map[string]bool
}

// add takes note of a parser that has ended. One that is nil, or of another kind, has missed nothing.
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

// warn names the fields that no line of the pass has had: an optional one may be, but a name that is not quite right is
// more likely, and makes every row one with a missing value.
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
