package parquet

import (
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/internal/law"
)

var (
	tables = flag.String("tables", "", "a directory of other programs' files, with their rows as lines of JSON")
	golden = flag.String("golden", "", "where the sums of these files go, and what of them is refused")
)

// foreign is a file of another program.
type foreign struct{ Writer, Type, Options, Kind string }

// columns are the ways to read a field of the file.
func (f foreign) columns(field string) map[string][]dataset.CSVColumn {
	one := func(c dataset.CSVColumn) []dataset.CSVColumn {
		c.Fields = []string{field}
		return []dataset.CSVColumn{c}
	}
	ways := map[string][]dataset.CSVColumn{"hash": one(dataset.CSVColumn{Column: dataset.Ints("x"), Hash: 1 << 32})}
	switch f.Kind {
	case "list":
		return map[string][]dataset.CSVColumn{"list": one(dataset.CSVColumn{Column: dataset.Varying(dataset.Ints("x"))})}
	case "number":
		ways["ints"] = one(dataset.CSVColumn{Column: dataset.Ints("x"), Missing: "7"})
		ways["ids"] = one(dataset.CSVColumn{Column: dataset.IDs("x"), Missing: "7"})
		ways["floats"] = one(dataset.CSVColumn{Column: dataset.Floats("x"), Missing: "0.5"})
		ways["hashed numbers"] = one(dataset.CSVColumn{Column: dataset.Ints("x"), Hash: 1 << 32, HashNumbers: true})
	case "moment", "time", "date":
		ways["parts"] = []dataset.CSVColumn{{Column: dataset.Ints("x", 3), Fields: []string{"minute", "year day", "seconds"}, Missing: "-1"}}
	}
	return ways
}

// derived are what is made of a field of times.
func derivedOf(field string) (all []dataset.Derived) {
	for name, part := range map[string]dataset.TimePart{"minute": dataset.Minute, "year day": dataset.YearDay, "seconds": dataset.Seconds} {
		all = append(all, dataset.Derived{Name: name, From: []string{field}, Part: part, Layout: "2006-01-02 15:04:05"})
	}
	return all
}

// TestTables: .ci/outside tables. A file is read as lines with its rows are, or it is refused by name.
func TestTables(t *testing.T) {
	if *tables == "" {
		t.Skip("for .ci/outside tables: -tables=DIR")
	}
	var index []foreign
	text, err := os.ReadFile(filepath.Join(*tables, "index.json"))
	if err == nil {
		err = json.Unmarshal(text, &index)
	}
	if err != nil || len(index) == 0 {
		t.Fatal(index, err)
	}
	sums, refused, read := map[string]string{}, map[string]int{}, 0
	for i, f := range index {
		path := filepath.Join(*tables, fmt.Sprint(i, ".parquet"))
		data, err := os.ReadFile(path)
		law.Check(t, err)
		said := map[string]bool{}
		for _, field := range []string{"x", "y"} {
			for way, schema := range f.columns(field) {
				lines := dataset.JSONLines{Schema: schema}
				if way == "parts" {
					lines.Derived = derivedOf(field)
				}
				got := outcome(t.Context(), dataset.New(&Files{Paths: []string{path}, Schema: schema, Derived: lines.Derived}))
				if _, why, is := strings.Cut(got, fmt.Sprintf("column %q ", field)); is || f.Kind == "refused" && strings.Contains(got, "several columns") {
					said[way+": "+why[:min(len(why), 60)]] = true
					continue
				}
				want := outcome(t.Context(), dataset.FromFiles(lines, filepath.Join(*tables, fmt.Sprint(i, ".json"))))
				bothBad := got[0] != '[' && want[0] != '[' && strings.Contains(got, "bad row") && strings.Contains(want, "bad line")
				if got != want && !bothBad {
					t.Errorf("%v, %s as %s: %.200s, want %.200s", f, field, way, got, want)
				}
				said[way] = true
			}
		}
		key, ways := f.Writer+" "+f.Type, []string{}
		for way := range said {
			if ways = append(ways, way); strings.Contains(way, ": ") {
				_, why, _ := strings.Cut(way, ": ")
				refused[why]++
			} else {
				read++
			}
		}
		slices.Sort(ways)
		sums[key] = fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf([]byte(sums[key]), "%s %x %q", f.Options, sha256.Sum256(data), ways)))
	}
	fmt.Printf("%d files of %d types: %d ways to read a column are as of lines\n", len(index), len(sums), read)
	for _, why := range slices.Sorted(func(yield func(string) bool) {
		for why, n := range refused {
			if !yield(fmt.Sprintf("%5d refused: %s", n, why)) {
				return
			}
		}
	}) {
		fmt.Println(why)
	}
	text, err = json.MarshalIndent(sums, "", " ")
	if err == nil {
		err = os.WriteFile(*golden, append(text, '\n'), 0o600)
	}
	law.Check(t, err)
}
