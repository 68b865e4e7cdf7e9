package starter

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/law"
)

// write makes a file of so many rows.
func write(t *testing.T, name, header string, rows int, row func(i int, r *rand.Rand) string) (path string) {
	t.Helper()
	var text strings.Builder
	text.WriteString(header)
	for i := range rows {
		fmt.Fprintln(&text, row(i, rand.New(rand.NewPCG(1, uint64(i)))))
	}
	path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// shops are rows with a field of each kind.
func shops(t *testing.T) string {
	return write(t, "shops.csv", "id;city;day;open;area;visits;note;\"sold, in all\"\n", 400,
		func(i int, r *rand.Rand) string {
			area := fmt.Sprint(100 * r.Float64())
			if i%10 == 0 {
				area = "NA"
			}
			return fmt.Sprintf("%d;%c;2024-01-%02d;1;%s;%d;a text of %d words;%d", i, 'a'+r.IntN(5), 1+r.IntN(28), area,
				int(1/(r.Float64()+1e-4)), i, r.IntN(2))
		})
}

// TestWrite: what is written says what each field is, is formatted, and does not replace what is there.
func TestWrite(t *testing.T) {
	data := shops(t)
	dir := filepath.Join(t.TempDir(), "sales")
	p, err := Write(dir, data, "", "sold, in all", nil)
	if err != nil || p.Rows != 400 || p.Numbers != 3 || p.Categories != 2 || len(p.Lists) != 1 || len(p.Left) != 2 {
		t.Fatalf("%+v, %v", p, err)
	}
	for _, name := range []string{"main.go", "main_test.go"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if tidy, err := format.Source(text); err != nil || string(tidy) != string(text) {
			t.Errorf("%s is not formatted, %v:\n%s", name, err, text)
		}
		if name == "main.go" {
			for _, want := range []string{`Comma: ';'`, `{Log1p: true, Mean: `,
				`Fields: []string{"city", "day weekday"}, Hash: categories`,
				`Fields: []string{"sold, in all"}`, "id is another number in every row",
				"open is the same in every row", `{Name: "day weekday", From: []string{"day"}, Part: dataset.Weekday, Layout: "2006-01-02"},`,
				`LastBy: "when"`,
				`dataset.Varying(dataset.Ints("note")), Hash: categories, Separator: " "}`, "nn.AUC(chance, label)"} {
				if !strings.Contains(string(text), want) {
					t.Errorf("no %s in\n%s", want, text)
				}
			}
		}
	}
	if _, err := Write(dir, data, "", "sold, in all", nil); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("a second program: %v", err)
	}
}

// TestTasks: a label of 0 and 1, of some whole numbers from 0, and of others.
func TestTasks(t *testing.T) {
	for label, want := range map[string]string{
		"late":  "nn.BinaryCrossEntropy(chance, label)",
		"class": "nn.SoftmaxWithCrossEntropyOf(logits, label, nn.CrossEntropyOptions{Smoothing: 0.05})",
		"price": "nn.SquareError(predicted, label)",
		"wide":  "nn.SquareError(predicted, label)",
	} {
		data := write(t, "rows.jsonl", "", 50, func(i int, r *rand.Rand) string {
			return fmt.Sprintf(`{"x": %v, "late": %t, "class": %d, "price": %v, "wide": %d}`, r.Float64(), i%3 == 0,
				i%4, 1e6*r.Float64(), i*i)
		})
		dir := filepath.Join(t.TempDir(), "p")
		_, err := Write(dir, data, "", label, nil)
		text, _ := os.ReadFile(filepath.Join(dir, "main.go"))
		if tidy, e := format.Source(text); err != nil || e != nil || string(tidy) != string(text) ||
			!strings.Contains(string(text), want) ||
			!strings.Contains(string(text), "dataset.JSONLines{") {
			t.Errorf("%s: %v, %v:\n%s", label, err, e, text)
		}
	}
}

