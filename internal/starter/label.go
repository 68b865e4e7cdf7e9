package starter

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// task is what a model predicts.
type task int

const (
	chance task = iota // the probability of a label that is 0 or 1
	class              // one of several classes, counted from 0
	amount             // a number
)

// mostClasses is the most classes of a label of whole numbers.
const mostClasses = 100

// findTask derives the task from the label: the number of classes, and the texts that stand for them.
func (p *program) findTask() error {
	f := p.label
	switch {
	case f.n == 0 || f.missing > 0:
		return fmt.Errorf("label %q is missing in %d of %d rows: leave these rows out of the file", f.name, f.missing,
			f.n+f.missing)
	case f.arrays+f.objects > 0:
		return fmt.Errorf("label %q holds arrays or objects: a label is a number or a text", f.name)
	case f.adorned > 0 && f.numbers+f.adorned == f.n:
		return fmt.Errorf("label %q (%s) %s", f.name, f.texts(), dressedAdvice)
	case f.dates == f.n:
		return fmt.Errorf("label %q is a time (%s): write the number that is asked for, such as the days until then",
			f.name, f.examples())
	case len(f.values) < 2:
		return fmt.Errorf("label %q is %s in all rows that were looked at", f.name, f.examples())
	case f.whole == f.n && f.least == 0 && f.most == 1:
		p.task, p.classes = chance, 2
		return nil
	case f.numbers == 0 && len(f.values) > min(mostClasses, f.n/2):
		return fmt.Errorf("label %q has %d different texts (%s): a model takes a number, or one of at most %d texts, "+
			"each in several rows", f.name, len(f.values), f.examples(), mostClasses)
	case f.numbers == 0 || f.numbers == f.n && len(f.values) == 2 && f.least < f.most:
		p.values, p.classes = f.ordered(), len(f.values)
		if p.task = class; p.classes == 2 {
			p.task = chance
		}
		if !utf8.ValidString(strings.Join(p.values, "")) {
			return fmt.Errorf("label %q has texts that are not UTF-8 (%s): convert the file, by iconv or the program "+
				"that wrote it", f.name, f.texts())
		}
		return nil
	case f.numbers < f.n:
		return fmt.Errorf("label %q has texts among numbers (%s): write all as numbers, or none", f.name,
			f.texts())
	case f.whole == f.n && f.least == 0 && f.most < mostClasses && float64(len(f.values)) > f.most/2:
		if f.integers < f.n {
			return fmt.Errorf("label %q has classes that are written with a point (%s): write 2 for 2.0", f.name,
				f.examples())
		}
		p.task, p.classes = class, int(f.most)+1
		return nil
	case f.close():
		return fmt.Errorf("label %q has numbers closer to each other than float32 tells apart (%s): subtract their "+
			"mean", f.name, f.examples())
	}
	if f.integers == f.n && len(f.values) == f.n && identifier.MatchString(f.name) {
		return fmt.Errorf("label %q is another number in every row, as a row's own is (%s): name the field to foretell",
			f.name, f.examples())
	}
	p.task = amount
	return nil
}

// ordered returns the field's values: numbers by size, texts alphabetically, so that no is before yes.
func (f *field) ordered() []string {
	return slices.SortedFunc(maps.Keys(f.values), func(a, b string) int {
		x, isA := decimal(a)
		y, isB := decimal(b)
		if isA && isB {
			return cmp.Compare(x, y)
		}
		return cmp.Or(strings.Compare(strings.ToLower(a), strings.ToLower(b)), strings.Compare(a, b))
	})
}

// texts are some values that are not numbers.
func (f *field) texts() string {
	some := slices.DeleteFunc(f.ordered(), func(v string) bool { _, is := decimal(v); return is })
	return fmt.Sprintf("%q", some[:min(len(some), 3)])
}

// examples are some values, the most frequent first.
func (f *field) examples() string {
	values := slices.SortedFunc(maps.Keys(f.values), func(a, b string) int {
		if n := f.values[b] - f.values[a]; n != 0 {
			return n
		}
		return strings.Compare(a, b)
	})
	return fmt.Sprintf("%q", values[:min(len(values), 3)])
}

// split divides the fields by their kinds.
func (p *program) split(label string) error {
	r := p.rows
	if p.label = r.field(label); p.label == nil {
		return r.noField(label, "label")
	}
	for i, f := range r.fields {
		if f == p.label {
			continue
		}
		if f.name == "" {
			p.leaveOut(fmt.Sprintf("field %d", i+1), "has no name, as a table's index")
			continue
		}
		f.findCodes(p.label)
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
	if len(p.numbers)+len(p.categories)+len(p.lists)+len(p.vectors) == 0 {
		return errors.New("no field that a model could learn from: " + strings.Join(p.leftOut(), "; "))
	}
	return nil
}

// leaveOut records a field that the model does not use.
func (p *program) leaveOut(name, why string) {
	name = said(name)
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

// leftOut lists the fields that are left out, with the reasons.
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

// noField is the error for a name of no field, with the field that may be meant.
func (r *rows) noField(name, flag string) error {
	for _, f := range r.fields {
		if strings.EqualFold(f.name, strings.TrimSpace(name)) {
			return fmt.Errorf("no field %q for -%s: did you mean %q?", name, flag, f.name)
		}
	}
	return fmt.Errorf("no field %q for -%s; want one of %s%s", name, flag, r.names(), rowAdvice(r.fields[0].name))
}

func (r *rows) names() string {
	var names []string
	for _, f := range r.fields {
		names = append(names, f.name)
	}
	return strings.Join(names, ", ")
}
