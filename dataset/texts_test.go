package dataset

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestWithTexts: beside what the schema makes of a line there is the text of a field, whatever the schema makes of that, and whoever reads it.
func TestWithTexts(t *testing.T) {
	for name, c := range map[string]struct {
		format Format
		text   string
		field  string
		want   string
	}{
		"a field with a hash":        {CSV{Schema: []CSVColumn{{Column: Ints("C"), Fields: []string{"carrier"}, Hash: 3}}}, "carrier,hour\nAA,3\nUA,4\nAA,5\n", "carrier", "AA UA AA"},
		"a field beside the schema":  {CSV{Fields: []string{"carrier", "hour"}, Schema: []CSVColumn{{Column: Ints("hour")}}}, "AA,3\n\"U,A\",4\nNA,5\n", "carrier", "AA U,A NA"},
		"a missing one":              {CSV{NA: "NA", Missing: "0", Schema: []CSVColumn{{Column: Ints("hour")}}}, "carrier,hour\nNA,3\n,4\nAA,NA\n", "hour", "3 4 NA"},
		"a derived one":              {CSV{Derived: []Derived{{Name: "x", From: []string{"x", "h"}}}, Schema: []CSVColumn{{Column: Ints("h")}}}, "x,h\na,3\n,4\n", "x", "a×3 ×4"},
		"numbers and words of JSON":  {JSONLines{Schema: []CSVColumn{{Column: Ints("hour")}}}, `{"hour":3,"of":true}` + "\n" + `{"hour":4,"of":"a\nb"}` + "\n" + `{"hour":5}`, "of", "true a\nb "},
		"a number with its spelling": {JSONLines{Schema: []CSVColumn{{Column: Floats("x")}}}, `{"x":3}` + "\n" + `{"x":3.0}`, "x", "3 3.0"},
	} {
		format, textOf, err := WithTexts(c.format, c.field, "beside")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		rows, err := readAll(format, c.text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		plain, err := readAll(c.format, c.text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got []string
		for i, row := range rows {
			var number int64
			before, beside, _ := strings.Cut(row, " beside=[")
			if _, err := fmt.Sscan(strings.TrimSuffix(beside, "]"), &number); err != nil || before != plain[i] {
				t.Fatalf("%s: row %q, want %q with a number beside: %v", name, row, plain[i], err)
			}
			got = append(got, textOf(number))
		}
		if said := strings.Join(got, " "); said != c.want {
			t.Errorf("%s: texts are %q, want %q", name, said, c.want)
		}
	}
	if _, _, err := WithTexts(Criteo{}, "C1", "beside"); !errors.Is(err, ErrFormat) {
		t.Errorf("of Criteo's lines: %v", err)
	}
	format, _, err := WithTexts(CSV{Schema: []CSVColumn{{Column: Floats("x")}}}, "colour", "beside")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readAll(format, "x,y\n1,2\n"); err == nil || !strings.Contains(err.Error(), `"colour"`) {
		t.Errorf("of a field that is not there: %v", err)
	}
}
