package dataset

import (
	"strings"
	"testing"
)

// TestOtherFiles: a file that is something else is told as that in a line, with what to do.
func TestOtherFiles(t *testing.T) {
	format := CSV{Schema: []CSVColumn{{Column: Floats("late")}, {Column: Floats("distance")}}}
	packed := zipped(t, strings.Repeat("1,2\n", 100_000))
	for name, c := range map[string]struct{ text, want string }{
		"Parquet":         {"PAR1\x15\x04\x15\x80", "rows: it is a Parquet file: read it with package dataset/parquet"},
		"no Parquet":      {"PAR1,late,distance\na,1,2\n", ""},
		"workbook":        {"PK\x03\x04\x14\x00\x06\x00xl/workbook.xml", "rows: it is an archive, such as a zip file or a workbook: write its rows as text"},
		"no archive":      {"PK,late,distance\na,1,2\n", ""},
		"bzip2":           {"BZh91AY&SY\x1a\x2b", "rows: it is packed by bzip2: pack it with gzip or zstd"},
		"bzip2, fast":     {"BZh11AY&SY\x1a\x2b", "rows: it is packed by bzip2: pack it with gzip or zstd"},
		"no bzip2":        {"BZh9,late,distance\na,1,2\n", ""},
		"xz":              {"\xfd7zXZ\x00\x00\x04", "rows: it is packed by xz: pack it with gzip or zstd"},
		"7-Zip":           {"7z\xbc\xaf\x27\x1c\x00\x04", "rows: it is packed by 7-Zip: pack it with gzip or zstd"},
		"lz4":             {"\x04\x22\x4d\x18\x64\x40", "rows: it is packed by lz4: pack it with gzip or zstd"},
		"UTF-16":          {"\xff\xfel\x00a\x00t\x00e\x00", "rows: its text is UTF-16: write it as UTF-8"},
		"UTF-16, big":     {"\xfe\xff\x00l\x00a\x00t\x00e", "rows: its text is UTF-16: write it as UTF-8"},
		"semicolons":      {"late;distance\n1;2\n", `CSV.Comma ';'`},
		"tabs":            {"late\tdistance\n1\t2\n", `CSV.Comma '\t'`},
		"blanks":          {"late , distance\n1,2\n", "set CSV.Trim"},
		"no header":       {"1,1979\n0,300\n", "no names? Write a first line with the names of the fields, or give CSV.Fields them"},
		"another case":    {"Late,distance\n1,2\n", `did you mean "Late"?`},
		"another name":    {"delay,distance\n1,2\n", `got only ["delay" "distance"]`},
		"twice":           {"late,distance,late\n1,2,3\n", `field "late": want a field of that name, got two in ["late" "distance" "late"]: rename one`},
		"twice, not used": {"late,distance,x,x\n1,2,3,4\n", ""},
		"cut off":         {"late,distance\n1,2\n", ""},
	} {
		_, err := FromReader(strings.NewReader(c.text), "rows", format).Table(t.Context())
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || len(err.Error()) > 180) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	format.Fields = []string{"late", "distance"}
	if _, err := FromReader(strings.NewReader(packed[:len(packed)/2]), "rows", format).Table(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "the packed file is cut off") {
		t.Errorf("half of a gzip file: %v", err)
	}
}
