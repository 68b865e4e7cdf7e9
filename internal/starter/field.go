package starter

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// field is what rows hold for a name.
type field struct {
	name            string
	n, missing      int      // values, and rows without one
	numbers, whole  int      // values that are numbers, and of them integers, be they written as 3.0
	integers        int      // values that are written as integers
	dates, words    int      // values that are dates, and words in all
	adorned         int      // values that are numbers with a sign of a currency, or a comma
	arrays, objects int      // of JSON
	lists           *lists   // where rows have several values; nil where they have one
	layouts         []string // by which all values are dates
	plain, logs     moments  // of numbers, and of ln(1+x) of them
	least, most     float64
	values          map[string]int
}

func newField(name string) *field {
	return &field{name: name, least: math.Inf(1), most: math.Inf(-1), values: map[string]int{}}
}

// absent are texts that mean no value, the dataset package's UsualNAs and the empty one.
var absent = []string{"", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
	"<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"}

// decimal is the number that a text is to package dataset, which takes neither 0x1p4 nor 1_000, and has float32 of it.
func decimal(text string) (x float64, is bool) {
	x, err := strconv.ParseFloat(text, 64)
	return x, err == nil && !strings.ContainsAny(text, "_xXpPiInN") && math.Abs(x) <= math.MaxFloat32
}

// see adds a value.
func (f *field) see(text string) {
	if slices.Contains(absent, text) {
		f.missing++
		return
	}
	f.n++
	f.values[text]++
	f.words += len(strings.Fields(text))
	if x, is := decimal(text); is {
		f.numbers++
		if _, err := strconv.ParseInt(text, 10, 64); err == nil {
			f.integers++
		}
		f.plain.add(x)
		f.logs.add(math.Log1p(max(x, 0)))
		f.least, f.most = min(f.least, x), max(f.most, x)
		if x == math.Trunc(x) {
			f.whole++
		}
		return
	}
	if dressed.MatchString(text) {
		f.adorned++
	}
	f.seeDate(text)
}

// dressed is a number with a sign of a currency or of hundredths, thousands parted by commas or blanks, or a comma for
// its point.
var dressed = regexp.MustCompile(`^[-+(]?((\p{Sc}|USD|EUR|GBP) ?)?[-+]?(\d{1,3}([,. \x{a0}']\d{3})+|\d+)([.,]\d+)?` +
	`[ \x{a0}]?(%|\p{Sc}|USD|EUR|GBP)?\)?$`)

// dressedAdvice is what to do about such numbers.
const dressedAdvice = "has numbers with signs or commas: write 1234.5 for $1,234.50, 1.234,5 or 1 234.5"

// seeJSON adds a value of a JSON object.
func (f *field) seeJSON(value json.RawMessage) {
	text, nested := plain(value)
	if !nested {
		f.see(text)
		return
	}
	f.n++
	f.seeArray(value)
}

// plain is the text of a value of JSON; nested says that it is an array or an object, which has none.
func plain(value json.RawMessage) (text string, nested bool) {
	switch {
	case value[0] == '[' || value[0] == '{':
		return "", true
	case string(value) == "true":
		return "1", false
	case string(value) == "false":
		return "0", false
	case value[0] == '"' && json.Unmarshal(value, &text) == nil:
		return text, false
	}
	return string(value), false
}

// kind is what a field is to a model.
type kind int

const (
	number kind = iota
	category
	date
	list
	vector // as many numbers in each row
	useless
)

// few is how many values whole numbers have at most that are categories, such as hours or the ids of shops, and not
// counts.
const few = 50

// kind says what the field is, and why where it is useless.
func (f *field) kind() (kind, string) {
	distinct := len(f.values)
	switch {
	case f.objects > 0:
		return useless, "holds objects, or arrays of arrays"
	case f.lists != nil:
		return f.lists.kind()
	case distinct < 2:
		return useless, "is the same in every row"
	case f.isTime():
		return date, ""
	case f.adorned > 0 && f.numbers+f.adorned == f.n && distinct > few:
		return useless, dressedAdvice
	case f.numbers == f.n && f.whole == f.n && distinct > 20 && float64(distinct) > 0.95*float64(f.n):
		return useless, "is another number in every row, as a row's own is"
	case f.integers == f.n && distinct > few && identifier.MatchString(f.name):
		return category, ""
	case f.numbers == f.n && f.close():
		return useless, "has numbers closer to each other than float32 tells apart: subtract their mean"
	case f.numbers == f.n && (f.whole < f.n || distinct > few || distinct == 2 || distinct > few/3 && f.skewed()):
		return number, ""
	case float64(f.dates) > 0.9*float64(f.n):
		return useless, "is a date, but not in every row, or not always written alike: dataset.Derived makes its " +
			"month or its weekday of one that is"
	case f.unlike():
		return useless, fmt.Sprintf("is another text in nearly every row: %.1f words, for a model of texts",
			float64(f.words)/float64(f.n))
	}
	return category, ""
}

// identifier are names of whole numbers that are no quantities.
var identifier = regexp.MustCompile(`(?i:(^|[ _.-])id)$|[a-z]I[dD]$`)

// recurs says whether the field has whole numbers that come again often enough to learn something of each: the number
// is a category too, as the id of an item or a day of the year.
func (f *field) recurs() bool {
	return f.integers == f.n && len(f.values) > few && f.n >= 5*len(f.values)
}

// unlike says whether nearly every row has another text.
func (f *field) unlike() bool {
	return len(f.values) > few && float64(len(f.values)) > 0.8*float64(f.n)
}

// moments are the mean of numbers, and the sum of their squared distances from it (Welford 1962).
type moments struct{ n, mean, squares float64 }

func (m *moments) add(x float64) {
	m.n++
	d := x - m.mean
	m.mean += d / m.n
	m.squares += d * (x - m.mean)
}

// of are mean and deviation.
func (m moments) of() (mean, deviation float64) { return m.mean, math.Sqrt(m.squares / max(m.n, 1)) }

// close says whether numbers lie closer to each other than float32 tells apart, as times in seconds do.
func (f *field) close() bool {
	mean, deviation := f.plain.of()
	return math.Abs(mean) > 1e6*deviation
}

// skewed says whether few numbers are much larger than the others, as counts and prices are.
func (f *field) skewed() bool {
	mean, _ := f.plain.of()
	return f.least >= 0 && f.most > 20*mean
}
