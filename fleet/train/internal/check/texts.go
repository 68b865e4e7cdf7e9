package check

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/internal/written"
)

// Field is a field of the files, with the texts that they have before anything is made of them.
type Field struct {
	Name    string
	Column  string         // of Job.Texts, with the number of each row's text
	Texts   *dataset.Texts // by number
	Missing []string       // texts that mean no value, besides ""
	Feeds   []string       // that have its values; nil if at most parts of it are used
	ID      bool           // a text is an id, by its spelling
	Values  bool           // that of a number by its value
}

// texts are those of a field in some rows.
type texts struct {
	Field
	all   int    // rows
	known []text // that are values, in the order of reading
}

type text struct {
	text string
	rows int
}

// readTexts reads the files' texts.
func readTexts(ctx context.Context, j Job) (all []*texts, err error) {
	if len(j.Fields) == 0 {
		return nil, nil
	}
	counts := make([][]int, len(j.Fields))
	for batch, err := range j.Texts.BatchesContext(ctx, atOnce(j.Texts)) {
		if err != nil {
			return nil, err
		}
		for i, f := range j.Fields {
			for _, number := range batch[f.Column].Int64s() {
				counts[i] = append(counts[i], make([]int, max(0, int(number)+1-len(counts[i])))...)
				counts[i][number]++
			}
		}
	}
	for i, f := range j.Fields {
		t := &texts{Field: f}
		for number, rows := range counts[i] {
			t.all += rows
			if is := f.Texts.Text(int64(number)); is != "" && !slices.Contains(f.Missing, is) {
				t.known = append(t.known, text{is, rows})
			}
		}
		all = append(all, t)
	}
	return all, nil
}

// there are the rows with a value.
func (t *texts) there() (n int) {
	for _, v := range t.known {
		n += v.rows
	}
	return n
}

// missing is the share of a feed's values that the files lack.
func missing(all []*texts, feed string) float64 {
	lacking, n := 0, 0
	for _, t := range all {
		if slices.Contains(t.Feeds, feed) {
			lacking, n = lacking+t.all-t.there(), n+t.all
		}
	}
	return float64(lacking) / float64(max(n, 1))
}

// textual checks the files' texts. Fields with the same fault are one finding.
func (r *Report) textual(j Job) {
	for _, fault := range []struct {
		of       func(*texts) (detail string, is bool)
		what, do string
		constant bool // a feed may then be the same in every row
	}{
		{(*texts).absent, "no row has a value of field %s", "look at its name and at what means a missing value, or " +
			"leave it out", true},
		{(*texts).same, "all rows have one value of field %s", "is it the right field? It says nothing; a " +
			"derived one may need other Buckets, or another Part", true},
		{(*texts).own, "nearly every row has an id of its own in field %s", "a model knows nothing of the ids of " +
			"other rows: leave it out, or take a number as one, or a text's words, as Varying with a Separator", false},
		{(*texts).days, "the ids of field %s are dates", "a model knows nothing of later ones: make Derived " +
			"fields of it, such as its Weekday, its Month or its Seconds", false},
		{(*texts).spelt, "texts that differ in case, blanks or a point alone are other ids in field %s",
			"write them alike, or set CSV.Trim against blanks and HashNumbers against points", false},
		{(*texts).coded, "a number looks like the code of a missing one in field %s", uncode, false},
	} {
		var names []string
		for _, t := range r.texts {
			if detail, is := fault.of(t); is && t.Feeds != nil {
				names = append(names, fmt.Sprintf("%q", t.Name)+detail)
				if fault.constant {
					r.same = append(r.same, t.Feeds...)
				}
			}
		}
		r.findIn(names, fault.what, fault.do)
	}
	if at := slices.IndexFunc(r.texts, (*texts).ordered); at >= 0 && j.Random {
		r.find(fmt.Sprintf("rows come in the order of field %q, and test rows are random ones", r.texts[at].Name),
			"if the model will be asked about later rows, test on these: Files.Last, or LastBy")
	}
}

// uncode is the remedy for codes.
const uncode = "name it in NAs, and give the column a Missing: as a number it outweighs the others"

// mostNamed is the most names in a finding.
const mostNamed = 3

// findIn adds a finding about all that are named, in words that name some of them.
func (r *Report) findIn(names []string, what, do string) {
	more := ""
	if n := len(names) - mostNamed; n > 0 {
		names, more = names[:mostNamed], fmt.Sprintf(" and %d more", n)
	}
	if len(names) > 0 {
		r.find(fmt.Sprintf(what, strings.Join(names, ", ")+more), do)
	}
}

func (t *texts) absent() (string, bool) { return "", t.known == nil }

func (t *texts) same() (string, bool) {
	return "", len(t.known) == 1 && t.known[0].rows == t.all && t.all > 1
}

// own reports ids most of which are of one row.
func (t *texts) own() (string, bool) {
	alone, there := 0, float64(t.there())
	for _, v := range t.known {
		if v.rows == 1 {
			alone++
		}
	}
	return fmt.Sprintf(" (%s of its rows)", percent(float64(alone)/there)),
		t.ID && t.all >= enoughRows && float64(len(t.known)) > 0.9*there
}

// dates are the times of all values, nil if one is no date.
func (t *texts) dates() (all []time.Time) {
	for _, v := range t.known {
		at, layout := written.Date(v.text)
		if layout == "" {
			return nil
		}
		all = append(all, at)
	}
	return all
}

func (t *texts) days() (string, bool) {
	_, own := t.own()
	return "", t.ID && !own && t.dates() != nil
}

// ordered reports whether dates correlate with the order of reading, as those of a file that is sorted.
func (t *texts) ordered() bool {
	dates := t.dates()
	var n, x, y, xx, xy, yy float64
	for i, at := range dates {
		a, b := float64(i), at.Sub(dates[0]).Hours()
		n, x, y, xx, xy, yy = n+1, x+a, y+b, xx+a*a, xy+a*b, yy+b*b
	}
	return n >= enoughRows && math.Abs(n*xy-x*y) > 0.95*math.Sqrt((n*xx-x*x)*(n*yy-y*y))
}

// spelt reports ids that are likely the same, with an example, if at least one row in a hundred has another than the
// commonest of its kind.
func (t *texts) spelt() (string, bool) {
	kinds := map[string][]text{}
	for _, v := range t.known {
		kind := strings.ToLower(strings.TrimSpace(v.text))
		if _, err := strconv.ParseFloat(kind, 64); err == nil && strings.Contains(kind, ".") && !t.Values {
			kind = strings.TrimRight(strings.TrimRight(kind, "0"), ".")
		}
		kinds[kind] = append(kinds[kind], v)
	}
	others, most, example := 0, 0, ""
	for _, of := range kinds {
		n := -slices.MaxFunc(of, func(a, b text) int { return a.rows - b.rows }).rows
		for _, v := range of {
			n += v.rows
		}
		if others += n; n > most {
			most, example = n, fmt.Sprintf(" (%.40q, %.40q)", of[0].text, of[1].text)
		}
	}
	return example, t.ID && others > 1 && 100*others >= t.all
}

// coded reports a number that stands for missing ones.
func (t *texts) coded() (string, bool) {
	var values []value
	for _, v := range t.known {
		if x, err := strconv.ParseFloat(strings.TrimSpace(v.text), 64); err == nil {
			values = append(values, value{x, v.rows})
		}
	}
	x, share := code(values)
	return fmt.Sprintf(" (%v in %s of rows)", x, percent(share)), !t.ID && share > 0
}
