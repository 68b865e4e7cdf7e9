package dataset

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// trips derives parts of a time, a bucket and crosses; its rows have all of them, hashed and as numbers.
var trips = struct {
	derived []Derived
	schema  []CSVColumn
}{[]Derived{
	{Name: "hour", From: []string{"departs"}, Part: Hour, Layout: "2006-01-02 15:04"},
	{Name: "weekday", From: []string{"departs"}, Part: Weekday, Layout: "2006-01-02 15:04"},
	{Name: "far", From: []string{"distance"}, Buckets: []float64{500, 1000}},
	{Name: "rush", From: []string{"origin", "hour"}},
}, []CSVColumn{
	{Column: Floats("x", 2), Fields: []string{"hour", "distance"}, Missing: "-1", Scale: []Scaling{{Mean: 2}, {}}},
	{Column: Ints("day"), Fields: []string{"weekday"}, Missing: "0"},
	{Column: Ints("C", 3), Fields: []string{"far", "rush", "origin"}, Hash: 1000},
}}

// TestDerivedFields: a field that is made of others is one of the line's: it is hashed under its name, scaled, replaced where it is missing;
// lines of CSV and of JSON make the same rows, and so does the format that a saved model carries.
func TestDerivedFields(t *testing.T) {
	hash := func(field, text string) int64 { return HashID(field, text, 1000) }
	want := fmt.Sprintf("[%v]\n[%v]\n[%v]\n",
		[]any{[]float32{15, 700}, []int64{6}, []int64{hash("far", "1"), hash("rush", "JFK×17"), hash("origin", "JFK")}},
		[]any{[]float32{-1, 1000}, []int64{0}, []int64{hash("far", "2"), hash("rush", "Zürich×"), hash("origin", "Zürich")}},
		[]any{[]float32{5, -1}, []int64{1}, []int64{hash("far", ""), hash("rush", "×7"), hash("origin", "")}})
	csv := CSV{NAs: []string{"NA"}, Derived: trips.derived, Schema: trips.schema}
	lines := JSONLines{NAs: []string{"NA"}, Derived: trips.derived, Schema: trips.schema}
	for _, c := range []struct {
		format Format
		text   string
	}{
		{csv, "origin,distance,departs\nJFK,700,2024-03-02 17:05\nZürich,1e3,NA\nNA,,2024-03-04 07:59\n"},
		{lines, `{"distance": 700, "departs": "2024-03-02\u002017:05", "origin": "\u004AFK"}
{"distance": "1e3", "departs": null, "origin": "Z\u00fcrich"}
{"origin": "NA", "departs": "2024-03-04 07:59"}
`},
	} {
		data, err := DescribeFormat(c.format)
		law.Check(t, err)
		again, err := ReadFormat(data)
		law.Check(t, err)
		for _, format := range []Format{c.format, again} {
			got := ""
			for b, err := range FromReader(strings.NewReader(c.text), "text", format).Batches(1) {
				if err != nil {
					t.Fatalf("%T: %v", format, err)
				}
				got += fmt.Sprintf("[%v]\n", []any{b["x"].Data(), b["day"].Data(), b["C"].Data()})
			}
			if got != want {
				t.Errorf("%T has the rows\n%s, want\n%s", format, got, want)
			}
		}
	}
}

