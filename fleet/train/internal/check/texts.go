package check

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofleet/gofleet/internal/tokens"
)

// Field is a field of the files, with the texts that they have before anything is made of them.
type Field struct {
	Name    string
	Column  string // of Job.Texts, with the number of each row's text
	Text    func(number int64) string
	Missing []string         // texts that mean no value, besides ""
	Feeds   []string         // that have its values; nil if at most parts of it are used
	ID      bool             // a text is an id, by its spelling
	Hash    map[string]int64 // by feed, the number of ids that texts become; none where they are not hashed
	Values  bool             // that of a number by its value
}

// texts are those of a field in some rows.
type texts struct {
	Field
	all, there int    // rows, and those with a value
	known      []text // that are values, in the order of reading
}

type text struct {
	text string
	rows int
}

// readTexts reads the files' texts, and the share of each feed's values that the files lack.
func (r *Report) readTexts(ctx context.Context, j Job) error {
	if len(j.Fields) == 0 {
		return nil
	}
	counts := make([][]int, len(j.Fields))
	for batch, err := range j.Texts.BatchesContext(ctx, atOnce(j.Texts)) {
		if err != nil {
			return err
		}
		for i, f := range j.Fields {
			for _, number := range batch[f.Column].Int64s() {
				counts[i] = append(counts[i], make([]int, max(0, int(number)+1-len(counts[i])))...)
				counts[i][number]++
			}
		}
	}
	there, all := map[string]int{}, map[string]int{} // rows by feed
	for i, f := range j.Fields {
		t := &texts{Field: f}
		for number, rows := range counts[i] {
			t.all += rows
			if is := f.Text(int64(number)); is != "" && !slices.Contains(f.Missing, is) {
				t.there, t.known = t.there+rows, append(t.known, text{is, rows})
			}
		}
		for _, feed := range f.Feeds {
			there[feed], all[feed] = there[feed]+t.there, all[feed]+t.all
		}
		r.texts = append(r.texts, t)
	}
	for i := range r.Feeds {
		f := &r.Feeds[i]
		f.Missing = max(f.Missing, float64(all[f.Name]-there[f.Name])/float64(max(all[f.Name], 1)))
	}
	return nil
}

// fault is what may be wrong with fields, and the remedy.
type fault struct{ what, do string }

var (
	absent = &fault{"no row has a value of %s",
		"look at its name and at what means a missing value, or leave it out"}
	same = &fault{"all rows have one value of %s",
		"is it the right field? It says nothing; a derived one may need other Buckets, or another Part"}
	own = &fault{"nearly every row has an id of its own in %s", "a model knows nothing of the ids of other " +
		"rows: leave it out, or take a number as one, or a text's words, as Varying with a Separator"}
	days = &fault{"the ids of %s are dates", "a model knows nothing of later ones: make Derived fields of it, " +
		"such as its Weekday, its Month or its Seconds"}
	spelt = &fault{"texts that differ in case, blanks or a point alone are other ids in %s",
		"write them alike, or set CSV.Trim against blanks and HashNumbers against points"}
	crowded = &fault{"texts share ids with others, more than a third of them, in %s",
		"a larger Hash, ten times the texts or more, and as large a Height"}
	coded = &fault{"a number looks like the code of a missing one in %s",
		"name it in NAs, and give the column a Missing: as a number it outweighs the others"}
	far = &fault{"a number lies a million deviations from the others of %s", "is it a number? Leave the row out, or " +
		"bound its field (nn.Clip): means and averages are of it alone"}
	moved = &fault{"test rows have numbers further from the others than five deviations, on average, in %s",
		"are they in the same unit, and of rows of the same kind? A model foretells nothing that far out"}
)

