package dataset

import (
	"fmt"
	"slices"
	"sync"
)

// Texts are the different texts of a field, numbered from 0 as they are read: see [WithTexts].
type Texts struct {
	mu      sync.Mutex // guards what follows: several goroutines may read lines
	numbers map[string]int64
	texts   []string
}

// Text is the text of a number that a row has.
func (t *Texts) Text(number int64) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.texts[number]
}

// number is a text's.
func (t *Texts) number(text []byte) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, known := t.numbers[string(text)]
	if !known {
		n = int64(len(t.texts))
		t.numbers[string(text)], t.texts = n, append(t.texts, string(text))
	}
	return n
}

// WithTexts is a [CSV] or [JSONLines] that reads lines alike, with one column of [Ints] more: the number of the text
// that a field of the line has, which the schema need not name. It parts rows by what stands there, such as a carrier
// of which the schema's columns have a hash alone. A field that a JSON object lacks has the text "".
func WithTexts(f Format, field, column string) (Format, *Texts, error) {
	t := &Texts{numbers: map[string]int64{}}
	one := CSVColumn{Column: Ints(column), Fields: []string{field}, texts: t}
	switch f := f.(type) {
	case CSV:
		f.Schema = append(slices.Clone(f.Schema), one)
		_, err := f.Columns()
		return f, t, err
	case JSONLines:
		f.Schema = append(slices.Clone(f.Schema), one)
		_, err := f.Columns()
		return f, t, err
	}
	return nil, nil, fmt.Errorf("%w %T has no fields with names: want a CSV or a JSONLines", ErrFormat, f)
}
