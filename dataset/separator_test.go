package dataset

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestSeparator: a text's values are those that the separator parts, without blanks around them and without missing
// ones, hashed or numbers, in CSV and in texts of JSON alike, also of arrays.
func TestSeparator(t *testing.T) {
	words := CSVColumn{Column: Varying(Ints("w")), Hash: 1 << 32, Separator: "|"}
	ids := CSVColumn{Column: Varying(Ints("w")), Separator: ", "}
	blanks := CSVColumn{Column: Varying(IDs("w")), Hash: 1 << 32, Separator: " "}
	floats := CSVColumn{Column: Varying(Floats("w")), Separator: "|", Scale: []Scaling{{Mean: 1}}}
	for _, c := range []struct {
		column    CSVColumn
		csv, json string
		want      []string // of the row; nil is an error
	}{
		{words, "rock|pop", `"rock|pop"`, []string{"rock", "pop"}},
		{words, "|rock| |pop |NA|", `["|rock", "pop |NA", null]`, []string{"rock", "pop"}},
		{words, "", `null`, []string{}},
		{words, "NA", `[]`, []string{}},
		{CSVColumn{Column: Varying(Ints("w")), Hash: 1 << 32, Separator: "A"}, "NA", `"NA"`, []string{}}, // not "N"
		{words, "rock", `"rock"`, []string{"rock"}},
		{words, "7|07", `[7, "07"]`, []string{"7", "07"}},
		{ids, `"3, 5, 3"`, `"3, 5, 3"`, []string{"3", "5", "3"}},
		{ids, "4", `4`, []string{"4"}},
		{ids, `"3, x"`, `"3, x"`, nil},
		{blanks, " two  words", `" two  words"`, []string{"two", "words"}},
		{floats, "2.5|1", `"2.5|1"`, []string{"1.5", "0"}},
	} {
		var want []string
		for _, w := range c.want {
			if c.column.Hash > 0 {
				w = fmt.Sprint(HashID("w", w, c.column.Hash))
			}
			want = append(want, w)
		}
		for text, f := range map[string]Format{
			c.csv + ",0\n":                 CSV{Fields: []string{"w", "y"}, NA: "NA", Schema: []CSVColumn{c.column}},
			`{"w": ` + c.json + `}` + "\n": JSONLines{NAs: []string{"NA"}, Schema: []CSVColumn{c.column}},
		} {
			described, err := DescribeFormat(f)
			if err != nil {
				t.Fatal(err)
			}
			if f, err = ReadFormat(described); err != nil {
				t.Fatal(err)
			}
			table, err := FromReader(strings.NewReader(text), "text", f).Table(t.Context())
			if c.want == nil {
				if err == nil || !strings.Contains(err.Error(), `"x"`) || !strings.Contains(err.Error(), "field w") {
					t.Errorf("%s: %v", text, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			var got []string
			for _, x := range table.Ints(0) {
				got = append(got, fmt.Sprint(x))
			}
			for _, x := range table.IDs(0) {
				got = append(got, fmt.Sprint(x))
			}
			for _, x := range table.Floats(0) {
				got = append(got, fmt.Sprint(x))
			}
			if table.Len() != 1 || !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", text, got, want)
			}
		}
	}
	for want, c := range map[string]CSVColumn{
		"is not Varying":     {Column: Ints("w"), Separator: "|"},
		"give the varying c": {Column: Varying(Ints("w"))},
	} {
		if _, err := (CSV{Schema: []CSVColumn{c}}).Columns(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
