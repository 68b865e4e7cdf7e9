package derived

import (
	"fmt"
	"slices"
	"strconv"
)

// Maker makes fields of one row after the other. It is used by one goroutine.
type Maker struct {
	// Sources are the fields of the file that others are made of.
	Sources []Source
	steps   []step // of each field, in order; those that are not needed are not made
	texts   []text // of steps, and behind them of Sources
}

// Source is a field of the file, and what is made of it: a part of a time that has a layout, a cross, or a bucket.
type Source struct {
	Name   string
	Layout string
	Time   bool
	Cross  bool
}

// text is what a field has in a row.
type text struct {
	bytes   []byte
	missing bool
}

// step makes a field.
type step struct {
	*Field
	needed bool
	from   []int // of texts
	clock  *clock
	made   []byte
}

// NewMaker makes those fields that are asked for by name, and what they are made of; nil if none is. Other names are of
// fields of the file. The fields are as Check wants them.
func NewMaker(fields []Field, asked []string) *Maker {
	m := &Maker{steps: make([]step, len(fields))}
	for i := range fields {
		m.steps[i].Field = &fields[i]
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

// need has a field be made, of fields before it or of the file.
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

// source is the number of a source.
func (m *Maker) source(s Source) int {
	i := slices.Index(m.Sources, s)
	if i < 0 {
		i = len(m.Sources)
		m.Sources = append(m.Sources, s)
	}
	return i
}

// clock is that of all parts of a time.
func (m *Maker) clock(from int, layout string) *clock {
	for _, s := range m.steps {
		if s.clock != nil && s.Layout == layout && s.from[0] == from {
			return s.clock
		}
	}
	return &clock{layout: layout}
}

// Number is the number of a field by its name.
func (m *Maker) Number(name string) (number int, derived bool) {
	if m == nil {
		return 0, false
	}
	number = slices.IndexFunc(m.steps, func(s step) bool { return s.Name == name })
	return number, number >= 0
}

// Set sets what the row has of a source, which is valid until Make returns.
func (m *Maker) Set(source int, bytes []byte, missing bool) {
	m.texts[len(m.steps)+source] = text{bytes, missing}
}

// Text is what the row has of a field, until the next row is made.
func (m *Maker) Text(number int) (bytes []byte, missing bool) {
	return m.texts[number].bytes, m.texts[number].missing
}

// Bad is a text of which nothing can be made.
type Bad struct {
	Field, Want string
	Got         []byte
}

func (b *Bad) Error() string { return fmt.Sprintf("%s: want %s, got %q", b.Field, b.Want, b.Got) }

// Make makes the row's fields of what is set. Of a missing value a field is missing, and a cross where all values are.
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

// between stands between the texts of a cross.
const between = "×"

// cross joins texts; a missing one is "", as Hash has it.
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

// number is the part of a time or the bucket of a number, or says what was wanted.
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
