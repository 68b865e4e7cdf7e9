package dataset

import (
	"bytes"
	"encoding/csv"
	"errors"
	"strings"
	"testing"
)

// fuzzFormat feeds any text to a format: it must end, with whole rows, and blame a line for what is wrong.
func fuzzFormat(f *testing.F, format Format, seeds ...string) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		columns, _ := format.Columns()
		for batch, err := range FromReader(strings.NewReader(text), "fuzz", format).Batches(3) {
			if err != nil {
				bad, ok := errors.AsType[*LineError](err)
				if ok && (bad.Line < 1 || bad.File != "fuzz" || bad.Field == "" || bad.Want == "" || bad.Got == "") {
					t.Errorf("error %v lacks a part", err)
				}
				return
			}
			n := batch[columns[0].feeds()[0]].Shape()[0]
			for _, c := range columns {
				if c.Varying {
					offsets := batch[c.Name+".offsets"].Data().([]int64)
					if int(offsets[len(offsets)-1]) != batch[c.Name].Shape()[0] {
						t.Errorf("%s: offsets %v of %d values", c.Name, offsets, batch[c.Name].Shape()[0])
					}
				} else if got := batch[c.Name].Shape()[0]; got != n {
					t.Errorf("%s: %d rows, want %d", c.Name, got, n)
				}
			}
		}
	})
}

func FuzzCriteo(f *testing.F) {
	fuzzFormat(f, Criteo{}, criteoLine("1", []string{"1", "", "-2"}, []string{"68fd1e64"}), "1\t2\n", strings.Repeat("\t", 39))
}

func FuzzSlotText(f *testing.F) {
	fuzzFormat(f, SlotText{Slots: someSlots}, "a:1 b:2 xs:0.5 xs:1 xs:-2e3 many:7 many:8\n", ":", "a:", "a:1 :b")
}

func FuzzMultiSlot(f *testing.F) {
	fuzzFormat(f, MultiSlot{Slots: someSlots}, "1 4 1 5 3 1 2 3 2 7 8\n", "9223372036854775807 1", "-1", "1  1")
}

func FuzzCSV(f *testing.F) {
	fuzzFormat(f, CSV{NA: "NA", Schema: []CSVColumn{{Column: Floats("x"), Missing: "0"}, {Column: Ints("y"), Hash: 9}}}, "x,y\n1,a\n", "y,x\n\"a\"\"b\",NA\n", "x,y\n\"")
}

func FuzzJSONLines(f *testing.F) {
	fuzzFormat(f, someJSON, `{"x": [1, "2.5"], "Y":true, "n":[[3],[null, "", -4]], "who":"a\"\u00e9\\"}`, `{"n":{}}`, `{"n":"\\`, `{"x":[[],1,2]}`)
}

func FuzzLibSVM(f *testing.F) {
	fuzzFormat(f, LibSVM{Features: 3}, "-1 3:0.5 1:2e1 # 2:7\n+1\n2.5  qid:8\t2:1", "1 :", "#", "1 9999999999999999999:1")
}

// What the standard library reads as fields, so does split: of a line without line ends in it.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{"a,b", `"a,""b""",c`, `a"b,c`, `"`, `"a"b`, ",", `"",`, ",,,,,,,,,", "a,,bcdefgh,ijklmnop,\xac-,\x2d+,q", `1234567,8,"9`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if line == "" || strings.ContainsAny(line, "\r\n") {
			return
		}
		r := csv.NewReader(strings.NewReader(line))
		want, wantErr := r.Read()
		s := splitter{comma: ',', quote: '"'}
		got, err := s.split([]byte(line))
		unclosed := err != nil && strings.Contains(err.Error(), "want a closing quote")
		if open := s.open([]byte(line), false); open && err == nil || unclosed && !open {
			t.Fatalf("%q ends within quotes: %v; %v", line, open, err)
		}
		if errors.Is(wantErr, csv.ErrBareQuote) {
			return // a quote in the middle of a field: taken as it is here, refused there
		}
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%q: %v, csv: %v", line, err, wantErr)
		}
		if err == nil && string(bytes.Join(got, []byte("|"))) != strings.Join(want, "|") {
			t.Fatalf("%q: %q, csv: %q", line, got, want)
		}
	})
}

func FuzzReadIDX(f *testing.F) {
	f.Add([]byte("\x00\x00\x08\x02\x00\x00\x00\x02\x00\x00\x00\x03abcdef"))
	f.Add([]byte("\x00\x00\x08\x01\xff\xff\xff\xffab"))
	f.Fuzz(func(t *testing.T, file []byte) {
		x, err := ReadIDX(bytes.NewReader(file))
		if err != nil {
			return
		}
		n := 1
		for _, d := range x.Dims {
			n *= d
		}
		if n != len(x.Data) {
			t.Errorf("dimensions %v of %d values", x.Dims, len(x.Data))
		}
	})
}

// FuzzReadRow: rows that a worker sends are read as they were written, and whatever else it sends is refused.
func FuzzReadRow(f *testing.F) {
	columns := []Column{IDs("id"), Floats("f", 2), Varying(Ints("v"))}
	f.Add([]byte{lastRound, 2, 1, 2})
	f.Add(append([]byte{lastRound, 18}, bytes.Repeat([]byte{1}, 18)...))
	f.Add(append([]byte{lastRound, 25}, bytes.Repeat([]byte{1}, 25)...))
	f.Fuzz(func(t *testing.T, message []byte) {
		part, err := partOf(message, 1)
		got := newTable(columns)
		for rest := part; err == nil && len(rest) > 0; {
			rest, err = got.readRow(rest)
		}
		if err != nil {
			return
		}
		again := newTable(columns)
		for r := range got.Len() {
			row := got.appendRow(nil, r)
			if rest, err := again.readRow(row); err != nil || len(rest) > 0 {
				t.Fatalf("row %d: %v, %d bytes too many", r, err, len(rest))
			}
			if !bytes.Equal(again.appendRow(nil, r), row) {
				t.Fatalf("row %d is not read as it was written", r)
			}
		}
	})
}