// cut is the first half of a gzip file.
func cut(t *testing.T) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for i := range 1000 {
		fmt.Fprintln(z, rand.New(rand.NewPCG(1, uint64(i))).Float64())
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "f.csv.gz")
	if err := os.WriteFile(path, b.Bytes()[:b.Len()/2], 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRefused: a file that says too little is refused by a text that says what it lacks.
func TestRefused(t *testing.T) {
	row := func(text string) func(int, *rand.Rand) string {
		return func(i int, r *rand.Rand) string { return strings.ReplaceAll(text, "#", fmt.Sprint(i%7)) }
	}
	for want, c := range map[string]struct {
		path, label string
	}{
		"no such file":             {"absent.csv", "y"},
		"too few":                  {write(t, "f.csv", "x,y\n", 3, row("#,1")), "y"},
		`no field "z" for -label`:  {write(t, "f.csv", "x,y\n", 30, row("#,1")), "z"},
		"in all rows":              {write(t, "f.csv", "x,y\n", 30, row("#,1")), "y"},
		"has 60 different texts":   {write(t, "f.csv", "x,y\n", 60, func(i int, _ *rand.Rand) string { return fmt.Sprintf("%d,a%d", i%7, i) }), "y"},
		"is a time":                {write(t, "f.csv", "x,y\n", 30, row("#,2024-01-1#")), "y"},
		"1234.5 for $1,234.50":     {write(t, "f.csv", "x;y\n", 30, row("#;$1,00#.50")), "y"},
		"did you mean \"Y\"?":      {write(t, "f.csv", "x,Y\n", 30, row("#,1")), "y"},
		"the file is empty":        {write(t, "f.csv", "", 0, nil), "y"},
		"1 lines, of which":        {write(t, "f.csv", "x,y\n", 0, nil), "y"},
		"an array of JSON":         {write(t, "f.json", "[\n", 30, row(`{"x": #, "y": 1},`)), "y"},
		"end with \\r alone":       {write(t, "f.csv", strings.ReplaceAll("x,y\n1,2\n", "\n", "\r"), 0, nil), "y"},
		"if it is a row":           {write(t, "f.csv", "0,a,0\n", 30, row("#,a,#")), "y"},
		"quotes has several":       {write(t, "f.csv", "x,y\n", 30, row("#,\"a\nb\"")), "y"},
		"is missing in 30 of 30":   {write(t, "f.csv", "x,y\n", 30, row("#,NA")), "y"},
		"no field that a model":    {write(t, "f.csv", "x,y\n", 30, row("1,#")), "y"},
		"rename one":               {write(t, "f.csv", "x,x\n", 30, row("#,1")), "x"},
		"another number of":        {write(t, "f.csv", "x,y\n", 30, row("#,1,2")), "y"},
		"row 1 that was":           {write(t, "f.json", "", 30, row("{#")), "y"},
		"with a point":             {write(t, "f.csv", "x,y\n", 30, row("#,#.0")), "y"},
		"texts among numbers":      {write(t, "f.csv", "x,y\n", 30, func(i int, _ *rand.Rand) string { return fmt.Sprintf("%d,%d%s", i%7, i, []string{"", "_5"}[i%2]) }), "y"},
		"has texts that are not U": {write(t, "f.csv", "x,y\n", 30, func(i int, _ *rand.Rand) string { return fmt.Sprintf("%d.5,%s", i, []string{"no", "s\xed"}[i%2]) }), "y"},
		"is not UTF-8":             {write(t, "f.csv", "surfac\xe9,y\n", 30, row("#,#")), "y"},
		"than float32 tells":       {write(t, "f.csv", "x,y\n", 30, row("#,171983512#.5")), "y"},
		"is a Parquet file":        {write(t, "f.csv", "PAR1\x15", 30, row("#")), "y"},
		"a zip file or a workbook": {write(t, "f.csv", "PK\x03\x04\r", 30, row("#")), "y"},
		"file is cut off":          {cut(t), "y"},
		"in every row, as a row's": {write(t, "f.csv", "x,user_id\n", 30, func(i int, _ *rand.Rand) string { return fmt.Sprintf("%d,%d", i%7, 7919*i%1000) }), "user_id"},
		"is a directory: name":     {t.TempDir(), "y"},
		"holds arrays":             {write(t, "f.json", "", 30, row(`{"x": #, "y": [#]}`)), "y"},
	} {
		if _, err := Write(filepath.Join(t.TempDir(), "p"), c.path, "", c.label, nil); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("wanted %q: %v", want, err)
		}
	}
}

// TestNumbersOfLabels: the constants that scale a label are numbers with a point, and tell labels apart that are close
// to each other.
func TestNumbersOfLabels(t *testing.T) {
	for want, label := range map[string]func(i int) any{
		"var unit = dataset.Scaling{Mean: 5.0038e+05, Std: 2.941e+05}": func(i int) any { return 1000 + 20383*i },
		"var unit = dataset.Scaling{Mean: 13.0, Std: 2.0}":             func(i int) any { return []int{10, 12, 13, 14, 16}[i%5] },
		"var unit = dataset.Scaling{Mean: 1719835.0, Std: 144.3}":      func(i int) any { return 1719590 + 10*i },
		"var unit = dataset.Scaling{Mean: 2.45e-06, Std: 1.443e-06}":   func(i int) any { return 1e-7 * float64(i) },
	} {
		data := write(t, "rows.csv", "\ufeffx,y\n", 50, func(i int, r *rand.Rand) string {
			return fmt.Sprintf("%v,%v",
				r.Float64(), label(i))
		})
		dir := filepath.Join(t.TempDir(), "p")
		_, err := Write(dir, data, "", "y", nil)
		text, _ := os.ReadFile(filepath.Join(dir, "main.go"))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%v; no %q in\n%s", err, want, text)
		}
	}
}

// TestOddNames: names that are no UTF-8, have line ends or are empty, and directories of any name and behind links,
// make programs too.
func TestOddNames(t *testing.T) {
	root := t.TempDir()
	data := write(t, "rows.csv", ",surfacé,\"two\tlines\",y\n", 50, func(i int, r *rand.Rand) string {
		return fmt.Sprintf("%d,%v,%c,%d", i, r.Float64(), 'a'+i%5, i%2)
	})
	far, link := filepath.Join(root, "a", "b", "c"), filepath.Join(root, "link")
	if err := errors.Join(os.MkdirAll(far, 0o700), os.Symlink(far, link)); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(link, "été")
	p, err := Write(dir, data, "", "y", nil)
	if err != nil || p.Numbers != 1 || p.Categories != 1 || len(p.Left) != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	text, _ := os.ReadFile(filepath.Join(dir, "main.go"))
	if tidy, err := format.Source(text); err != nil || string(tidy) != string(text) {
		t.Errorf("%v:\n%s", err, text)
	}
	_, path, _ := strings.Cut(string(text), `flag.String("data", "`)
	path, _, _ = strings.Cut(path, `"`)
	if _, err := os.Stat(dir + "/" + path); err != nil { // not Join, which takes .. for the link's
		t.Error(err)
	}
}

