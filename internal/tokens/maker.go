package tokens

import (
	"fmt"
	"slices"
	"strconv"
)

// Maker computes the derived fields of one row after the other. It is used by one goroutine.
type Maker struct {
	// Sources lists the fields of the file from which others are derived.
	Sources []Source
	steps   []step // one for each field, in order; those that are not needed are not computed
	texts   []text // of steps, then of Sources
}

// Source is a field of the file, and its use: a part of a time with a layout, a cross, or a bucket.
type Source struct {
	Name   string
	Layout string
	Time   bool
	Cross  bool
}

// text is a field's value in a row.
type text struct {
	bytes   []byte
	missing bool
}

// step computes a field.
type step struct {
	*Derived
	needed bool
	from   []int // of texts
	clock  *clock
	made   []byte
}

// NewMaker returns a maker of the asked fields and of those that they are derived from; nil if none of the names is a
// derived field. Other names are fields of the file. Check must accept fields.
func NewMaker(fields []Derived, asked []string) *Maker {
	m := &Maker{steps: make([]step, len(fields))}
	for i := range fields {
		m.steps[i].Derived = &fields[i]
	}
	for _, name := range asked {
		if i, derived := m.Number(name); derived {
			m.need(i)
		}
	}
	if len(m.Sources) == 0 {
		return nil
	}
	m.texts = make([]text, len(fields)+len(m.Sources))
	return m
}

// need marks a field as needed, and its sources.
func (m *Maker) need(i int) {
	s := &m.steps[i]
	if s.needed {
		return
	}
	s.needed = true
	for _, name := range s.From {
		from := slices.IndexFunc(m.steps[:i], func(s step) bool { return s.Name == name })
		if from < 0 {
			from = len(m.steps) + m.source(Source{name, s.Layout, s.Part != "", s.crosses()})
		} else {
			m.need(from)
		}
		s.from = append(s.from, from)
	}
	if s.Part != "" {
		s.clock = m.clock(s.from[0], s.Layout)
	}
}

// source returns the index of a source.
func (m *Maker) source(s Source) int {
	i := slices.Index(m.Sources, s)
	if i < 0 {
		i = len(m.Sources)
		m.Sources = append(m.Sources, s)
	}
	return i
}

// clock returns the clock shared by all parts of a time.
func (m *Maker) clock(from int, layout string) *clock {
	for _, s := range m.steps {
		if s.clock != nil && s.Layout == layout && s.from[0] == from {
			return s.clock
		}
	}
	return &clock{layout: layout}
}

// Number returns the index of a derived field by its name.
func (m *Maker) Number(name string) (number int, derived bool) {
	if m == nil {
		return 0, false
	}
	number = slices.IndexFunc(m.steps, func(s step) bool { return s.Name == name })
	return number, number >= 0
}

// Set sets the row's value of a source, which must stay valid until Make returns.
func (m *Maker) Set(source int, bytes []byte, missing bool) {
	m.texts[len(m.steps)+source] = text{bytes, missing}
}

// Text returns the row's value of a field, valid until the next row.
func (m *Maker) Text(number int) (bytes []byte, missing bool) {
	return m.texts[number].bytes, m.texts[number].missing
}

// Bad is the error of a value from which a field can't be derived.
type Bad struct {
	Field, Want string
	Got         []byte
}

func (b *Bad) Error() string { return fmt.Sprintf("%s: want %s, got %q", b.Field, b.Want, b.Got) }

// Make computes the row's fields from the values set. A field of a missing value is missing; a cross is missing if all
// its values are.
func (m *Maker) Make() *Bad {
	for i := range m.steps {
		s := &m.steps[i]
		if !s.needed {
			continue
		}
		s.made = s.made[:0]
		missing := !slices.ContainsFunc(s.from, func(from int) bool { return !m.texts[from].missing })
		switch {
		case missing:
		case s.crosses():
			s.cross(m.texts)
		default:
			x, want := s.number(m.texts[s.from[0]].bytes)
			if want != "" {
				return &Bad{s.From[0], fmt.Sprintf("%s, to make %q of it", want, s.Name), m.texts[s.from[0]].bytes}
			}
			s.made = strconv.AppendInt(s.made, x, 10)
		}
		m.texts[i] = text{s.made, missing}
	}
	return nil
}

// between separates the values of a cross.
const between = "×"

// cross joins values; a missing one is "", as for Hash.
func (s *step) cross(texts []text) {
	for i, from := range s.from {
		if i > 0 {
			s.made = append(s.made, between...)
		}
		if !texts[from].missing {
			s.made = append(s.made, texts[from].bytes...)
		}
	}
}

// number returns the part of a time or the bucket of a number; if the value is not valid, want describes a valid one.
func (s *step) number(of []byte) (x int64, want string) {
	if s.Part == "" {
		x, ok := s.bucket(of)
		if !ok {
			want = "a number"
		}
		return x, want
	}
	t, ok := s.clock.read(of)
	if !ok {
		return 0, example(s.Layout)
	}
	return parts[s.Part](t), ""
}
