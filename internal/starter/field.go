package starter

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gofleet/gofleet/internal/tokens"
)

// field is a summary of the values that rows have under a name.
type field struct {
	name            string
	n, missing      int      // values, and rows without a value
	numbers, whole  int      // values that are numbers, and among them integers, also if written as 3.0
	integers        int      // values that are written as integers
	dates, words    int      // values that are dates, and words in all
	adorned         int      // values that are numbers with a currency sign, or a comma
	arrays, objects int      // of JSON
	lists           *lists   // if rows have several values; nil if they have one
	layouts         []string // by which all values are dates
	plain           moments  // of numbers
	least, most     float64
	last            float64
	falls           bool // a number is below the one before
	values          map[string]int
	codes           []string // texts that mean no value, among numbers
}

func newField(name string) *field {
	return &field{name: name, least: math.Inf(1), most: math.Inf(-1), values: map[string]int{}}
}

// absent are texts that mean no value.
var absent = append([]string{""}, tokens.NAs...)

// decimal parses a text as package dataset does: without 0x1p4 and 1_000, and only within the range of float32.
func decimal(text string) (x float64, is bool) {
	x, err := strconv.ParseFloat(text, 64)
	return x, err == nil && !strings.ContainsAny(text, "_xXpPiInN") && math.Abs(x) <= math.MaxFloat32
}

// see adds a value to the summary.
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
		f.falls, f.last = f.falls || f.numbers > 1 && x < f.last, x
		f.least, f.most = min(f.least, x), max(f.most, x)
		if x == math.Trunc(x) {
			f.whole++
		}
		return
	}
	if tokens.Dressed.MatchString(text) {
		f.adorned++
	}
	f.seeDate(text)
}

// dressedAdvice is the advice about numbers with signs or commas.
const dressedAdvice = "has numbers with signs or commas: " + tokens.Undress

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

// plain returns the text of a value of JSON; nested reports an array or an object, which has no text.
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

// kind is the way in which a model uses a field.
type kind int

const (
	number kind = iota
	category
	date
	list
	vector // a list of the same number of numbers in each row
	useless
)

// few is the most different values that hardly come again and still make a category.
const few = 50

// Texts among numbers that mean no number: at most so many different ones, in half of the rows if they are no numbers
// of another kind, such as - and ?, else in one row of so many.
const (
	mostCodes  = 3
	rarelyCode = 200
)

// findCodes finds the texts that mean no value in a field of numbers, except those that the label has.
func (f *field) findCodes(label *field) {
	var codes []string
	n := 0
	for text, rows := range f.values {
		if _, is := decimal(text); is {
			continue
		}
		if label.values[text] > 0 || rows > max(1, f.n/rarelyCode) && strings.ContainsAny(text, "0123456789") {
			return
		}
		codes, n = append(codes, text), n+rows
	}
	if n == 0 || len(codes) > mostCodes || n > f.n/2 || len(f.values)-len(codes) <= few/3 || f.adorned == n {
		return
	}
	slices.Sort(codes)
	for _, text := range codes {
		delete(f.values, text)
	}
	f.codes, f.n, f.missing = codes, f.n-n, f.missing+n
	f.dates, f.adorned = 0, 0
}

// kind returns the field's kind, and the reason if it is useless.
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
	case f.numbers == f.n && f.whole == f.n && distinct > 20 && float64(distinct) > 0.95*float64(f.n) &&
		(!f.falls || float64(f.n) > (f.most-f.least)/5 || identifier.MatchString(f.name)):
		return useless, "is another number in every row, as a row's own is"
	case f.integers == f.n && distinct > few && identifier.MatchString(f.name):
		return category, ""
	case f.numbers == f.n && f.close():
		return useless, "has numbers closer to each other than float32 tells apart: subtract their mean"
	case f.numbers == f.n:
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

// identifier matches names of whole numbers that are no quantities.
var identifier = regexp.MustCompile(`(?i:(^|[ _.-])id)$|[a-z]I[dD]$`)

// unlike reports whether nearly every row has a different text.
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

// of returns the mean and the deviation.
func (m moments) of() (mean, deviation float64) { return m.mean, math.Sqrt(m.squares / max(m.n, 1)) }

// close reports whether numbers lie closer to each other than float32 distinguishes, such as times in seconds.
func (f *field) close() bool {
	mean, deviation := f.plain.of()
	return math.Abs(mean) > 1e6*deviation
}

// scale is how a number is scaled to around 0.
type scale struct {
	log             bool
	mean, deviation float64
}

// mostDeviations is how far from 0 a scaled number counts.
const mostDeviations = 4

// of returns the number as the net sees it.
func (s scale) of(x float64) float64 {
	if s.log {
		x = math.Log1p(max(x, 0))
	}
	return max(-mostDeviations, min((x-s.mean)/s.deviation, mostDeviations))
}

// scale is how the net sees the field.
func (f *field) scale() scale { return f.scaled(f.skewed()) }

// scaled is a scale by mean and deviation, of logarithms or not. Numbers further out than twenty times the middle half
// of them is wide are left out: one cell in another unit would make all others the same.
func (f *field) scaled(log bool) scale {
	var all []float64
	for text, rows := range f.values {
		if x, is := decimal(text); is {
			all = append(all, slices.Repeat([]float64{x}, rows)...)
		}
	}
	slices.Sort(all)
	low, high := all[len(all)/4], all[len(all)*3/4]
	least, most := low-20*(high-low), high+20*(high-low)
	var plain, logs moments
	for _, x := range all {
		if low == high || least <= x && x <= most {
			plain.add(x)
			logs.add(math.Log1p(max(x, 0)))
		}
	}
	s := scale{log: log}
	if s.mean, s.deviation = plain.of(); log {
		s.mean, s.deviation = logs.of()
	}
	return s
}

// skewed reports whether a few numbers are much larger than the others, such as counts and prices.
func (f *field) skewed() bool {
	mean, _ := f.plain.of()
	return f.least >= 0 && f.most > 20*mean
}