// TestSample: of many lines the first is kept and others from the whole file, in order.
func TestSample(t *testing.T) {
	law.Slow(t)
	data := write(t, "f.csv", "n\n", 5*sampled, func(i int, _ *rand.Rand) string { return fmt.Sprint(i % 1000) })
	r, err := readRows(data)
	if err != nil || r.count < sampled || r.count > 2*sampled || len(r.fields[0].values) < 100 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestWidths: the net is twice as wide where rows are many enough for that.
func TestWidths(t *testing.T) {
	law.Slow(t)
	for rows, want := range map[int]string{someRows - 2: "in, 128", someRows: "in, 256", manyRows: "in, 128"} {
		data := write(t, "f.csv", "x,y\n", rows, func(i int, _ *rand.Rand) string { return fmt.Sprintf("%d.5,%d", i%1000, i%2) })
		dir := filepath.Join(t.TempDir(), "p")
		_, err := Write(dir, data, "", "y", nil)
		law.Check(t, err)
		if text, err := os.ReadFile(filepath.Join(dir, "main.go")); err != nil || !strings.Contains(string(text), "nn.Linear("+want+",") {
			t.Errorf("%d rows: %v, no %q in\n%s", rows, err, want, text)
		}
	}
}

// TestTimes: a time that all rows write by one layout becomes its parts, as far as they vary, and the column by which rows are in order.
func TestTimes(t *testing.T) {
	begin := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		field, layout, parts string
		text                 func(at time.Time) string
	}{
		"minutes":      {"departs", "2006-01-02 15:04", "Hour Weekday Month Minute YearDay Seconds", func(at time.Time) string { return at.Format("2006-01-02 15:04") }},
		"offsets":      {"departs", time.RFC3339, "Hour Weekday Month Minute YearDay Seconds", func(at time.Time) string { return at.Format(time.RFC3339) }},
		"days":         {"departs", "02/01/2006", "Weekday Month YearDay Seconds", func(at time.Time) string { return at.Format("02/01/2006") }},
		"seconds":      {"paid_at", "", "Hour Weekday Month Minute YearDay Seconds", func(at time.Time) string { return fmt.Sprint(at.Unix()) }},
		"milliseconds": {"timestamp", "ms", "Hour Weekday Month Minute YearDay Seconds", func(at time.Time) string { return fmt.Sprint(at.UnixMilli()) }},
		"numbers":      {"distance", "", "", func(at time.Time) string { return fmt.Sprint(at.Unix()) }},
		"two layouts":  {"departs", "", "", func(at time.Time) string { return at.Format([]string{time.DateOnly, "02.01.2006"}[at.Minute()%2]) }},
		"few absent":   {"when", "2006-01-02 15:04", "Hour Weekday Month Minute YearDay Seconds", func(at time.Time) string { return []string{"NA", at.Format("2006-01-02 15:04")}[min(at.Minute(), 1)] }},
	} {
		data := write(t, "rows.csv", c.field+",x,y\n", 400, func(i int, r *rand.Rand) string {
			return fmt.Sprintf("%s,%v,%d", c.text(begin.Add(time.Duration(i)*1327*time.Minute)), r.Float64(), i%2)
		})
		dir := filepath.Join(t.TempDir(), "p")
		if _, err := Write(dir, data, "", "y", nil); err != nil {
			t.Fatal(err)
		}
		text, _ := os.ReadFile(filepath.Join(dir, "main.go"))
		if tidy, err := format.Source(text); err != nil || string(tidy) != string(text) {
			t.Errorf("%s: %v:\n%s", name, err, text)
		}
		var parts []string
		for _, m := range regexp.MustCompile(`From: \[\]string\{"`+c.field+`"\}, Part: dataset\.(\w+)(, Layout: "(.*)")?\}`).FindAllStringSubmatch(string(text), -1) {
			if parts = append(parts, m[1]); m[3] != c.layout {
				t.Errorf("%s: the layout is %q, want %q", name, m[3], c.layout)
			}
		}
		if got := strings.Join(parts, " "); got != c.parts {
			t.Errorf("%s: parts are %q, want %q in\n%s", name, got, c.parts, text)
		}
		readme, _ := os.ReadFile(filepath.Join(dir, "README.md"))
		if latest := strings.Contains(string(readme), "LastBy"); latest != (c.parts != "") || strings.Contains(string(text), "LastBy: ") != latest {
			t.Errorf("%s: LastBy in README is %v:\n%s", name, latest, readme)
		}
	}
}

