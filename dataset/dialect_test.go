package dataset

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestDialects: fields come as they are meant, whatever stands between and around them.
func TestDialects(t *testing.T) {
	id := func(text string) string { return fmt.Sprint(HashID("word", text, 1000)) }
	for name, c := range map[string]struct {
		format CSV
		text   string
		want   string // words by number, or the error
	}{
		"semicolons":          {CSV{Comma: ';'}, "word;x\na;1\n\"b;c\";2\n", id("a") + ":1 " + id("b;c") + ":2"},
		"single quotes":       {CSV{Quote: '\''}, "word,x\n'a,''b''',1\n\"c\",2\n", id("a,'b'") + ":1 " + id(`"c"`) + ":2"},
		"no quotes":           {CSV{Quote: NoQuote, Comma: '\t'}, "word\tx\n\"a\t1\n", id(`"a`) + ":1"},
		"quotes as separator": {CSV{Quote: NoQuote, Comma: '"'}, "word\"x\na\"1\n", id("a") + ":1"},
		"comments":            {CSV{Comment: '#'}, "# by hand\nword,x\n#\n#a,9\na,1\nb#,2\n", id("a") + ":1 " + id("b#") + ":2"},
		"trimmed":             {CSV{Trim: true}, " word , x\t\n a b ,  1\n\t\" c \" , 2 \n", id("a b") + ":1 " + id(" c ") + ":2"},
		"trimmed tabs":        {CSV{Trim: true, Comma: '\t'}, "word\tx\n a \t\"1\" \n", id("a") + ":1"},
		"multiline":           {CSV{Multiline: true}, "\"word\",x\n\"a\n\n\"\"b\r\n,c\",1\nd,2\n", id("a\n\n\"b\n,c") + ":1 " + id("d") + ":2"},
		"multiline header":    {CSV{Multiline: true}, "word,\"y\nz\",x\na,0,1\n", id("a") + ":1"},
		"never closed":        {CSV{Multiline: true}, "word,x\na,1\n\"b,2\n\nc,3\n", `text:3: field 1: want a closing quote on the same line, got "b,2\n\nc,3"`},
		"after many lines":    {CSV{Multiline: true}, "word,x\n\"a\nb\",1\n\"c\nd\",z\n", `text:4: field x: want a number, got "z"`},
		"usual":               {CSV{NAs: UsualNAs(), Missing: "7"}, "word,x\nNULL,NaN\na,nan\nb,#N/A\nc,\n", id("") + ":7 " + id("a") + ":7 " + id("b") + ":7 " + id("c") + ":7"},
		"both":                {CSV{NA: "-", NAs: []string{"?"}, Missing: "0"}, "word,x\na,-\nb,?\nc,-1\n", id("a") + ":0 " + id("b") + ":0 " + id("c") + ":-1"},
		"not missing":         {CSV{NAs: UsualNAs()}, "word,x\na,nan\n", `text:2: field x: want a number, or a Missing of its column to take for one, got "nan"`},
		"no text is missing":  {CSV{}, "word,x\na,nan\n", `want a number, or, to take it for a missing one, NAs such as UsualNAs and a Missing, got "nan"`},
		"one separator twice": {CSV{Comma: '\'', Quote: '\''}, "", "CSV.Quote is '\\''"},
		"a quote separates":   {CSV{Comma: '"'}, "", "CSV.Comma is '\"'"},
		"a comment separates": {CSV{Comment: ','}, "", "CSV.Comment is ','"},
		"missing is none":     {CSV{Missing: "?"}, "", `Missing is "?"`},
	} {
		c.format.Schema = []CSVColumn{{Column: Ints("word"), Hash: 1000}, {Column: Floats("x")}}
		var got []string
		for batch, err := range FromReader(strings.NewReader(c.text), "text", c.format).Batches(1) {
			if err != nil {
				got = []string{err.Error()}
				break
			}
			got = append(got, fmt.Sprintf("%v:%v", batch["word"].Int64s()[0], batch["x"].Float32s()[0]))
		}
		if text := strings.Join(got, " "); !strings.Contains(text, c.want) || len(text) > len(c.want)+80 {
			t.Errorf("%s: %s, want %s", name, text, c.want)
		}
	}
}

// TestMissingByColumn: a column's own Missing goes before the format's, which is no business of hashed text.
func TestMissingByColumn(t *testing.T) {
	f := CSV{Missing: "5", Schema: []CSVColumn{{Column: Floats("x"), Missing: "6"}, {Column: Floats("y")}, {Column: Ints("z"), Hash: 10}}}
	table, err := FromReader(strings.NewReader("x,y,z\n,,\n"), "text", f).Table(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if x, y, z := table.Floats(0)[0], table.Floats(1)[0], table.Ints(2)[0]; x != 6 || y != 5 || z != HashID("z", "", 10) {
		t.Errorf("got %v, %v, %v", x, y, z)
	}
}

// Text in quotes over several lines is what the standard library reads, whatever the text.
func FuzzMultiline(f *testing.F) {
	for _, s := range []string{"a,b\nc,d", "\"a\n\nb\",\"c\"\"\nd\"", "\"a\nb", "a,\"b\r\nc\"\r\nd,e", "\n\n\"\n\",x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(strings.ReplaceAll(text, "\r\n", ""), "\r") || strings.HasPrefix(text, "\xef\xbb\xbf") {
			return // a CR alone ends no line here, and is part of none there
		}
		r := csv.NewReader(strings.NewReader(text))
		r.FieldsPerRecord = 2
		want, wantErr := r.ReadAll()
		for _, row := range want {
			if strings.Contains(row[0]+row[1], "\r") {
				return
			}
		}
		format := CSV{Fields: []string{"a", "b"}, Multiline: true, Schema: []CSVColumn{{Column: Ints("ab", 2), Fields: []string{"a", "b"}, Hash: 1 << 32}}}
		rows, err := FromReader(bytes.NewReader([]byte(text)), "text", format).Table(t.Context())
		if wantErr != nil {
			if errors.Is(wantErr, csv.ErrQuote) && err == nil {
				t.Fatalf("%q is read, where csv says %v", text, wantErr)
			}
			return
		}
		if err != nil || rows.Len() != len(want) {
			t.Fatalf("%q: %v, csv reads %q", text, err, want)
		}
		for i, row := range want {
			if got := rows.Ints(0)[2*i : 2*i+2]; got[0] != HashID("a", row[0], 1<<40) || got[1] != HashID("b", row[1], 1<<40) {
				t.Fatalf("%q: row %d differs from %q", text, i, row)
			}
		}
	})
}
