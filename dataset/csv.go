package dataset

import (
	"fmt"
	"math"
	"slices"

	"github.com/gofleet/gofleet/internal/tokens"
)

// CSV is text with fields separated by commas or another separator, one row per line. A field may be quoted; quotes
// inside it are doubled.
//
//	dataset.CSV{NA: "NA", Schema: []dataset.CSVColumn{
//		{Column: dataset.Floats("dense_input", 2), Fields: []string{"distance", "temp"}, Missing: "0"},
//		{Column: dataset.Ints("C", 2), Fields: []string{"carrier", "dest"}, Hash: 1000001},
//		{Column: dataset.Floats("late")},
//	}}
type CSV struct {
	// Comma is the separator; ',' when 0. '\t' makes it TSV.
	Comma byte
	// Quote is the quote character around fields that contain separators; '"' when 0. [NoQuote] makes every quote part
	// of its field.
	Quote byte
	// Comment begins comment lines, also before the header; none when 0.
	Comment byte
	// Trim removes blanks and tabs around fields and around their quotes.
	Trim bool
	// Multiline permits line ends in quoted fields; a row is then named by its first line. By default a quote that
	// isn't closed on its line is an error, so that a stray quote spoils only one line.
	Multiline bool
	// Fields names the fields of a line in order; nil takes the names from the first line of each file.
	Fields []string
	// NA is a text that means a missing value, like an empty field; none when "".
	NA string
	// NAs are more such texts; [UsualNAs] has what other programs write.
	NAs []string
	// Missing is the number for missing values in columns without a Missing of their own. By default a missing value is
	// an error.
	Missing string
	// Derived are fields computed from others: parts of times, buckets of numbers, crosses.
	Derived []Derived
	// Schema maps fields to columns. Fields that it doesn't name are ignored.
	Schema []CSVColumn
}

// NoQuote, as [CSV]'s Quote, disables quoting.
const NoQuote byte = '\n'

// UsualNAs are the texts that mean a missing value to pandas' read_csv.
func UsualNAs() []string { return slices.Clone(tokens.NAs) }

// CSVColumn is a column and the fields that it is read from.
type CSVColumn struct {
	Column
	// Fields has the name of a field for each value of the column; nil is one field with the column's name.
	Fields []string
	// Hash, if not 0, makes text an id: HashID(field, text, Hash). A missing value is hashed as "". At most 2³².
	Hash int64
	// HashNumbers makes Hash treat a text that is a number by its value: 3, 3.0 and 3e0 are one category, hashed as
	// "3". Integers of any size count by all digits, other numbers by their float64. By default the text itself is
	// hashed. Floating point numbers in Parquet have no text, so package
	// dataset/parquet requires HashNumbers to hash them.
	HashNumbers bool
	// Missing is the number for missing values; "" means the format's Missing. In a column of Floats it may be "NaN".
	Missing string
	// Scale scales the numbers of a column of Floats, with one Scaling for all or one for each value of a row; nil
	// means none. The number in Missing is not scaled: with a scaling that standardizes, "0" is the mean.
	Scale []Scaling
	// Separator splits the text of a varying column's field into values, as "|" splits "rock|pop". Blanks around values
	// are removed, and missing values are skipped. A varying column of [CSV] needs a Separator; [JSONLines] and package
	// dataset/parquet accept arrays without one, and use it to split texts.
	Separator string
	// Values, if not nil, lists the permitted texts of a value, whose number is its index: with "no" and "yes", answers
	// become labels 0 and 1. A line with another text is an error.
	Values []string

	texts *numberedTexts // numbers the field's texts, in place of all other options; nil for none
}

func (c CSVColumn) fields() []string {
	if c.Fields == nil {
		return []string{c.Name}
	}
	return c.Fields
}

// Columns returns the columns of Schema.
func (f CSV) Columns() ([]Column, error) {
	if err := f.checkDialect(); err != nil {
		return nil, err
	}
	var columns []Column
	for _, c := range f.Schema {
		if err := c.filled(f.Missing).check(); err != nil {
			return nil, err
		}
		columns = append(columns, c.Column)
	}
	if err := checkDerived(f.Derived, f.Schema); err != nil {
		return nil, err
	}
	if err := f.checkFields(); err != nil {
		return nil, err
	}
	return columns, checkColumns(columns)
}

// checkFields returns an error for names that are not in Fields.
func (f CSV) checkFields() error {
	if f.Fields == nil {
		return nil
	}
	made := newMaker(f.Derived, f.Schema)
	for _, c := range f.Schema {
		for _, name := range c.fields() {
			if _, derived := made.Number(name); !derived && !slices.Contains(f.Fields, name) {
				return fmt.Errorf("%w %q: unknown field %q; want one of %q", ErrColumn, c.Name, name, f.Fields)
			}
		}
	}
	for _, name := range sourcesOf(made) {
		if !slices.Contains(f.Fields, name) {
			return fmt.Errorf("%w Derived: unknown field %q; want one of %q", ErrOption, name, f.Fields)
		}
	}
	return nil
}

