package dataset

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// scaledColumns are columns of fields a, b and xs with every kind of scaling.
func scaledColumns() []CSVColumn {
	return []CSVColumn{
		{Column: Floats("ab", 2), Fields: []string{"a", "b"}, Missing: "-7", Scale: []Scaling{{Mean: 2, Std: 4}, {Log1p: true, Mean: 1}}},
		{Column: Floats("ba", 2), Fields: []string{"b", "a"}, Missing: "NaN", Scale: []Scaling{{Std: .5}}},
	}
}

// TestScale: a number is what its scaling makes of it in float64, in CSV and in JSON lines; a missing one is what Missing says.
func TestScale(t *testing.T) {
	log1p := func(x float64) float32 { return float32(math.Log1p(x) - 1) }
	nan := float32(math.NaN())
	want := map[string][]float32{
		"ab": {-.25, log1p(3), 24.5, -7, -7, log1p(0)},
		"ba": {6, 2, nan, 200, -8, nan},
		"xs": {10, 20, 30},
	}
	varying := CSVColumn{Column: Varying(Floats("xs")), Scale: []Scaling{{Std: .1}}}
	for text, format := range map[string]Format{
		"a,b\n1,3\n100,\n,-4\n": CSV{Schema: scaledColumns()},
		`{"a":1,"b":"3","xs":[1,null,[2]]}` + "\n" + `{"a":100,"b":null}` + "\n" + `{"b":-4,"xs":3}`: JSONLines{Schema: append(scaledColumns(), varying)},
	} {
		table, err := FromReader(strings.NewReader(text), "text", format).Table(t.Context())
		law.Check(t, err)
		for c, column := range table.Columns() {
			if !slices.EqualFunc(table.Floats(c), want[column.Name], func(a, b float32) bool { return a == b || a != a && b != b }) {
				t.Errorf("%T: %s is %v, want %v", format, column.Name, table.Floats(c), want[column.Name])
			}
		}
	}
}

// TestWrongScale: a scaling that is none, or is where none can be, is refused with the column and what to do.
func TestWrongScale(t *testing.T) {
	for want, c := range map[string]CSVColumn{
		`column "x": Scale is for a column of Floats, and this one holds int64`:        {Column: Ints("x"), Scale: []Scaling{{}}},
		`column "x": Scale is for a column of Floats, and this one holds uint64`:       {Column: IDs("x"), Hash: 5, Scale: []Scaling{{}}},
		`column "x": Scale has 3 scalings: want one for all, or 2, one for each value`: {Column: Floats("x", 2), Scale: make([]Scaling, 3)},
		`column "x": Scale has 2 scalings: want one`:                                   {Column: Varying(Floats("x")), Scale: make([]Scaling, 2)},
		`column "x": Scale[1]: Std is -1: want a finite number above 0`:                {Column: Floats("x", 2), Scale: []Scaling{{}, {Std: -1}}},
		`column "x": Scale[0]: Std is NaN`:                                             {Column: Floats("x", 2), Scale: []Scaling{{Std: math.NaN()}}},
		`column "x": Scale[0]: Mean is +Inf: want a finite number`:                     {Column: Floats("x", 2), Scale: []Scaling{{Mean: math.Inf(1)}}},
		`column "x": Missing is "NaN"; want an integer`:                                {Column: Ints("x"), Missing: "NaN"},
		`column "x": Missing is "nan"; want a number`:                                  {Column: Floats("x", 2), Missing: "nan"},
	} {
		_, err := JSONLines{Schema: []CSVColumn{c}}.Columns()
		wantMessage(t, want, err, ErrColumn, want)
	}
}

