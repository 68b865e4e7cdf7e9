package starter

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gofleet/gofleet/internal/tokens"
	"github.com/gofleet/gofleet/internal/unpack"
)

// sampled is the least number of rows that are examined, of a file with that many; kept is the number of lines that are
// kept for the search for crosses, fewer if they are long.
const (
	sampled   = 20_000
	kept      = 100_000
	keptBytes = 128 << 20
)

// rows is a summary of some rows of a file.
type rows struct {
	json   bool
	comma  rune
	trim   bool     // blanks stand around fields
	fields []*field // in the order of the file
	count  int      // that were examined
	total  int      // of the file
	lines  []string // of rows, spread over the whole file

	derived []tokens.Derived // derived from times
	when    string           // the seconds of the first of these times, if there is one
	whose   string           // the field from which they are derived
	daily   bool             // they are those of a day, and none is derived
}

// readRows reads rows from the whole file: JSON lines if the first begins with a brace, else CSV.
func readRows(path string) (*rows, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.IsDir() {
		return nil, fmt.Errorf("%s is a directory: name one of its files", path)
	}
	in, err := unpack.Open(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	lines, total, err := sample(bufio.NewReaderSize(in, 1<<16))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(lines) > 0 {
		lines[0] = strings.TrimPrefix(lines[0], "\ufeff")
	}
	if err := enough(lines); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r := &rows{json: strings.HasPrefix(strings.TrimSpace(lines[0]), "{"), total: total, lines: lines}
	if r.json {
		err = r.readJSON()
	} else {
		r.comma, r.lines = separator(lines[0]), lines[1:]
		err = r.readCSV(lines[0])
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// match returns an error if a file of rows to test on lacks a field.
func (r *rows) match(test string) error {
	if test == "" {
		return nil
	}
	other, err := readRows(test)
	if err != nil {
		return err
	}
	for _, f := range r.fields {
		if other.field(f.name) == nil {
			return fmt.Errorf("%s has no field %q, which the rows to train on have; it has %s", test, f.name,
				other.names())
		}
	}
	if other.json != r.json || other.comma != r.comma {
		return fmt.Errorf("%s is written in another way than the rows to train on: as JSON, or with another separator",
			test)
	}
	return nil
}

// enough returns an error if the lines are too few.
func enough(lines []string) error {
	switch {
	case len(lines) == 0:
		return errors.New("the file is empty")
	case strings.HasPrefix(strings.TrimSpace(lines[0]), "["):
		return errors.New("it is an array of JSON: write each object on a line of its own, as jq -c '.[]' does")
	case strings.Contains(lines[0], "\r"):
		return errors.New(`its lines end with \r alone: write \n, as tr '\r' '\n' does`)
	case len(lines) < 11:
		return fmt.Errorf("%d lines, of which the first of CSV has the names, are too few to tell what the fields "+
			"are: ten rows are the least, and hundreds better", len(lines))
	}
	return nil
}

// sample returns the first line and lines spread over the rest, and the number of all lines. It returns [kept] to twice
// as many lines, if there are so many, or at least [sampled] if they are long. It first takes every line, and drops
// every second one whenever there are too many.
func sample(in *bufio.Reader) (lines []string, total int, err error) {
	for stride, bytes := 1, 0; ; total++ {
		line, err := in.ReadString('\n')
		if text := strings.TrimRight(line, "\r\n"); text != "" && total%stride == 0 {
			lines, bytes = append(lines, text), bytes+len(text)
		}
		if err == io.EOF {
			return lines, total, nil
		}
		if err != nil {
			return nil, 0, err
		}
		if len(lines) > 2*kept || len(lines) > 2*sampled && bytes > keptBytes {
			some := lines[:1]
			for k := 2; k < len(lines); k += 2 {
				some = append(some, lines[k])
			}
			clear(lines[len(some):])
			lines, stride, bytes = some, 2*stride, bytes/2
		}
	}
}

// looked returns the lines that are examined: [sampled] to twice as many, if there are so many.
func (r *rows) looked() iter.Seq[string] {
	stride := max(1, len(r.lines)/sampled)
	return func(yield func(string) bool) {
		for i := 0; i < len(r.lines) && yield(r.lines[i]); i += stride {
		}
	}
}

// separator is the most frequent separator in a file's first line.
func separator(line string) rune {
	most := ','
	for _, c := range ";\t|" {
		if strings.Count(line, string(c)) > strings.Count(line, string(most)) {
			most = c
		}
	}
	return most
}

// cells returns a line's fields.
func (r *rows) cells(line string) ([]string, error) {
	c := csv.NewReader(strings.NewReader(line))
	c.Comma, c.LazyQuotes, c.TrimLeadingSpace = r.comma, true, r.trim
	texts, err := c.Read()
	for i := range texts {
		if r.trim {
			texts[i] = strings.TrimRight(texts[i], " \t")
		}
	}
	return texts, err
}

func (r *rows) readCSV(first string) error {
	names, err := r.cells(first)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(names, func(n string) bool { return n != strings.TrimSpace(n) }) {
		r.trim = true
		if names, err = r.cells(first); err != nil {
			return err
		}
	}
	for i, name := range names {
		if !utf8.ValidString(name) {
			return fmt.Errorf("the name of field %d, %q, is not UTF-8: convert the file, by iconv or the program that "+
				"wrote it", i+1, name)
		}
		if r.field(name) != nil && name != "" {
			return fmt.Errorf("the first line names two fields %q, of which field %d is the second: rename one%s", name,
				i+1, rowAdvice(name))
		}
		r.fields = append(r.fields, newField(name))
	}
	bad := 0
	for line := range r.looked() {
		texts, err := r.cells(line)
		if err != nil || len(texts) != len(names) {
			bad++
			continue
		}
		for i, text := range texts {
			r.fields[i].see(text)
		}
		r.count++
	}
	if bad > (bad+r.count)/100 {
		return fmt.Errorf("%d of %d lines have another number of fields than the first: is this CSV, with the names "+
			"of its fields in the first line, and a row a line, also where a text in quotes has several?", bad,
			bad+r.count)
	}
	return nil
}

// rowAdvice is the advice if a name in the first line is a number.
func rowAdvice(name string) string {
	if _, is := decimal(name); is {
		return ", or, if it is a row, write a line with the names above it"
	}
	return ""
}

func (r *rows) readJSON() error {
	for line := range r.looked() {
		var row map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			return fmt.Errorf("row %d that was looked at: %w", r.count+1, err)
		}
		for _, name := range slices.Sorted(maps.Keys(row)) {
			f := r.field(name)
			if f == nil {
				f = newField(name)
				f.missing = r.count
				r.fields = append(r.fields, f)
			}
			f.seeJSON(row[name])
		}
		for _, f := range r.fields {
			if _, there := row[f.name]; !there {
				f.missing++
			}
		}
		r.count++
	}
	return nil
}

// columns returns columns of some fields, the file's own or derived ones, with at most most rows from the whole file.
// Rows that can't be read are left out.
func (r *rows) columns(fields []*field, most int) (columns []*column) {
	var names []string
	for _, f := range fields {
		names = append(names, f.name)
		columns = append(columns, &column{field: f, places: map[string]int32{}, copies: float64(r.total)})
	}
	m, stride, read := tokens.NewMaker(r.derived, names), 1+len(r.lines)/most, 0
	for i := 0; i < len(r.lines); i += stride {
		row, err := r.row(r.lines[i])
		if m != nil {
			for k, s := range m.Sources {
				m.Set(k, []byte(row[s.Name]), row[s.Name] == "")
			}
		}
		if err != nil || m != nil && m.Make() != nil {
			continue
		}
		read++
		for k, name := range names {
			text := row[name]
			if n, is := m.Number(name); is {
				made, _ := m.Text(n)
				text = string(made)
			}
			columns[k].add(text)
		}
	}
	for _, c := range columns {
		c.copies /= float64(read)
	}
	return columns
}

// row returns a line's values of the file's fields, without the absent ones.
func (r *rows) row(line string) (map[string]string, error) {
	row, values := map[string]string{}, map[string]json.RawMessage(nil)
	if r.json {
		err := json.Unmarshal([]byte(line), &values)
		for name, value := range values {
			row[name], _ = plain(value)
		}
		return row, err
	}
	texts, err := r.cells(line)
	for k := range min(len(texts), len(r.fields)) {
		row[r.fields[k].name] = texts[k]
	}
	return row, err
}

// field returns the field of a name, nil if there is none.
func (r *rows) field(name string) *field {
	for _, f := range r.fields {
		if f.name == name {
			return f
		}
	}
	return nil
}
