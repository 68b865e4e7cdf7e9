package dataset

import (
	"fmt"
	"slices"
	"sync"
)

// numberedTexts are the distinct texts of a field, numbered from 0 in the order of reading.
type numberedTexts struct {
	mu      sync.Mutex // guards the fields below: several goroutines may read lines
	numbers map[string]int64
	texts   []string
}

// text returns the text for a number in a row.
func (t *numberedTexts) text(number int64) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.texts[number]
}

// number returns the number of a text.
func (t *numberedTexts) number(text []byte) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, known := t.numbers[string(text)]
	if !known {
		n = int64(len(t.texts))
		t.numbers[string(text)], t.texts = n, append(t.texts, string(text))
	}
	return n
}

// WithTexts returns a [CSV] or [JSONLines] like f with an additional column of [Ints] that numbers the texts of a
// field, a [Derived] one before one of the files; the schema need not name it. Use it to group rows by a field of which
// the schema has only a hash, such as a carrier. A field missing in a JSON object has the text "". textOf returns the
// text for a number in a row.
func WithTexts(f Format, field, column string) (with Format, textOf func(number int64) string, err error) {
	t := &numberedTexts{numbers: map[string]int64{}}
	one := CSVColumn{Column: Ints(column), Fields: []string{field}, texts: t}
	switch f := f.(type) {
	case CSV:
		f.Schema = append(slices.Clone(f.Schema), one)
		_, err := f.Columns()
		return f, t.text, err
	case JSONLines:
		f.Schema = append(slices.Clone(f.Schema), one)
		_, err := f.Columns()
		return f, t.text, err
	}
	return nil, nil, fmt.Errorf("%w %T has no fields with names: want a CSV or a JSONLines", ErrFormat, f)
}