// TestStandardize: rows that are read with the scale that their moments give are of mean 0 and deviation 1, whatever the scale was that the
// moments were taken with, and a field that never changes is 0.
func TestStandardize(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	for range 500 {
		text.WriteString(strings.Join([]string{fmt.Sprint(random.NormFloat64()*3 + 1e4), fmt.Sprint(math.Expm1(random.NormFloat64() + 8)), "7"}, ",") + "\n,,\n")
	}
	format := CSV{Fields: []string{"a", "b", "c"}, Schema: []CSVColumn{
		{Column: Floats("abc", 3), Fields: []string{"a", "b", "c"}, Missing: "NaN", Scale: []Scaling{{}, {Log1p: true}, {}}}}}
	moments := func() []Moments {
		m, err := FromReader(strings.NewReader(text.String()), "text", format).Moments(t.Context(), "abc")
		law.Check(t, err)
		return m
	}
	for round := range 2 { // the second time there is nothing more to do
		column, err := format.Schema[0].Standardize(moments())
		law.Check(t, err)
		format.Schema = []CSVColumn{column}
		for place, m := range moments() {
			if wantStd := []float64{1, 1, 0}[place]; m.Count != 500 || math.Abs(m.Mean) > 1e-6 || math.Abs(m.Std()-wantStd) > 1e-6 {
				t.Errorf("round %d, place %d: %+v", round, place, m)
			}
		}
	}
	first := format.Schema[0].Scale
	if math.Abs(first[0].Mean-1e4) > 1 || math.Abs(first[1].Mean-8) > .5 || first[0].Log1p || !first[1].Log1p || first[2].Mean != 7 {
		t.Errorf("the scale is %+v", first)
	}
	_, err := format.Schema[0].Standardize(moments()[:1])
	wantMessage(t, "of another column", err, ErrColumn, `column "abc": Standardize: 1 moments for 3 values a row`)
	_, err = format.Schema[0].Standardize(make([]Moments, 3))
	wantMessage(t, "of nothing", err, ErrColumn, `column "abc": Standardize: no row has a number in field "a"`)
	_, err = CSVColumn{Column: Floats("xy", 4), Fields: []string{"x", "y"}}.Standardize([]Moments{{Count: 1}, {Count: 1}, {Count: 1}, {}})
	wantMessage(t, "of a list's last", err, ErrColumn, `column "xy": Standardize: no row has a number in value 1 of field "y"`)
	_, err = CSVColumn{Column: Varying(Floats("z"))}.Standardize(make([]Moments, 1))
	wantMessage(t, "of an empty list", err, ErrColumn, `no row has a number in field "z"`)
	_, err = CSVColumn{Column: Ints("i")}.Standardize([]Moments{{Count: 1}})
	wantMessage(t, "of ids", err, ErrColumn, `column "i": Scale is for a column of Floats`)
	_, err = CSVColumn{Column: Floats("x"), Missing: "?"}.Standardize([]Moments{{Count: 1}})
	wantMessage(t, "of a wrong column", err, ErrColumn, `Missing is "?"`)
}

// twoPasses are the moments of numbers by their definition.
func twoPasses(x []float64) Moments {
	m := Moments{Count: len(x), Min: math.Inf(1), Max: math.Inf(-1)}
	for _, v := range x {
		m.Mean += v / float64(len(x))
		m.Min, m.Max = min(m.Min, v), max(m.Max, v)
	}
	for _, v := range x {
		m.Variance += (v - m.Mean) * (v - m.Mean) / float64(len(x))
	}
	return m
}

func alike(a, b Moments) bool {
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(math.Abs(a), math.Abs(b)) }
	return a.Count == b.Count && near(a.Mean, b.Mean) && near(a.Variance, b.Variance) && a.Min == b.Min && a.Max == b.Max
}