// checkDialect returns an error if special characters are ambiguous.
func (f CSV) checkDialect() error {
	d := f.dialect()
	switch {
	case d.comma == '"' && d.quote != NoQuote, d.comma == '\n', d.comma == '\r':
		return fmt.Errorf("%w CSV.Comma is %q: want a character that separates fields", ErrOption, f.Comma)
	case d.quote == d.comma || d.quote == '\r':
		return fmt.Errorf("%w CSV.Quote is %q: want another character than the separator, or NoQuote", ErrOption,
			f.Quote)
	case f.Comment != 0 && (f.Comment == d.comma || f.Comment == d.quote || f.Comment == '\r' || f.Comment == '\n'):
		return fmt.Errorf("%w CSV.Comment is %q: want a character that begins no row", ErrOption, f.Comment)
	}
	return nil
}

// dialect is the way lines are divided into fields.
func (f CSV) dialect() splitter {
	s := splitter{comma: f.Comma, quote: f.Quote, trim: f.Trim}
	if s.comma == 0 {
		s.comma = ','
	}
	if s.quote == 0 {
		s.quote = '"'
	}
	return s
}

// filled returns the column, with the format's Missing if it is a column of numbers without its own.
func (c CSVColumn) filled(missing string) CSVColumn {
	if c.Missing == "" && c.Hash == 0 {
		c.Missing = missing
	}
	return c
}

func (c CSVColumn) check() error {
	if err := c.checkValues(); err != nil {
		return err
	}
	switch n := len(c.fields()); {
	case c.Varying && c.Separator == "":
		return fmt.Errorf("%w %q: a field of CSV has one value: give the varying column the Separator that stands "+
			"between several", ErrColumn, c.Name)
	case c.Varying && n != 1 || !c.Varying && c.Width() != n:
		return fmt.Errorf("%w %q: %d values a row can't come from %d fields", ErrColumn, c.Name, c.Width(), n)
	}
	return nil
}

// checkValues checks everything but the number of fields.
func (c CSVColumn) checkValues() error {
	if err := c.Column.check(); err != nil {
		return err
	}
	if c.Hash < 0 || c.Hash > maxHash || c.Hash > 0 && c.kind() == floatKind {
		return fmt.Errorf("%w %q: Hash is %d; want 1 to %d, since ids are sums of 32 bits, and a column of Ints or IDs",
			ErrColumn, c.Name, c.Hash, int64(maxHash))
	}
	if c.Separator != "" && !c.Varying {
		return fmt.Errorf("%w %q: Separator is %q, and the column is not Varying, which has any number of values",
			ErrColumn, c.Name, c.Separator)
	}
	if err := c.checkTexts(); err != nil {
		return err
	}
	if c.HashNumbers && c.Hash == 0 {
		return fmt.Errorf("%w %q: HashNumbers without Hash, which makes the ids", ErrColumn, c.Name)
	}
	if _, ok := c.filler(); !ok {
		return fmt.Errorf("%w %q: Missing is %q; want %s", ErrColumn, c.Name, c.Missing,
			c.kind().want([]byte(c.Missing)))
	}
	return c.checkScale()
}

// checkTexts checks Values.
func (c CSVColumn) checkTexts() error {
	if c.Values != nil && c.Hash > 0 {
		return fmt.Errorf("%w %q: Values number texts one way, and Hash another: leave one out", ErrColumn, c.Name)
	}
	for i, text := range c.Values {
		if text == "" || slices.Contains(c.Values[:i], text) {
			return fmt.Errorf("%w %q: Values[%d] is %q: want each text once, and none that is empty", ErrColumn, c.Name,
				i, text)
		}
	}
	return nil
}

// filler returns the number for missing values, if there is one.
func (c CSVColumn) filler() (f filler, ok bool) {
	switch text := []byte(c.Missing); {
	case len(text) == 0:
		return filler{}, true
	case c.kind() == intKind:
		f.int, f.there = parseInt(text)
	case c.kind() == idKind:
		f.id, f.there = parseID(text)
	case c.Missing == notANumber:
		f.float, f.there = float32(math.NaN()), true
	default:
		f.float, f.there = parseFloat(text)
	}
	return f, f.there
}

// notANumber is the Missing of numbers that Moments ignores.
const notANumber = "NaN"

// filler is a number in the type of its column.
type filler struct {
	float float32
	int   int64
	id    uint64
	there bool
}
