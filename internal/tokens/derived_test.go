package tokens

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// made is what fields make of a row, by name, "-" where one is missing.
func made(fields []Derived, row map[string]string) (string, error) {
	var asked []string
	for _, f := range fields {
		asked = append(asked, f.Name)
	}
	m := NewMaker(fields, asked)
	for i, s := range m.Sources {
		m.Set(i, []byte(row[s.Name]), row[s.Name] == "")
	}
	if bad := m.Make(); bad != nil {
		return "", bad
	}
	var all []string
	for _, name := range asked {
		n, _ := m.Number(name)
		text, missing := m.Text(n)
		if missing {
			text = []byte("-")
		}
		all = append(all, string(text))
	}
	return strings.Join(all, " "), nil
}

// TestParts: parts are those that the text shows, at its own offset, in every layout; numbers are in UTC.
func TestParts(t *testing.T) {
	// Serial: it changes the process's time zone, to one whose name a text has.
	defer func(here *time.Location) { time.Local = here }(time.Local)
	time.Local = time.FixedZone("PST", -8*3600)
	names := []Part{"year", "month", "day", "year_day", "weekday", "hour", "minute", "seconds"}
	parts := func(layout string) (fields []Derived) {
		for _, p := range names {
			fields = append(fields, Derived{Name: string(p), From: []string{"t"}, Part: p, Layout: layout})
		}
		return fields
	}
	for _, c := range []struct{ layout, text, want string }{
		{time.DateTime, "2024-12-31 23:59:58", "2024 12 31 366 2 23 1439 1735689598"},
		{time.DateTime, "1969-01-05 00:00:00", "1969 1 5 5 7 0 0 -31190400"},
		{time.RFC3339, "2024-03-03T23:30:00-11:00", "2024 3 3 63 7 23 1410 1709548200"},
		{time.RFC3339, "2024-03-03T23:30:00.999Z", "2024 3 3 63 7 23 1410 1709508600"},
		{"2.1.06 3:04PM MST", "3.3.24 11:30PM PST", "2024 3 3 63 7 23 1410 1709508600"}, // on each machine alike
		{"", "1709508600", "2024 3 3 63 7 23 1410 1709508600"},
		{"", "1709508600.75", "2024 3 3 63 7 23 1410 1709508600"},
		{"", "-0.5", "1969 12 31 365 3 23 1439 -1"},
		{"ms", "1709508600750", "2024 3 3 63 7 23 1410 1709508600"},
		{"ms", "-1", "1969 12 31 365 3 23 1439 -1"},
		{time.DateTime, "", "- - - - - - - -"},
	} {
		if got, err := made(parts(c.layout), map[string]string{"t": c.text}); err != nil || got != c.want {
			t.Errorf("%q by %q: %s, %v; want %s", c.text, c.layout, got, err, c.want)
		}
		if err := CheckDerived(parts(c.layout)); err != nil {
			t.Error(err)
		}
	}
	m := NewMaker(parts(time.DateTime), []string{"hour"})
	for range 2 { // lines that are bad alike
		if m.Set(0, []byte("soon"), false); m.Make() == nil {
			t.Error("soon is a time")
		}
	}
	for layout, text := range map[string]string{time.DateTime: "2024-02-30 00:00:00", time.RFC3339: "yesterday", "": "1709508600750", "ms": "0x10"} {
		if got, err := made(parts(layout), map[string]string{"t": text}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", text)) {
			t.Errorf("%q by %q: %s, %v", text, layout, got, err)
		}
	}
}

// TestBucketsAndCrosses: a number on a boundary is in the bucket above it; a cross has its fields' texts, and may be of derived fields.
func TestBucketsAndCrosses(t *testing.T) {
	fields := []Derived{{Name: "far", From: []string{"d"}, Buckets: []float64{-1, 0.5, 100}}, {Name: "route", From: []string{"a", "b"}},
		{Name: "all", From: []string{"far", "route", "a"}}}
	for _, c := range [][4]string{
		{"-2", "x", "y", "0 x×y 0×x×y×x"}, {"-1", "x", "", "1 x× 1×x××x"}, {"0.5", "", "y", "2 ×y 2××y×"}, {"99.9", "", "", "2 - 2××"},
		{"1e2", "x", "y", "3 x×y 3×x×y×x"}, {"", "", "", "- - -"},
	} {
		if got, err := made(fields, map[string]string{"d": c[0], "a": c[1], "b": c[2]}); err != nil || got != c[3] {
			t.Errorf("%q: %q, %v", c, got, err)
		}
	}
	for _, text := range []string{"nan", "1_0", "far", "Inf", "."} {
		if _, err := made(fields, map[string]string{"d": text}); err == nil {
			t.Errorf("%q has a bucket", text)
		}
	}
}