// TestMoments: columns of every type have the moments of the definition, also where the mean is a million deviations, and so have shards
// that are put together; NaN is left out.
//
// Promise: [G13] the moments of a column are those of the definition, put together from all workers' shares with the
// same bits on each
// Also: TestMomentsOfAll, TestDecoderReadsAsFilesAreRead, TestDecoderAsksForNoLabel
func TestMoments(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const rows = 10_000 // more than one batch
	x, ids, floats := make([]float64, rows), make([]uint64, rows), make([]float32, 2*rows)
	for i := range x {
		ids[i] = 1<<40 + random.Uint64N(1<<20)
		x[i], floats[2*i] = float64(ids[i]), float32(math.NaN())
		if i%2 == 0 {
			floats[2*i+1] = 0.5
		}
	}
	d := FromColumns(IDValues("id", ids), FloatValues("f", floats, 2)).Map(func(Batch) error { return errors.New("maps are no part of it") })
	if got, err := d.Moments(t.Context(), "id"); err != nil || !alike(got[0], twoPasses(x)) {
		t.Errorf("ids: %+v, %v, want %+v", got, err, twoPasses(x))
	}
	want := []Moments{{}, {rows, .25, .0625, 0, .5}}
	if got, err := d.Moments(t.Context(), "f"); err != nil || got[0] != want[0] || !alike(got[1], want[1]) {
		t.Errorf("floats: %+v, %v, want %+v", got, err, want)
	}
	shards := Moments{}
	for i := range 7 {
		its, err := d.Shard(i, 7).Moments(t.Context(), "id")
		law.Check(t, err)
		shards = shards.And(its[0]).And(Moments{})
	}
	if !alike(shards, twoPasses(x)) {
		t.Errorf("shards: %+v, want %+v", shards, twoPasses(x))
	}
	varying := FromReader(strings.NewReader("v:1 v:3\nv:8 \n"), "text", SlotText{Slots: []SlotColumn{{Column: Varying(Ints("v"))}}})
	if got, err := varying.Moments(t.Context(), "v"); err != nil || !alike(got[0], twoPasses([]float64{1, 3, 8})) {
		t.Errorf("varying: %+v, %v", got, err)
	}
}

// TestMomentsRefused: what leaves no moments is told with its place.
func TestMomentsRefused(t *testing.T) {
	inf := float32(math.Inf(-1))
	d := FromColumns(FloatValues("x", []float32{1, 2, 3, inf}, 2))
	_, err := d.Moments(t.Context(), "y")
	wantMessage(t, "no such column", err, ErrOption, `"y"`)
	_, err = d.Take(0).Moments(t.Context(), "x")
	wantMessage(t, "no rows", err, ErrNoRows, "Take(0)")
	if got, err := d.Take(0).MayBeEmpty().Moments(t.Context(), "x"); err != nil || !slices.Equal(got, make([]Moments, 2)) {
		t.Errorf("no rows that may be none: %v, %v", got, err)
	}
	if _, err := d.Moments(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), `Moments("x"): row 1 of the data: a number is -Inf`) {
		t.Errorf("an infinite number: %v", err)
	}
	varying := FromReader(strings.NewReader("v:1 v:3\nv:8 v:1e39\n"), "text", SlotText{Slots: []SlotColumn{{Column: Varying(Floats("v"))}}})
	varying = varying.MapFloats("v", func(x float32) float32 { return x * 1e38 })
	if _, err := varying.Moments(t.Context(), "v"); err == nil {
		t.Errorf("an infinite number of a varying column: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Moments(ctx, "x"); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context: %v", err)
	}
}

// TestMomentsOfAll: workers with uneven shares, of which one has nothing, get the same bits, those of all rows; another column is refused.
func TestMomentsOfAll(t *testing.T) {
	x := make([]float32, 1000)
	all := make([]float64, len(x))
	for i := range x {
		x[i] = float32(math.Sqrt(float64(i)))
		all[i] = float64(x[i])
	}
	d := FromColumns(FloatValues("x", x))
	shares := []*Dataset{d.Take(10), d.Take(0).MayBeEmpty(), d.Skip(10)}
	crowd, got := newCrowd(len(shares)+1), make([][]Moments, len(shares))
	crowd.gone[len(shares)] = true
	crowd.each(func(m member) {
		own, err := shares[m.index].Moments(t.Context(), "x")
		if err == nil {
			got[m.index], err = MomentsOfAll(t.Context(), m, own)
		}
		if err != nil {
			t.Error(err)
		}
	})
	for worker, m := range got {
		if len(m) != 1 || m[0] != got[0][0] || !alike(m[0], twoPasses(all)) {
			t.Errorf("worker %d has %+v, worker 0 %+v, want %+v", worker, m, got[0], twoPasses(all))
		}
	}
	newCrowd(2).each(func(m member) {
		if _, err := MomentsOfAll(t.Context(), m, make([]Moments, 1+m.index)); err == nil || !strings.Contains(err.Error(), "all have to give those of one column") {
			t.Errorf("two columns: %v", err)
		}
	})
}