// TestDerivedIsFrozen: what stands in saved models for derived fields, and for a format without them, is read by later versions.
func TestDerivedIsFrozen(t *testing.T) {
	const plain = `{"name":"csv","options":{"Schema":[{"Column":{"Name":"x","Type":"float32"}}]}}`
	const derived = `{"name":"csv","options":{"Derived":[` +
		`{"From":["departs"],"Layout":"2006-01-02 15:04","Name":"hour","Part":"hour"},{"From":["departs"],"Layout":"2006-01-02 15:04","Name":"weekday","Part":"weekday"},` +
		`{"Buckets":[500,1000],"From":["distance"],"Name":"far"},{"From":["origin","hour"],"Name":"rush"}],` +
		`"Schema":[{"Column":{"Name":"x","Type":"float32"}}]}}`
	x := []CSVColumn{{Column: Floats("x")}}
	for want, f := range map[string]CSV{plain: {Schema: x}, derived: {Derived: trips.derived, Schema: x}} {
		if got, err := DescribeFormat(f); err != nil || string(got) != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
}

// TestBadDerived: a text of which nothing can be made is a bad line, with its place, its field and what was wanted, and is passed over as
// others are.
func TestBadDerived(t *testing.T) {
	csv := CSV{Derived: trips.derived, Schema: trips.schema}
	for text, want := range map[string]string{
		"JFK,700,2024-03-02 17:05\nJFK,7,2024-03-02\n": `text:3: field departs: want a time such as "2006-01-02 15:04", to make "hour" of it, got "2024-03-02"`,
		"JFK,far,2024-03-02 17:05\n":                   `text:2: field distance: want a number, to make "far" of it, got "far"`,
	} {
		text = "origin,distance,departs\n" + text
		if err := failure(FromReader(strings.NewReader(text), "text", csv)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("wanted %s: %v", want, err)
		}
	}
	csv.Schema = []CSVColumn{{Column: Ints("hour")}}
	for text, want := range map[string]string{
		"departs\n\"\"\n":   `want an integer, or a Missing of its column to take for one`,
		"departures\n\n":    `field "departs": want a field of that name, got only ["departures"]`,
		"departs,departs\n": `two in ["departs" "departs"]`,
	} {
		if err := failure(FromReader(strings.NewReader(text), "text", csv)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("wanted %s: %v", want, err)
		}
	}
	lines := JSONLines{Derived: trips.derived, Schema: csv.Schema}
	for text, want := range map[string]string{
		`{"departs": ["2024-03-02 17:05"]}`: `field departs: want one value, to make others of it`,
		`{"departs": true}`:                 `want a time such as "2006-01-02 15:04"`,
		`{"departs": null}`:                 `field hour: want an integer, or a Missing`,
	} {
		if err := failure(FromReader(strings.NewReader(text), "text", lines)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("wanted %s: %v", want, err)
		}
	}
}

// failure is the error with which a pass ends.
func failure(d *Dataset) error {
	for _, err := range d.Batches(1) {
		if err != nil {
			return err
		}
	}
	return nil
}

// TestDerivedIsRefused: formats whose derived fields can't be made, or whose columns can't take them, are refused when they are made.
func TestDerivedIsRefused(t *testing.T) {
	for want, change := range map[string]func(f *CSV){
		`Derived: "hour": Part is`:             func(f *CSV) { f.Derived[0].Part = "our" },
		`unknown field "departs"; want one of`: func(f *CSV) { f.Fields = []string{"origin", "distance"} },
		`"C": unknown field "origin"`:          func(f *CSV) { f.Fields = []string{"departs", "distance"} },
		`"rush" is a cross, which is a te`:     func(f *CSV) { f.Schema[0].Fields[0] = "rush" },
		`HashNumbers is for fields of`: func(f *CSV) {
			f.Schema[2] = CSVColumn{Column: Ints("C"), Fields: []string{"far"}, Hash: 9, HashNumbers: true}
		},
	} {
		f := CSV{Derived: append([]Derived(nil), trips.derived...)}
		for _, c := range trips.schema {
			c.Fields = append([]string(nil), c.Fields...)
			f.Schema = append(f.Schema, c)
		}
		change(&f)
		if _, err := f.Columns(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("wanted %s: %v", want, err)
		}
	}
	for want, column := range map[string]Column{`has one value a row`: Varying(Ints("C")), `"far" has one`: Ints("C", 2)} {
		f := JSONLines{Derived: trips.derived, Schema: []CSVColumn{{Column: column, Fields: []string{"far"}, Hash: 9}}}
		if _, err := f.Columns(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("wanted %s: %v", want, err)
		}
	}
}

// TestDerivedForFewer: a line that is to fill some columns alone needs no more than these are made of.
func TestDerivedForFewer(t *testing.T) {
	for text, format := range map[string]Format{
		"distance\n700\n":   CSV{Derived: trips.derived, Schema: append(trips.schema, CSVColumn{Column: Ints("far"), Missing: "-1"})},
		`{"distance": 700}`: JSONLines{Derived: trips.derived, Schema: append(trips.schema, CSVColumn{Column: Ints("far"), Missing: "-1"})},
	} {
		b, err := FromReader(strings.NewReader(text), "text", format).Batch(t.Context())
		if _, is := format.(CSV); is && err == nil {
			t.Errorf("%v is read of %q", b, text)
		}
		b, err = New(&Files{Paths: onDisk(t, text), Format: format}).Select("far").Batch(t.Context())
		if err != nil || b["far"].Int64s()[0] != 1 {
			t.Errorf("%T: %v, %v", format, b, err)
		}
	}
}

func FuzzDerived(f *testing.F) {
	fuzzFormat(f, JSONLines{Derived: trips.derived, Schema: trips.schema}, `{"origin": "\u004a", "distance": "1e3", "departs": "2024-03-02 17:05"}`, `{"departs": [1]}`)
}