// TestAskedFor: no more is made, or asked of the file, than is asked for; of what is derived the earlier field is taken, and else the file's.
func TestAskedFor(t *testing.T) {
	fields := []Derived{{Name: "h", From: []string{"t"}, Part: "hour"}, {Name: "d", From: []string{"d"}, Buckets: []float64{1}},
		{Name: "x", From: []string{"h", "d"}}, {Name: "w", From: []string{"t"}, Part: "weekday"}}
	for asked, want := range map[string]string{"h": "[{t  true false}]", "x": "[{t  true false} {d  false false}]", "h w": "[{t  true false}]", "d y": "[{d  false false}]"} {
		if got := fmt.Sprint(NewMaker(fields, strings.Fields(asked)).Sources); got != want {
			t.Errorf("%q asks for %s, want %s", asked, got, want)
		}
	}
	if m := NewMaker(fields, []string{"t", "y"}); m != nil {
		t.Errorf("%+v is made of nothing that is derived", m)
	}
}

// TestRefused: fields that can't be made are refused by name.
func TestRefused(t *testing.T) {
	one := []string{"t"}
	for want, f := range map[string]Derived{
		"needs a Name":               {From: one, Part: "hour"},
		"From the names":             {Name: "f", From: []string{""}, Part: "hour"},
		"From has 0 fields: want":    {Name: "f"},
		"From has 1 fields: want":    {Name: "f", From: one},
		"From has 2 fields: Part":    {Name: "f", From: []string{"a", "b"}, Part: "hour"},
		"set one of them":            {Name: "f", From: one, Part: "hour", Buckets: []float64{1}},
		`want one of ["day" "hour"`:  {Name: "f", From: one, Part: "Hour"},
		"no Part of a time":          {Name: "f", From: []string{"a", "b"}, Layout: time.DateOnly},
		"doesn't say the hour":       {Name: "f", From: one, Part: "hour", Layout: time.DateOnly},
		"doesn't say the minute":     {Name: "f", From: one, Part: "minute", Layout: "2006-01-02 15h"},
		"doesn't say the weekday":    {Name: "f", From: one, Part: "weekday", Layout: "Mon 15:04"},
		"doesn't say the month":      {Name: "f", From: one, Part: "month", Layout: "YYYY-MM-DD"},
		`Layout "2006-01-02 03:04" `: {Name: "f", From: one, Part: "hour", Layout: "2006-01-02 03:04"},
		"boundaries that rise":       {Name: "f", From: one, Buckets: []float64{1, 1}},
		"two have that name":         {Name: "twice", From: one, Part: "hour"},
	} {
		if err := CheckDerived([]Derived{{Name: "twice", From: one, Part: "hour"}, f}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("wanted %q: %v", want, err)
		}
	}
	if err := CheckDerived([]Derived{{Name: "s", From: one, Part: "seconds", Layout: time.DateOnly}}); err != nil {
		t.Errorf("seconds of a day: %v", err)
	}
}

// TestNothingIsAllocated: fields are made without memory of their own.
func TestNothingIsAllocated(t *testing.T) {
	fields := []Derived{{Name: "h", From: []string{"t"}, Part: "hour", Layout: time.DateTime}, {Name: "d", From: []string{"d"}, Buckets: []float64{1}},
		{Name: "x", From: []string{"h", "d"}}}
	m, times := NewMaker(fields, []string{"x"}), [][]byte{[]byte("2024-12-31 23:59:58"), []byte("2024-12-31 23:59:59")}
	n := 0
	if allocs := testing.AllocsPerRun(100, func() {
		m.Set(0, times[n%2], false)
		m.Set(1, times[0][:4], false)
		if bad := m.Make(); bad != nil {
			t.Fatal(bad)
		}
		n++
	}); allocs > 0 {
		t.Errorf("%v allocations a row", allocs)
	}
}