// textual checks the files' texts. Fields with the same fault are one finding.
func (r *Report) textual(j Job) {
	names, faulty := map[*fault][]string{}, map[string]bool{}
	for _, t := range r.texts {
		if j.Random && sorted(t.dates()) {
			r.find(fmt.Sprintf("rows come in the order of field %q, and test rows are random ones", t.Name),
				"if the model will be asked about later rows, test on these: Files.Last, or LastBy")
		}
		of, detail := t.fault()
		names[of] = append(names[of], fmt.Sprintf("field %q", t.Name)+detail)
		for _, feed := range t.Feeds {
			faulty[feed] = faulty[feed] || of != nil
		}
	}
	for i := range r.Feeds {
		f := &r.Feeds[i]
		fields := r.collide(f)
		if 3*f.Shared > f.Texts && !faulty[f.Name] {
			names[crowded] = append(names[crowded], fmt.Sprintf("feed %q of %s (%d of %d)", f.Name,
				strings.Join(fields[:min(len(fields), mostNamed)], ", "), f.Shared, f.Texts))
		}
	}
	for _, f := range []*fault{absent, same, own, days, spelt, crowded} {
		r.findIn(f, names[f])
	}
}

// collide counts the texts that are hashed into ids of a feed, and those whose id another text has too, and returns the
// fields that have them.
func (r *Report) collide(f *Feed) (fields []string) {
	ids := map[int64]int{}
	for _, t := range r.texts {
		height := t.Hash[f.Name]
		if height == 0 {
			continue
		}
		fields = append(fields, strconv.Quote(t.Name))
		hash, seen := tokens.NewHasher(t.Name, height), map[string]bool{}
		for _, v := range t.known {
			token := v.text
			if t.Values {
				token = string(tokens.AppendNumber(nil, []byte(token)))
			}
			if !seen[token] {
				seen[token] = true
				ids[hash.ID([]byte(token))]++
				f.Texts++
			}
		}
	}
	for _, n := range ids {
		if n > 1 {
			f.Shared += n
		}
	}
	return fields
}

// mostNamed is the most names in a finding.
const mostNamed = 3

// findIn adds a finding about all that are named, in words that name some of them.
func (r *Report) findIn(f *fault, names []string) {
	more := ""
	if n := len(names) - mostNamed; n > 0 {
		names, more = names[:mostNamed], fmt.Sprintf(" and %d more", n)
	}
	if len(names) > 0 {
		r.find(fmt.Sprintf(f.what, strings.Join(names, ", ")+more), f.do)
	}
}

// found reports whether there is a finding with a remedy.
func (r *Report) found(do string) bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Do == do })
}

// fault is the field's, with a detail; nil if there is none.
func (t *texts) fault() (of *fault, detail string) {
	switch {
	case t.Feeds == nil:
		return nil, ""
	case t.there == 0:
		return absent, ""
	case len(t.known) == 1 && t.there == t.all && t.all > 1:
		return same, ""
	case !t.ID:
		return nil, ""
	case t.all >= enoughRows && 10*len(t.known) > 9*t.there:
		return own, ""
	case t.dates() != nil:
		return days, ""
	}
	return t.spelt()
}

// dates are the times of all values, nil if one is no date.
func (t *texts) dates() (all []time.Time) {
	for _, v := range t.known {
		at, layout := tokens.Date(v.text)
		if layout == "" {
			return nil
		}
		all = append(all, at)
	}
	return all
}

// sorted reports whether dates correlate with the order of reading.
func sorted(dates []time.Time) bool {
	var n, x, y, xx, xy, yy float64
	for i, at := range dates {
		a, b := float64(i), at.Sub(dates[0]).Hours()
		n, x, y, xx, xy, yy = n+1, x+a, y+b, xx+a*a, xy+a*b, yy+b*b
	}
	return n >= enoughRows && math.Abs(n*xy-x*y) > 0.95*math.Sqrt((n*xx-x*x)*(n*yy-y*y))
}

// spelt finds ids that are likely the same, if one row in a hundred has another than the commonest of its kind. It
// sorts the texts.
func (t *texts) spelt() (*fault, string) {
	first, others, example := map[string]string{}, 0, ""
	slices.SortStableFunc(t.known, func(a, b text) int { return b.rows - a.rows })
	for _, v := range t.known {
		kind := strings.ToLower(strings.TrimSpace(v.text))
		if _, err := strconv.ParseFloat(kind, 64); err == nil && strings.Contains(kind, ".") && !t.Values {
			kind = strings.TrimRight(strings.TrimRight(kind, "0"), ".")
		}
		if other, known := first[kind]; known {
			others, example = others+v.rows, fmt.Sprintf(" (%.40q, %.40q)", other, v.text)
		} else {
			first[kind] = v.text
		}
	}
	if others < 2 || 100*others < t.all {
		return nil, ""
	}
	return spelt, example
}
