package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gofleet/gofleet/examples/wide_and_deep/flights"
)

var testInputs = inputs{"testdata/flights.csv", "testdata/planes.csv", "testdata/weather.csv"}

func packed(t *testing.T, in inputs) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := pack(in, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What the program packs, package flights reads: the flights that arrived, in the order of their departure.
func TestPackedIsRead(t *testing.T) {
	out := filepath.Join(t.TempDir(), "flights.gz")
	if err := run(testInputs, out); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	d, err := flights.Read(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		Carrier, Origin, Dest, Tail, Model string
		Flight, Dep, Distance              int
		Late, Weather                      bool
	}
	var got []row
	for i := range d.Len() {
		_, weather := d.Weather(i)
		got = append(got, row{
			d.Carriers[d.Carrier[i]], d.Origins[d.Origin[i]], d.Dests[d.Dest[i]], d.Tails[d.Tail[i]], d.Planes[d.Tail[i]].Model,
			d.Flight[i], d.Dep[i], d.Distance[i], d.Late[i], weather,
		})
	}
	want := []row{
		{"UA", "EWR", "IAH", "N14228", "737-824", 1545, 5*60 + 15, 1400, false, true},
		{"UA", "LGA", "IAH", "N24211", "737-824", 1714, 5*60 + 29, 1416, true, true},
		{"AA", "JFK", "MIA", "N619AA", "757-223", 1141, 5*60 + 40, 1089, true, true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if w, _ := d.Weather(0); w.Temp != 39.02 {
		t.Errorf("of two records of one hour the first counts: temperature %v", w.Temp)
	}
}

// The order of the input's lines makes no difference, nor does a second run.
func TestPackingIsDeterministic(t *testing.T) {
	text, err := os.ReadFile(testInputs.flights)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	lines[1], lines[len(lines)-1] = lines[len(lines)-1], lines[1]
	other := testInputs
	other.flights = filepath.Join(t.TempDir(), "flights.csv")
	if err := os.WriteFile(other.flights, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(packed(t, testInputs), packed(t, other)) {
		t.Error("the file depends on the order of lines")
	}
}

func TestPackRefuses(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"no such field": {"arr_delay", "delay", "missing field arr_delay"},
		"no number":     {",1400,", ",far,", "line 3: field distance"},
		"half a mile":   {",1400,", ",1400.5,", "not a multiple of 1"},
		"short line":    {",EWR,IAH", "", "wrong number of fields"},
	} {
		text, err := os.ReadFile(testInputs.flights)
		if err != nil {
			t.Fatal(err)
		}
		in := testInputs
		in.flights = filepath.Join(t.TempDir(), "flights.csv")
		if err := os.WriteFile(in.flights, bytes.Replace(text, []byte(c.old), []byte(c.new), 1), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := pack(in, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if err := run(inputs{"no", "such", "file"}, filepath.Join(t.TempDir(), "out")); !os.IsNotExist(err) {
		t.Errorf("missing input: %v", err)
	}
}
