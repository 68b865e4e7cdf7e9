package starter

import (
	"maps"
	"regexp"
	"slices"

	"github.com/gofleet/gofleet/internal/tokens"
)

// seeDate counts a value that is not a number as a date if it fits one of the layouts that all values before it fit.
func (f *field) seeDate(text string) {
	if _, layout := tokens.Date(text); layout != "" {
		f.dates++
	}
	if f.layouts == nil {
		f.layouts = slices.Clone(tokens.Layouts)
	}
	f.layouts = slices.DeleteFunc(f.layouts, func(layout string) bool { return !tokens.IsDate(text, layout) })
}

// named matches names of fields whose numbers are times.
var named = regexp.MustCompile(`(?i)(time|date|stamp|_at$|^at$|^ts$|_ts$)`)

// layout returns the form of all values if they are times: dates by one layout, or whole numbers of seconds or
// milliseconds from 1973 to 2100 in a field with a name of times.
func (f *field) layout() (layout string, times bool) {
	within := func(unit float64) bool { return f.least >= 1e8*unit && f.most <= 4.1e9*unit }
	switch {
	case f.n > 0 && f.dates == f.n && len(f.layouts) > 0:
		return f.layouts[0], true
	case f.n == 0 || f.integers < f.n || !named.MatchString(f.name):
		return "", false
	case within(1):
		return "", true
	}
	return "ms", within(1000)
}

func (f *field) isTime() bool { _, times := f.layout(); return times }

// parts are the inputs that are derived from a time, if they vary: the hour, the weekday and the month as categories,
// and the minute of the day and the day of the year as numbers.
var parts = []struct {
	part   tokens.Part
	is     string // its name in package dataset
	number bool
}{{"hour", "Hour", false}, {"weekday", "Weekday", false}, {"month", "Month", false}, {"minute", "Minute", true},
	{"year_day", "YearDay", true}}

// date derives fields from a time: numbers and categories.
func (r *rows) date(f *field, layout string) (numbers, categories []*field) {
	var fields []tokens.Derived
	var asked []string
	for _, p := range parts {
		name := r.free(f.name + " " + string(p.part))
		fields = append(fields, tokens.Derived{Name: name, From: []string{f.name}, Part: p.part, Layout: layout})
		asked = append(asked, name)
	}
	m, made := tokens.NewMaker(fields, asked), make([]*field, len(parts))
	for i := range made {
		made[i] = newField(fields[i].Name)
		made[i].missing = f.missing
	}
	for _, text := range slices.Sorted(maps.Keys(f.values)) {
		m.Set(0, []byte(text), false)
		if m.Make() != nil {
			continue
		}
		for i := range made {
			value, _ := m.Text(i)
			for range f.values[text] {
				made[i].see(string(value))
			}
		}
	}
	for i, p := range parts {
		n := len(made[i].values)
		switch {
		case n < 2 || p.part == "minute" && n <= 24 || p.part == "year_day" && n <= 20: // others say the same
			continue
		case p.number:
			numbers = append(numbers, made[i])
		default:
			categories = append(categories, made[i])
		}
		r.derived = append(r.derived, fields[i])
	}
	if r.when == "" && !r.daily {
		r.whose, r.when = f.name, r.free("when")
		r.derived = append(r.derived, tokens.Derived{Name: r.when, From: fields[0].From, Part: "seconds",
			Layout: layout})
	}
	return numbers, categories
}

// free returns a name that no field of the file has.
func (r *rows) free(name string) string {
	for r.field(name) != nil {
		name += "_"
	}
	return name
}

// constant is the name of a part's constant in package dataset.
func constant(part tokens.Part) string {
	for _, p := range parts {
		if p.part == part {
			return p.is
		}
	}
	return "Seconds"
}
