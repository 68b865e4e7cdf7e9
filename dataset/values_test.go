package dataset

import (
	"fmt"
	"strings"
	"testing"
)

// TestValues: a text's number is its place among the Values, in lines of both kinds, also of a number, of true and of a
// derived field, and in lists; another text is bad, and a missing one what Missing says.
func TestValues(t *testing.T) {
	answers := []string{"no", "yes"}
	for _, c := range []struct {
		column    CSVColumn
		csv, json string
		want      string // the values, or a part of the error
	}{
		{CSVColumn{Column: Floats("y"), Values: answers}, "yes", `"yes"`, "[1]"},
		{CSVColumn{Column: Ints("y"), Values: answers}, "no", `"no"`, "[0]"},
		{CSVColumn{Column: IDs("y"), Values: []string{"-1", "1"}}, "1", `1`, "[1]"},
		{CSVColumn{Column: Floats("y"), Values: []string{"false", "true"}}, "true", `true`, "[1]"},
		{CSVColumn{Column: Floats("y"), Values: answers, Scale: []Scaling{{Mean: 1, Std: 2}}}, "no", `"no"`, "[-0.5]"},
		{CSVColumn{Column: Varying(Ints("y")), Values: []string{"a", "b", "c"}, Separator: "|"}, "c|a", `["c", "a"]`, "[2 0]"},
		{CSVColumn{Column: Floats("y"), Values: answers, Missing: "-1"}, "", `null`, "[-1]"},
		{CSVColumn{Column: Floats("y"), Values: answers}, "Yes", `"Yes"`, `want one of ["no" "yes"], got "Yes"`},
		{CSVColumn{Column: Floats("y"), Values: answers}, "1", `1`, `want one of ["no" "yes"], got "1"`},
		{CSVColumn{Column: Floats("y"), Values: answers}, "", `""`, `want one of ["no" "yes"], got ""`},
		{CSVColumn{Column: Ints("y"), Fields: []string{"hour"}, Values: []string{"7", "9"}}, "0", `0`, "[1]"},
	} {
		hour := []Derived{{Name: "hour", From: []string{"at"}, Part: Hour, Layout: "15:04"}}
		for text, f := range map[string]Format{
			c.csv + ",09:30\n": CSV{Fields: []string{"y", "at"}, Derived: hour, Schema: []CSVColumn{c.column}},
			`{"y": ` + c.json + `, "at": "09:30"}` + "\n": JSONLines{Derived: hour, Schema: []CSVColumn{c.column}},
		} {
			described, err := DescribeFormat(f)
			if err == nil {
				f, err = ReadFormat(described)
			}
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if batch, err := FromReader(strings.NewReader(text), "text", f).Batch(t.Context()); err != nil {
				got = err.Error()
			} else {
				got = fmt.Sprint(batch["y"].Data())
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("%s: %s, want %s", text, got, c.want)
			}
		}
	}
	for want, c := range map[string]CSVColumn{
		"leave one out": {Column: Ints("y"), Values: answers, Hash: 9},
		"Values[2]":     {Column: Ints("y"), Values: []string{"a", "b", "a"}},
		"Values[0]":     {Column: Ints("y"), Values: []string{""}},
	} {
		if _, err := (JSONLines{Schema: []CSVColumn{c}}).Columns(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
