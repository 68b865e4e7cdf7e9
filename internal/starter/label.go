package starter

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// task is what a model foretells.
type task int

const (
	chance task = iota // of a label that is 0 or 1
	class              // one of several, counted from 0
	amount             // a number
)

// mostClasses is how many classes whole labels have at most.
const mostClasses = 100

// task says what the label asks for, and in how many classes.
func (f *field) task() (task, int, error) {
	switch {
	case f.n == 0 || f.missing > 0:
		return 0, 0, fmt.Errorf("label %q is missing in %d of %d rows: leave these rows out of the file", f.name,
			f.missing,
			f.n+f.missing)
	case f.arrays+f.objects > 0:
		return 0, 0, fmt.Errorf("label %q holds arrays or objects: a label is a number", f.name)
	case f.numbers < f.n:
		return 0, 0, fmt.Errorf("label %q has texts (%s): write 0 and 1 for two of them, or numbers from 0 for more",
			f.name,
			f.examples())
	case len(f.values) < 2:
		return 0, 0, fmt.Errorf("label %q is %s in all rows that were looked at", f.name, f.examples())
	case f.whole == f.n && f.least == 0 && f.most == 1:
		return chance, 2, nil
	case f.whole == f.n && f.least == 0 && f.most < mostClasses && float64(len(f.values)) > f.most/2:
		if f.integers < f.n {
			return 0, 0, fmt.Errorf("label %q has classes that are written with a point (%s): write 2 for 2.0", f.name,
				f.examples())
		}
		return class, int(f.most) + 1, nil
	}
	if f.close() {
		return 0, 0, fmt.Errorf("label %q has numbers closer to each other than float32 tells apart (%s): subtract "+
			"their mean", f.name, f.examples())
	}
	return amount, 0, nil
}

// examples are some values, the commonest first.
func (f *field) examples() string {
	values := slices.SortedFunc(maps.Keys(f.values), func(a, b string) int {
		if n := f.values[b] - f.values[a]; n != 0 {
			return n
		}
		return strings.Compare(a, b)
	})
	return fmt.Sprintf("%q", values[:min(len(values), 3)])
}

// split parts the fields by what they are to the model.
func (p *program) split(label string) error {
	r := p.rows
	if p.label = r.field(label); p.label == nil {
		return fmt.Errorf("no field %q for -label: there are %s", label, r.names())
	}
	for _, f := range r.fields {
		if f == p.label {
			continue
		}
		if f.name == "" {
			p.leaveOut("a field", "has no name, as a table's index")
			continue
		}
		switch k, why := f.kind(); k {
		case number:
			p.numbers = append(p.numbers, f)
		case category:
			p.categories = append(p.categories, f)
		case list:
			p.lists = append(p.lists, f)
		case vector:
			p.vectors = append(p.vectors, f)
		case date:
			layout, _ := f.layout()
			n, c := r.date(f, layout)
			p.numbers, p.categories = append(p.numbers, n...), append(p.categories, c...)
			if len(n)+len(c) == 0 {
				p.leaveOut(f.name, "is a time whose hour, weekday and month are the same in every row")
			}
		default:
			p.leaveOut(f.name, why)
		}
	}
	for _, f := range p.numbers {
		if f.recurs() {
			p.categories = append(p.categories, f)
		}
	}
	if len(p.numbers)+len(p.categories)+len(p.lists)+len(p.vectors) == 0 {
		return errors.New("no field that a model could learn from: " + strings.Join(p.leftOut(), "; "))
	}
	return nil
}

// leaveOut takes note of a field that the model does not see.
func (p *program) leaveOut(name, why string) {
	for i := range p.left {
		if p.left[i].why == why {
			p.left[i].names = append(p.left[i].names, name)
			return
		}
	}
	p.left = append(p.left, omission{why, []string{name}})
}

// omission are fields that are left out for the same reason.
type omission struct {
	why   string
	names []string
}

// leftOut says which fields are left out, and why.
func (p *program) leftOut() (all []string) {
	for _, o := range p.left {
		names, n := o.names[0], len(o.names)
		switch {
		case n > 6:
			names = fmt.Sprintf("each of %d fields (%s, %s … %s)", n, names, o.names[1], o.names[n-1])
		case n > 1:
			names = "each of " + strings.Join(o.names, ", ")
		}
		all = append(all, names+" "+o.why)
	}
	return all
}

func (r *rows) names() string {
	var names []string
	for _, f := range r.fields {
		names = append(names, f.name)
	}
	return strings.Join(names, ", ")
}
