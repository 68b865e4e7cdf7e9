package serve

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/dataset"
)

// TestJSONOfFields: rows as objects of the fields of lines score as the lines do: hashed, scaled, derived and missing as in training. Objects of
// feeds score as before, and a row that lacks a field is refused by name.
func TestJSONOfFields(t *testing.T) {
	format := toyFormat()
	format.Schema[3].Scale = []dataset.Scaling{{Mean: 1, Std: 2}}
	format.Derived = []dataset.Derived{{Name: "both", From: []string{"a0", "far"}}, {Name: "far", From: []string{"x0"}, Buckets: []float64{2}}}
	format.Derived[0], format.Derived[1] = format.Derived[1], format.Derived[0]
	format.Schema[0].Fields = []string{"both", "a1"}
	for name, f := range map[string]dataset.Format{"CSV": format,
		"JSONLines": dataset.JSONLines{NAs: []string{"NA"}, Derived: format.Derived, Schema: format.Schema}} {
		dir := t.TempDir()
		trainedToy(t, dir, f)
		s, err := OpenScorer(dir, ScorerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		const line, object = "ann;bob;3;xy;1.5;2;NA;4;", `{"a0": "ann", "a1": "bob", "b": 3, "c": "xy", "x0": 1.5, "x1": 2, "x2": null, "x3": "4", "more": 1}`
		rows := map[string]string{"CSV": line + "\n;bob;NA;NA;7;2;1;4;\n",
			"JSONLines": object + "\n" + `{"a1": "bob", "x0": 7, "x1": 2, "x2": 1, "x3": 4}`}[name]
		want, err := s.ScoreLines(t.Context(), []byte(rows))
		if err != nil {
			t.Fatal(name, err)
		}
		got, err := s.ScoreJSON(t.Context(), fmt.Appendf(nil, `[%s, {"a0": null, "a1": "bob", "b": "NA", "c": "", "x0": 7, "x1": 2, "x2": 1, "x3": 4}]`, object))
		if err != nil || !slices.Equal(got.Values[0], want.Values[0]) || got.Values[0][0] == got.Values[0][1] {
			t.Errorf("%s: %v, %v; want %v", name, got.Values, err, want.Values)
		}
		for text, said := range map[string]string{
			strings.Replace(object, `"x1": 2, `, "", 1): `want a value, or null for a missing one, got an object without it; the fields are ["a0" "a1" "b" "c" "x0" "x1" "x2" "x3"]`,
			"[" + object + `, {"a0": "ann"}]`:           `row 2: field "a1"`,
			strings.Replace(object, "1.5", `"far"`, 1):  `want a number, to make "far" of it, got "far"`,
			`{"a": [1, 2], "b": 3, "c": 4, "more": 1}`:  "the row has no such feed",
			`{"nothing": 1}`:                            "the row has no such feed",
		} {
			if _, err := s.ScoreJSON(t.Context(), []byte(text)); err == nil || !strings.Contains(err.Error(), said) {
				t.Errorf("%s, %s: %v, want %s", name, text, err, said)
			}
		}
		if _, err := s.ScoreJSON(t.Context(), []byte(`{"a": [1, 2], "b": 3, "c": 4, "x": [1, 2, 3, 4]}`)); err != nil {
			t.Errorf("%s: feeds: %v", name, err)
		}
	}
}