// TestLists: several values in a row, in arrays or between separators, are pooled rows of their own; ids stay as they are.
func TestLists(t *testing.T) {
	law.Slow(t)
	words := []string{"rock", "pop", "folk", "jazz", "soul"}
	pick := func(r *rand.Rand, n int, sep string) string {
		var some []string
		for range n {
			some = append(some, words[r.IntN(5)])
		}
		return strings.Join(some, sep)
	}
	numbers := func(r *rand.Rand, n int, form string) string {
		var some []string
		for range n {
			some = append(some, fmt.Sprintf(form, r.Float64()*100))
		}
		return "[" + strings.Join(some, ",") + "]"
	}
	padded := func(r *rand.Rand) string {
		n := 1 + r.IntN(4)
		return "[" + strings.Repeat("7,", n) + strings.TrimSuffix(strings.Repeat("0,", 5-n), ",") + "]"
	}
	table := `nn.EmbeddingOptions{Name: "table", Height: categories, Dim: 8}`
	for name, c := range map[string]struct {
		value      func(i int, r *rand.Rand) string // of JSON, or of CSV where it begins with "
		separators map[string]string
		want       []string // in main.go
		not        string
	}{
		"ids": {func(i int, r *rand.Rand) string { return numbers(r, r.IntN(4), "%.0f") }, nil, []string{
			`{Column: dataset.Varying(dataset.Ints("f"))},`, `nn.EmbeddingPool(g.Slot("f"), nn.PoolMean, nn.EmbeddingOptions{Name: "f table", Dim: 8})`}, "Hash: "},
		"words": {func(i int, r *rand.Rand) string { return `["` + pick(r, 1+i%3, `","`) + `"]` }, nil, []string{
			`{Column: dataset.Varying(dataset.Ints("f")), Hash: categories},`, `nn.EmbeddingPool(g.Slot("f"), nn.PoolMean, table)`, table}, "Separator"},
		"some alone": {func(i int, r *rand.Rand) string { return []string{`["a","b"]`, `"c"`, `null`, `[]`}[i%4] }, nil, []string{
			`dataset.Varying(dataset.Ints("f")), Hash: categories}`}, ""},
		"ids and a text":      {func(i int, r *rand.Rand) string { return []string{`[1,2]`, `"c"`, `[3]`, `4`}[i%4] }, nil, []string{`Hash: categories}`}, ""},
		"of negative numbers": {func(i int, r *rand.Rand) string { return numbers(r, r.IntN(3), "-%.0f") }, nil, []string{"Hash: categories}"}, ""},
		"padded": {func(i int, r *rand.Rand) string { return padded(r) }, nil, []string{
			`nn.EmbeddingPool(g.Slot("f"), nn.PoolMeanUnpadded, nn.EmbeddingOptions{Name: "f table", Dim: 8, PaddingIdx: new(int64(0))})`}, ""},
		"as many numbers": {func(i int, r *rand.Rand) string { return numbers(r, 3, "%.2f") }, nil, []string{
			`{Column: dataset.Floats("f", 3), Missing: "0", Scale: []dataset.Scaling{{Mean: `, `g.Input("f", 3)`}, "Slot"},
		"few or many": {func(i int, r *rand.Rand) string { return numbers(r, 1+i%3, "%.2f") }, nil, []string{"has arrays of numbers, of 1 to 3: write as many"}, "Slot"},
		"objects":     {func(i int, r *rand.Rand) string { return `{"a":1}` }, nil, []string{"f holds objects, or arrays of arrays"}, "Slot"},
		"nested":      {func(i int, r *rand.Rand) string { return `[[1],[2]]` }, nil, []string{"f holds objects, or arrays of arrays"}, "Slot"},
		"same":        {func(i int, r *rand.Rand) string { return `["a"]` }, nil, []string{"f has the same value in all lists"}, "Slot"},
		"bars":        {func(i int, r *rand.Rand) string { return `"` + pick(r, i%4, "|") + `"` }, nil, []string{`Hash: categories, Separator: "|"},`}, ""},
		"commas":      {func(i int, r *rand.Rand) string { return `"` + pick(r, 1+i%4, ", ") + `"` }, nil, []string{`Hash: categories, Separator: ","},`}, ""},
		"ids in texts": {func(i int, r *rand.Rand) string {
			return `"` + strings.ReplaceAll(strings.Trim(numbers(r, i%4, "%.0f"), "[]"), ",", ";") + `"`
		}, nil, []string{`dataset.Varying(dataset.Ints("f")), Separator: ";"},`}, "Hash"},
		"numbers in texts": {func(i int, r *rand.Rand) string { return fmt.Sprintf(`"%.2f|%.2f"`, r.Float64(), r.Float64()) }, nil, []string{
			`f has several numbers in a text, parted by "|"`}, "Slot"},
		"sentences":  {func(i int, r *rand.Rand) string { return fmt.Sprintf(`"%s %d"`, pick(r, 3, " "), i) }, nil, []string{`Separator: " "},`}, ""},
		"names":      {func(i int, r *rand.Rand) string { return `"New ` + pick(r, 1, "") + `"` }, nil, []string{`Fields: []string{"f"}, Hash: categories`}, "Separator"},
		"few parted": {func(i int, r *rand.Rand) string { return `"` + pick(r, 1+i%5/4, "|") + `"` }, nil, []string{`Fields: []string{"f"}, Hash: categories`}, "Separator"},
		"said to be": {func(i int, r *rand.Rand) string { return `"` + pick(r, 1+i%5/4, "/") + `"` }, map[string]string{"f": "/"}, []string{`Separator: "/"`}, ""},
		"said not":   {func(i int, r *rand.Rand) string { return `"` + pick(r, 2, "|") + `"` }, map[string]string{"f": ""}, []string{`Fields: []string{"f"}, Hash: categories`}, "Separator"},
		"label":      {func(i int, r *rand.Rand) string { return fmt.Sprintf(`["a"], "label": ["b", %d]`, i%7) }, nil, []string{`dataset.Varying(dataset.Ints("label_")), Fields: []string{"label"}, Hash: categories}`, `g.Slot("label_")`}, ""},
	} {
		paths := []string{write(t, "rows.jsonl", "", 60, func(i int, r *rand.Rand) string {
			return fmt.Sprintf(`{"f": %s, "x": %v, "y": %d}`, c.value(i, r), r.Float64(), i%2)
		})}
		if c.value(0, rand.New(rand.NewPCG(1, 1)))[0] == '"' {
			paths = append(paths, write(t, "rows.csv", "f,x,y\n", 60, func(i int, r *rand.Rand) string {
				return fmt.Sprintf("%s,%v,%d", c.value(i, r), r.Float64(), i%2)
			}))
		}
		for _, path := range paths {
			dir := filepath.Join(t.TempDir(), "p")
			if _, err := Write(dir, path, "", "y", c.separators); err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			text, _ := os.ReadFile(filepath.Join(dir, "main.go"))
			if tidy, err := format.Source(text); err != nil || string(tidy) != string(text) {
				t.Errorf("%s is not formatted, %v:\n%s", name, err, text)
			}
			for _, want := range c.want {
				if !strings.Contains(string(text), want) {
					t.Errorf("%s: no %s in\n%s", name, want, text)
				}
			}
			if c.not != "" && strings.Contains(string(text), c.not) {
				t.Errorf("%s: %s in\n%s", name, c.not, text)
			}
		}
	}
	arrays := write(t, "rows.jsonl", "", 60, func(i int, r *rand.Rand) string { return fmt.Sprintf(`{"f": ["a%d"], "y": %d}`, i%5, i%2) })
	for field, want := range map[string]string{"tags": `no field "tags" for -list`, "F": `did you mean "f"?`, "y": "is the label", "f": "holds arrays of JSON"} {
		if _, err := Write(filepath.Join(t.TempDir(), "p"), arrays, "", "y", map[string]string{field: "|"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("-list of %s: %v", field, err)
		}
	}
}

// TestWritten: what is written is a program of this module, which -check finds nothing wrong with: its own test passes, whatever the fields
// are named.
func TestWritten(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	hostile := []string{"table", "chance", "x", "x table", "x.offsets", "when", "label", "numbers", "func", "a\"b", "two\nlines", "back`tick", "*/", " ", "%d%s", "a\\b",
		"../../etc", "nul\x00", "bom\ufeff", "''quoted''", "\u202e\x1b[2J", "日本"}
	data := write(t, "rows.jsonl", "", 200, func(i int, r *rand.Rand) string {
		y := i % 2
		row := map[string]any{"ids": []int{y + i%9, 3}, "pad": []int{1 + i%4, i % 2, 0}, "words": []string{fmt.Sprint("a", y+i%5)}, "tags": fmt.Sprintf("b%d|c%d", i%5, i%3),
			"v": []float64{r.Float64(), r.Float64()}, "city": fmt.Sprint("d", i%7), "day": fmt.Sprintf("2024-01-%02d", 1+i%28), "sold": i * i % 97, "y": []string{"no", "\"yes\"\n"}[y]}
		for k, name := range hostile {
			row[name] = []any{[]int{i % (5 + k), 7}, r.Float64(), []string{fmt.Sprint("e", i%4)}}[k%3*min(1, k/5)]
		}
		text, _ := json.Marshal(row)
		return string(text)
	})
	dir := filepath.Join(t.TempDir(), "p")
	p, err := Write(dir, data, "", "y", nil)
	if err != nil || len(p.Lists) != 21 || len(p.Left) != 0 || strings.ContainsAny(fmt.Sprint(p.Lists), "\x00\x1b\n") {
		t.Fatalf("%+v, %v", p, err)
	}
	written, _ := os.ReadFile(filepath.Join(dir, "main.go"))
	if tidy, err := format.Source(written); err != nil || string(tidy) != string(written) {
		t.Errorf("%v:\n%s", err, written)
	}
	overlay, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "program.exe") // as Windows wants it
	replaced := map[string]string{}
	for _, file := range []string{"main.go", "main_test.go"} {
		replaced[filepath.Join(here, "written", file)] = filepath.Join(dir, file)
	}
	text, _ := json.Marshal(map[string]any{"Replace": replaced})
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-ldflags=-s -w", "-c", "-o", program, "-overlay", overlay, "./written").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	run := exec.CommandContext(t.Context(), program, "-test.v")
	run.Dir = dir
	if said, err := run.CombinedOutput(); err != nil || !strings.Contains(string(said), "nothing to look at") {
		t.Errorf("%v\n%s", err, said)
	} else {
		t.Logf("%s", said)
	}
}

