package starter

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// lists is a summary of a field with several values in a row.
type lists struct {
	separator         string // between the values of a text; "" for arrays of JSON
	of                *field // all values
	shortest, longest int    // the number of values in a row
	repeated          int    // values that occurred earlier in their row
	begins, ends      bool   // a 0 stands before the other values of a row, and behind them
}

// add adds a row's values.
func (l *lists) add(values []string) {
	if l.of.n+l.of.missing == 0 {
		l.shortest = len(values)
	}
	l.shortest, l.longest = min(l.shortest, len(values)), max(l.longest, len(values))
	seen := map[string]bool{}
	for i, v := range values {
		if l.of.see(v); seen[v] {
			l.repeated++
		}
		seen[v] = true
		if i > 0 && v != "0" && values[i-1] == "0" {
			l.begins = true
		}
		if i > 0 && v == "0" && values[i-1] != "0" {
			l.ends = true
		}
	}
}

// seeArray adds an array of JSON to the summary.
func (f *field) seeArray(array json.RawMessage) {
	var values []json.RawMessage
	if json.Unmarshal(array, &values) != nil {
		f.objects++
		return
	}
	texts := make([]string, len(values))
	for i, v := range values {
		var nested bool
		if texts[i], nested = plain(v); nested {
			f.objects++
			return
		}
	}
	f.arrays++
	f.part("").add(texts)
}

// part makes the field one of lists.
func (f *field) part(separator string) *lists {
	if f.lists == nil {
		f.lists = &lists{separator: separator, of: newField(f.name)}
	}
	return f.lists
}

// partTexts makes the field one of lists: its texts, divided at the separator; with "" each text is one value.
func (f *field) partTexts(separator string) {
	l := f.part(separator)
	for _, text := range slices.Sorted(maps.Keys(f.values)) {
		values := []string{text}
		if separator != "" {
			values = strings.Split(text, separator)
		}
		for i := range values {
			values[i] = strings.Trim(values[i], " \t")
		}
		for range f.values[text] {
			l.add(slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == "" }))
		}
	}
}

// separators are the characters that may separate the values of a text.
var separators = []string{"|", ";", ","}

// parted returns the separator in most of a field's texts: a blank if nearly all texts differ and have several words,
// and "" if each text is one value.
func (f *field) parted() string {
	if f.isTime() || f.numbers+f.adorned == f.n {
		return ""
	}
	for _, s := range separators {
		parted := 0
		for text, n := range f.values {
			if strings.Contains(text, s) {
				parted += n
			}
		}
		if 2*parted > f.n {
			return s
		}
	}
	if f.unlike() && f.words >= 2*f.n {
		return " "
	}
	return ""
}

// findLists finds the fields of lists, except the label; chosen has the separators given for fields, "" for a field
// without lists.
func (r *rows) findLists(chosen map[string]string, label string) error {
	for name := range chosen {
		switch f := r.field(name); {
		case f == nil:
			return r.noField(name, "list")
		case name == label:
			return fmt.Errorf("field %q is the label, and -list says that it has several values: a label is one", name)
		case f.arrays > 0:
			return fmt.Errorf("field %q holds arrays of JSON, which -list says nothing of: leave it out", name)
		}
	}
	for _, f := range r.fields {
		if f.name == label {
			continue
		}
		separator, is := chosen[f.name]
		if !is && f.arrays == 0 {
			separator = f.parted()
		}
		if separator != "" || f.arrays > 0 && f.arrays < f.n {
			f.partTexts(separator)
		}
	}
	return nil
}

// kind returns the kind of the lists, and the reason if they are useless.
func (l *lists) kind() (kind, string) {
	v := l.of
	numbers := v.n > 0 && v.numbers == v.n
	switch {
	case len(v.values) < 2:
		return useless, "has the same value in all lists"
	case numbers && (v.whole < v.n || l.repeated > v.n/2 && l.padding() == "") && l.separator == "":
		if l.shortest < l.longest {
			return useless, fmt.Sprintf("has arrays of numbers, of %d to %d: write as many in each row, or what "+
				"matters of them", l.shortest, l.longest)
		}
		return vector, ""
	case numbers && v.whole < v.n:
		return useless, fmt.Sprintf("has several numbers in a text, parted by %q: write each as a field of its own",
			l.separator)
	}
	return list, ""
}

// ids reports whether the values are whole numbers from 0, which serve as ids unchanged.
func (l *lists) ids() bool { return l.of.integers == l.of.n && l.of.least >= 0 }

// padding is the id that fills arrays to the same length, "" if there is none: 0, at their ends or at their beginnings.
func (l *lists) padding() string {
	if l.ids() && l.longest > 1 && l.shortest == l.longest && l.begins != l.ends {
		return "0"
	}
	return ""
}

// is names what the lists hold.
func (l *lists) is() string {
	what := "texts"
	if l.ids() {
		what = "ids"
	}
	if l.separator == "" {
		return "is arrays of " + what
	}
	return fmt.Sprintf("is %s parted by %q", what, l.separator)
}