// TestNumbers: whole numbers are numbers, also few ones, and categories too where each tells of the label what its size does not; what is
// named as an id is no number, and neither is a row's own number, in whatever steps.
func TestNumbers(t *testing.T) {
	data := write(t, "rows.csv", "item,age,user_id,price,row,own,y\n", 2000, func(i int, r *rand.Rand) string {
		item, age := r.IntN(90), 20+r.IntN(40)
		return fmt.Sprintf("%d,%d,%d,%d,%d,%d,%d", item, age, r.IntN(900), i*7919%100_003, 7*i, i*7919%2003,
			drawn(r, 2*effect(item)+float64(age-40)/10))
	})
	dir := filepath.Join(t.TempDir(), "p")
	p, err := Write(dir, data, "", "y", nil)
	if want := []string{"each of row, own is another number in every row, as a row's own is"}; err != nil || !slices.Equal(p.Left, want) {
		t.Fatalf("%q, %v", p.Left, err)
	}
	text, _ := os.ReadFile(filepath.Join(dir, "main.go"))
	for _, want := range []string{`"item", "age", "price",`, "// Whole numbers of which each tells", `Fields: []string{"user_id", "item"}, Hash`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

// TestBuckets: a number whose size tells of the label in no simple way has buckets as a category beside it, and one that is missing where
// the label is another has too.
func TestBuckets(t *testing.T) {
	data := write(t, "rows.csv", "wave,line,gone,y\n", 2000, func(i int, r *rand.Rand) string {
		wave, line, gone := 10*r.Float64(), r.Float64(), fmt.Sprint(r.Float64())
		if r.IntN(3) == 0 {
			gone = "?"
		}
		return fmt.Sprintf("%v,%v,%s,%d", wave, line, gone, drawn(r, 3*math.Sin(wave)+line+3*float64(len("?")/len(gone))))
	})
	dir := filepath.Join(t.TempDir(), "p")
	if _, err := Write(dir, data, "", "y", nil); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(filepath.Join(dir, "main.go"))
	for _, want := range []string{`NAs: append(dataset.UsualNAs(), "?"), Derived`, `{Name: "wave bucket", From: []string{"wave"}, Buckets: `,
		`Fields: []string{"wave bucket", "gone bucket"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	alone := write(t, "rows.csv", "wave,y\n", 2000, func(i int, r *rand.Rand) string {
		wave := 10 * r.Float64()
		return fmt.Sprintf("%v,%d", wave, drawn(r, 3*math.Sin(wave)))
	})
	crosses, main := crossesOf(t, alone)
	if len(crosses) > 0 || !strings.Contains(main, `{Name: "wave bucket", From`) || !strings.Contains(main, "// Numbers in buckets.") {
		t.Errorf("%q, or no buckets, in\n%s", crosses, main)
	}
}

// TestRowsToTest: rows of another file to test on are the program's, and are refused if they lack a field or are written in another way.
func TestRowsToTest(t *testing.T) {
	row := func(form string) func(int, *rand.Rand) string {
		return func(i int, r *rand.Rand) string { return fmt.Sprintf(form, r.Float64(), i%2) }
	}
	data := write(t, "rows.csv", "x,y\n", 50, row("%v,%d"))
	dir := filepath.Join(t.TempDir(), "p")
	if _, err := Write(dir, data, write(t, "more.csv", "x,z,y\n", 50, row("%v,1,%d")), "y", nil); err != nil {
		t.Fatal(err)
	}
	main, _ := os.ReadFile(filepath.Join(dir, "main.go"))
	readme, _ := os.ReadFile(filepath.Join(dir, "README.md"))
	if tidy, err := format.Source(main); err != nil || string(tidy) != string(main) || !strings.Contains(string(main), "more.csv") ||
		!strings.Contains(string(main), "Test: []string{*test}}") || strings.Contains(string(main)+string(readme), "tenth") {
		t.Errorf("%v:\n%s\n%s", err, main, readme)
	}
	for want, test := range map[string]string{
		`has no field "y"`:          write(t, "more.csv", "x,z\n", 50, row("%v,%d")),
		"is written in another way": write(t, "more.csv", "x;y\n", 50, row("%v;%d")),
		"no such file":              "absent.csv",
	} {
		if _, err := Write(filepath.Join(t.TempDir(), "p"), data, test, "y", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("wanted %q: %v", want, err)
		}
	}
}

// TestCodes: a text in up to half of a field's numbers means no value, and so does any text in a row of two hundred; others make it a
// category, or a text.
func TestCodes(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		every int
		want  string // in main.go
	}{
		"a dash":           {"-", 3, `NAs: append(dataset.UsualNAs(), "-"),`},
		"a word":           {"unknown", 2, `NAs: append(dataset.UsualNAs(), "unknown"),`},
		"more than half":   {"-", 1, `Fields: []string{"amount"}, Hash`},
		"a cell":           {"1_000", 400, `NAs: append(dataset.UsualNAs(), "1_000"),`},
		"too large":        {"1e400", 400, `NAs: append(dataset.UsualNAs(), "1e400"),`},
		"digits often":     {"0x11", 3, `Fields: []string{"amount"}, Hash`},
		"the label has it": {"yes", 3, `Fields: []string{"amount"}, Hash`},
	} {
		data := write(t, "rows.csv", "x,amount,y\n", 400, func(i int, r *rand.Rand) string {
			amount := fmt.Sprintf("%.2f", 1000*r.Float64())
			if i%c.every == 0 && (c.every > 1 || i%8 > 0) {
				amount = c.text
			}
			return fmt.Sprintf("%v,%s,%s", r.Float64(), amount, []string{"no", "yes"}[i%2])
		})
		dir := filepath.Join(t.TempDir(), "p")
		_, err := Write(dir, data, "", "y", nil)
		text, _ := os.ReadFile(filepath.Join(dir, "main.go"))
		if err != nil || !strings.Contains(string(text), c.want) {
			t.Errorf("%s, %v: no %s in\n%s", name, err, c.want, text)
		}
	}
}

// TestScales: a number in another unit in one cell does not make all others the same.
func TestScales(t *testing.T) {
	f := newField("x")
	for i := range 2000 {
		f.see(fmt.Sprint(20 + i*7%60))
	}
	clean := f.scale()
	f.see("12345678901234567890")
	f.see("-999")
	if s := f.scale(); s.log || math.Abs(s.mean-clean.mean) > 1 || math.Abs(s.deviation-clean.deviation) > 10 {
		t.Errorf("%+v, want about %+v", s, clean)
	}
	if got := clean.of(1e18); got != mostDeviations {
		t.Errorf("far out is %v", got)
	}
}

// TestLeftOut: fields that are left out for one reason are told of together.
func TestLeftOut(t *testing.T) {
	data := write(t, "rows.csv", "a,b,c,d,e,f,g,h,x,y\n", 50, func(i int, r *rand.Rand) string {
		return fmt.Sprintf("1,1,1,1,1,1,1,%d,%v,%d", i, r.Float64(), i%2)
	})
	p, err := Write(filepath.Join(t.TempDir(), "p"), data, "", "y", nil)
	if want := []string{"each of 7 fields (a, b … g) is the same in every row", "h is another number in every row, as a row's own is"}; err != nil || !slices.Equal(p.Left, want) {
		t.Errorf("%q, %v", p.Left, err)
	}
}

// TestLabelsOfTexts: a label of texts, or of two numbers, is numbered; of two the second by the alphabet, or the larger, is the one whose
// chance is foretold.
func TestLabelsOfTexts(t *testing.T) {
	for _, c := range []struct {
		labels       []string
		values, task string
	}{
		{[]string{"Yes", "No"}, `dataset.Floats("label"), Fields: []string{"y"}, Values: []string{"No", "Yes"}}`, `the chance that it is "Yes"`},
		{[]string{"true", "false"}, `Values: []string{"false", "true"}}`, `the chance that it is "true"`},
		{[]string{"10", "9"}, `Values: []string{"9", "10"}}`, `the chance that it is "10"`},
		{[]string{"-1", "1"}, `Values: []string{"-1", "1"}}`, `the chance that it is "1"`},
		{[]string{"0", "1"}, `dataset.Floats("label"), Fields: []string{"y"}},`, "the chance that it is 1"},
		{[]string{"red", "Blue", "green"}, `dataset.Ints("label"), Fields: []string{"y"}, Values: []string{"Blue", "green", "red"}}`,
			"which of 3 texts it is, in the order of their chances Blue, green, red"},
		{[]string{"1", "2", "3"}, `dataset.Floats("label"), Fields: []string{"y"}, Scale: []dataset.Scaling{unit}},`, "the number that it is"},
	} {
		data := write(t, "rows.csv", "x,y\n", 60, func(i int, r *rand.Rand) string {
			return fmt.Sprintf("%v,%s", r.Float64(), c.labels[i%len(c.labels)])
		})
		dir := filepath.Join(t.TempDir(), "p")
		p, err := Write(dir, data, "", "y", nil)
		text, _ := os.ReadFile(filepath.Join(dir, "main.go"))
		if err != nil || p.Task != c.task || !strings.Contains(string(text), c.values) {
			t.Errorf("%v: %+v, %v: no %s in\n%s", c.labels, p, err, c.values, text)
		}
		if tidy, err := format.Source(text); err != nil || string(tidy) != string(text) {
			t.Errorf("%v: not formatted, %v:\n%s", c.labels, err, text)
		}
	}
}

// TestMessy: a file as spreadsheets write it is read, and what can't be is said: a mark of UTF-8, line ends of Windows, blanks around fields,
// quotes, dates of many kinds, numbers with signs.
func TestMessy(t *testing.T) {
	data := write(t, "rows.csv", "\ufeffid, city, \"sold at\", price, visits, share, , , version, y\r\n", 400, func(i int, r *rand.Rand) string {
		return fmt.Sprintf("%d, \"%s\", %d/%d/2024 %d:%02d PM, \"$%d,%03d.50\", \"%d,%03d\", %.1f%%, , %d, v1, %s\r", i, []string{"Ulm, \"\"Süd\"\"", "Köln", "", "Bonn"}[i%4],
			1+i%12, 1+i%28, 1+i%12, i%60, 1+i%9, r.IntN(1000), 1+i%7, r.IntN(1000), r.Float64()*100, i%5, []string{"No", "Yes"}[i%2])
	})
	dir := filepath.Join(t.TempDir(), "p")
	p, err := Write(dir, data, "", "y", nil)
	if err != nil {
		t.Fatal(err)
	}
	left := []string{"id is another number in every row, as a row's own is", "each of price, visits, share has numbers with signs or commas: " +
		"write 1234.5 for $1,234.50, 1.234,5 or 1 234.5", "each of field 7, field 8 has no name, as a table's index", "version is the same in every row"}
	if !slices.Equal(p.Left, left) {
		t.Errorf("left out are %q", p.Left)
	}
	text, _ := os.ReadFile(filepath.Join(dir, "main.go"))
	for _, want := range []string{"dataset.CSV{Trim: true, NAs", `Fields: []string{"city", "sold at hour", "sold at weekday", "sold at month"`, `Layout: "1/2/2006 3:04 PM"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

// keep keeps the drawn programs, with their rows, for .ci/outside programs.
var keep = flag.String("keep", "", "directory for drawn programs")

// TestWhatIsWrittenCompiles: a program of any kinds of fields, each of which may be absent, has no error of types: of crosses of numbers
// alone too.
func TestWhatIsWrittenCompiles(t *testing.T) {
	law.Slow(t)
	kinds := []struct {
		header string
		cell   func(i int, r *rand.Rand) string
	}{
		{"c", func(_ int, r *rand.Rand) string { return []string{"red", "blue", "green"}[r.IntN(3)] }},
		{"at", func(i int, r *rand.Rand) string { return fmt.Sprintf("2024-%02d-%02d", 1+r.IntN(12), 1+i%28) }},
		{"text", func(i int, r *rand.Rand) string { return fmt.Sprint("a text of row ", i) }},
		{"user_id", func(_ int, r *rand.Rand) string { return fmt.Sprint(r.IntN(200)) }},
		{"tags", func(_ int, r *rand.Rand) string { return []string{"a|b", "b|c|d", "a|d", "c"}[r.IntN(4)] }},
		{"age", func(_ int, r *rand.Rand) string { return []string{"?", fmt.Sprint(r.IntN(60))}[r.IntN(2)] }},
		{"a,b", nil}, // two numbers, of which together the label is made
	}
	labels := map[string]func(a, b float64) string{
		"chance": func(a, b float64) string { return map[bool]string{true: "1", false: "0"}[(a > 0) != (b > 0)] },
		"class":  func(a, _ float64) string { return fmt.Sprint("of ", int(min(max(a+1, 0), 2))) },
		"amount": func(a, b float64) string { return fmt.Sprintf("%.4f", a+b) },
	}
	exports, crosses := exported(t), 0
	for mask := 1; mask < 1<<len(kinds); mask++ {
		if mask == 4 { // a text alone is no field to learn from
			continue
		}
		header, task := "", slices.Sorted(maps.Keys(labels))[mask%3]
		for k, kind := range kinds {
			if mask>>k&1 > 0 {
				header += kind.header + ","
			}
		}
		data := write(t, "rows.csv", header+"y\n", 1000, func(i int, r *rand.Rand) string {
			row, a, b := "", r.NormFloat64(), r.NormFloat64()
			for k, kind := range kinds {
				switch {
				case mask>>k&1 == 0:
				case kind.cell == nil:
					row += fmt.Sprintf("%.4f,%.4f,", a, b)
				default:
					row += kind.cell(i, r) + ","
				}
			}
			return row + labels[task](a, b)
		})
		dir := filepath.Join(t.TempDir(), "p")
		if *keep != "" {
			dir = filepath.Join(*keep, fmt.Sprint(mask))
			law.Check(t, os.Rename(data, dir+".csv"))
			data = dir + ".csv"
		}
		p, err := Write(dir, data, "", "y", nil)
		if err != nil {
			t.Fatalf("%s of %s: %v", task, header, err)
		}
		if crosses += p.Crosses; mask == 1<<6 && p.Crosses == 0 {
			t.Error("no cross of two numbers whose signs together are the label")
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, filepath.Join(dir, "main.go"), nil, 0)
		law.Check(t, err)
		if _, err := (&types.Config{Importer: exports}).Check("main", set, []*ast.File{file}, nil); err != nil {
			t.Errorf("%s of %s: %v", task, header, err)
		}
	}
}

// exported imports packages as the go command has built them.
func exported(t *testing.T) types.Importer {
	t.Helper()
	said, err := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", "../../fleet/train").Output()
	law.Check(t, err)
	files := map[string]string{}
	for line := range strings.Lines(string(said)) {
		name, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		files[name] = file
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(name string) (io.ReadCloser, error) { return os.Open(files[name]) })
}

// TestRowsByTheDay: a program for days is written by the last complete one, reads them all, and has no error of types; a directory without a
// complete day is refused.
func TestRowsByTheDay(t *testing.T) {
	law.Slow(t)
	logs := t.TempDir()
	for _, day := range []struct {
		name, header string
		ends         bool
	}{{"0410", "x,y", true}, {"0411", "at,x,c,y", true}, {"0412", "other", false}} {
		data := write(t, "rows.csv", day.header+"\n", 400, func(i int, r *rand.Rand) string {
			row := fmt.Sprintf("2024-04-11 %02d:00,%v,%c,%d", i%24, r.Float64(), 'a'+i%5, i%2)
			cells := strings.Split(row, ",")
			return strings.Join(cells[len(cells)-1-strings.Count(day.header, ","):], ",")
		})
		law.Check(t, os.MkdirAll(filepath.Join(logs, day.name, "hour"), 0o700))
		law.Check(t, os.Rename(data, filepath.Join(logs, day.name, "hour", "rows.csv")))
		law.Check(t, os.WriteFile(filepath.Join(logs, day.name, "a.csv"), []byte("other\n1\n"), 0o600))
		if day.ends {
			law.Check(t, os.WriteFile(filepath.Join(logs, day.name, "_SUCCESS"), bytes.Repeat([]byte("{}"), 1<<16), 0o600))
		}
	}
	dir := filepath.Join(t.TempDir(), "p")
	p, err := WriteDays(dir, logs, "y", nil)
	if err != nil || p.Rows != 400 || p.Numbers != 1 || p.Categories != 2 {
		t.Fatalf("%+v, %v", p, err)
	}
	linked := t.TempDir()
	law.Check(t, os.Symlink(filepath.Join(logs, "0411"), filepath.Join(linked, "dt=0411")))
	if p, err := WriteDays(filepath.Join(t.TempDir(), "p"), linked, "y", nil); err != nil || p.Rows != 400 {
		t.Errorf("a linked day: %+v, %v", p, err)
	}
	var parsed []*ast.File
	set := token.NewFileSet()
	for _, name := range []string{"main.go", "main_test.go"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		law.Check(t, err)
		if tidy, err := format.Source(text); err != nil || string(tidy) != string(text) {
			t.Errorf("%s is not formatted, %v:\n%s", name, err, text)
		}
		if !strings.Contains(string(text), "train.Days{Dir: ") || strings.Contains(string(text), "HeldOut") || strings.Contains(string(text), "Seconds") {
			t.Errorf("%s has no days, or parts of a file:\n%s", name, text)
		}
		file, err := parser.ParseFile(set, name, text, 0)
		law.Check(t, err)
		if name == "main.go" {
			parsed = append(parsed, file)
		}
	}
	if _, err := (&types.Config{Importer: exported(t)}).Check("main", set, parsed, nil); err != nil {
		t.Error(err)
	}
	law.Check(t, errors.Join(os.Remove(filepath.Join(logs, "0411", "_SUCCESS")), os.Remove(filepath.Join(logs, "0410", "_SUCCESS"))))
	if _, err := WriteDays(filepath.Join(t.TempDir(), "p"), logs, "y", nil); err == nil || !strings.Contains(err.Error(), "no complete day") {
		t.Errorf("without a complete day: %v", err)
	}
	put := filepath.Join(logs, "04 13")
	law.Check(t, errors.Join(os.Mkdir(put, 0o700), os.WriteFile(filepath.Join(put, "_SUCCESS"), nil, 0o600)))
	if _, err := WriteDays(filepath.Join(t.TempDir(), "p"), logs, "y", nil); err == nil || !strings.Contains(err.Error(), "04 13 is named with ' '") {
		t.Errorf("a day of another name: %v", err)
	}
}
