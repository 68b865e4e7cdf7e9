package train

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet/train/internal/verdict"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
)

// flights are lines whose label follows from x and from the carrier, and has nothing to do with noise.
func flights(n int, keep func(carrier string) bool) string {
	r := rand.New(rand.NewPCG(uint64(n), 5))
	var text strings.Builder
	text.WriteString("carrier,x,noise,late\n")
	for range n {
		carrier, x, noise := int(25*math.Pow(r.Float64(), 2)), r.Float64(), r.Float64()
		late := 0
		if r.Float64() < 1/(1+math.Exp(4-6*x-float64(carrier%2)*2)) {
			late = 1
		}
		if name := fmt.Sprintf("c%02d", carrier); keep(name) {
			fmt.Fprintf(&text, "%s,%g,%g,%d\n", name, x, noise, late)
		}
	}
	return text.String()
}

// flightsFormat has two numbers in one column, and a hash of the carrier in two.
func flightsFormat() dataset.CSV {
	return dataset.CSV{Schema: []dataset.CSVColumn{
		{Column: dataset.Floats("numbers", 2), Fields: []string{"x", "noise"}},
		{Column: dataset.Ints("names"), Fields: []string{"carrier"}, Hash: 1000},
		{Column: dataset.Ints("again"), Fields: []string{"carrier"}, Hash: 500},
		{Column: dataset.Floats("late")},
	}}
}

// examined runs the program of flights with flags, and gives what it says.
func examined(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	var said bytes.Buffer
	o, err := parsed(append(args, "-out="+filepath.Join(dir, "out"), "-epochs=4", "-batch=64")...)
	law.Check(t, err)
	err = start(&o, nil, func() (Job, error) {
		g := nn.NewGraph(1)
		late := g.Input("late", 1)
		carrier := nn.Reshape(nn.Embedding(g.IDs("names", 1), nn.EmbeddingOptions{Height: 1000, Dim: 1}), 1)
		again := nn.Reshape(nn.Embedding(g.IDs("again", 1), nn.EmbeddingOptions{Height: 500, Dim: 1}), 1)
		x := nn.Linear(nn.Concat(g.Input("numbers", 2), carrier, again), 1, nn.LinearOptions{})
		return Job{Options: o, Stdout: &said, Rule: optimizer.Adam{LR: 0.05}, Loss: nn.Mean(nn.BinaryCrossEntropyWithLogits(x, late)),
			Metrics: []*nn.Node{nn.AUC(nn.Sigmoid(x), late)}, Outputs: []*nn.Node{nn.Sigmoid(x)},
			Files: Files{Paths: []string{filepath.Join(dir, "train.csv")}, Format: flightsFormat()}}, nil
	})
	return said.String(), err
}

// fields are the words of the line that begins with a word.
func fields(t *testing.T, said, first string) []string {
	t.Helper()
	for line := range strings.Lines(said) {
		if words := strings.Fields(line); len(words) > 0 && words[0] == first {
			return words
		}
	}
	t.Fatalf("no line begins with %q in\n%s", first, said)
	return nil
}

// TestExamination: what is said of a carrier's rows is what -eval says of a file of these alone; the twenty commonest are told of, and the rest
// together; a field that says nothing is worth nothing, and one that stands in two columns is shuffled in both.
func TestExamination(t *testing.T) {
	t.Parallel()
	law.Slow(t)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		law.Check(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	any := func(string) bool { return true }
	write("train.csv", flights(2000, any))
	if _, err := examined(t, dir); err != nil {
		t.Fatal(err)
	}
	test := write("test.csv", flights(1500, any))
	said, err := examined(t, dir, "-eval="+test, "-by=carrier", "-importance")
	law.Check(t, err)
	for _, carrier := range []string{"c00", "c01", "c07"} {
		only, err := examined(t, dir, "-eval="+write(carrier+".csv", flights(1500, func(c string) bool { return c == carrier })))
		law.Check(t, err)
		w := fields(t, said, carrier)
		if want := fmt.Sprintf("%s rows, loss %s, auc %s", w[1], w[2], w[3]); !strings.Contains(only, ": "+want+"\nalways 0.") {
			t.Errorf("of the carrier's file -eval says\n%s, of its rows %q", only, want)
		}
	}
	if rest := fields(t, said, "5"); rest[1] != "others" {
		t.Errorf("the rest is %q", rest)
	}
	if !strings.Contains(said, ": 1500 rows, loss ") || !strings.Contains(said, "shuffled among 1500 rows") || !strings.Contains(said, "calibration error is ") {
		t.Errorf("-eval says\n%s", said)
	}
	_, shuffled, _ := strings.Cut(said, "shuffled among")
	worth := func(field string) (loss, auc float64) {
		fmt.Sscan(fields(t, shuffled, field)[1], &loss)
		fmt.Sscan(fields(t, shuffled, field)[2], &auc)
		return loss, auc
	}
	x, lost := worth("x")
	noise, _ := worth("noise")
	numbers, _ := worth("numbers")
	carrier, _ := worth("carrier")
	if x < 0.1 || lost > -0.1 || math.Abs(noise) > 0.02 || math.Abs(numbers-x) > 0.05 || carrier < 0.005 || carrier > x {
		t.Errorf("fields are worth %v, %v, %v and %v", x, noise, numbers, carrier)
	}
	for _, is := range []string{"late", "names", "again"} {
		for line := range strings.Lines(shuffled) {
			if strings.HasPrefix(strings.TrimSpace(line), is+" ") {
				t.Errorf("%s is no field that says something by itself: %s", is, line)
			}
		}
	}
	if _, err := examined(t, dir, "-eval="+test, "-by=colour"); err == nil || !strings.Contains(err.Error(), `"colour"`) {
		t.Errorf("by a field that is not there: %v", err)
	}
	if _, err := parsed("-importance"); err == nil || !strings.Contains(err.Error(), "-eval") {
		t.Errorf("-importance alone: %v", err)
	}
	if _, err := examined(t, dir, "-by=carrier"); err == nil || !strings.Contains(err.Error(), "-eval") {
		t.Errorf("-by alone: %v", err)
	}
}

// TestFieldsAndColumnsOfOneName: a field that stands in a column of several is told of where a column of its name, behind that one, has another
// field.
func TestFieldsAndColumnsOfOneName(t *testing.T) {
	t.Parallel()
	format := dataset.CSV{Schema: []dataset.CSVColumn{{Column: dataset.Floats("numbers", 2), Fields: []string{"x", "noise"}},
		{Column: dataset.Floats("x"), Fields: []string{"y"}}, {Column: dataset.Floats("late")}}}
	columns, err := format.Columns()
	law.Check(t, err)
	g := nn.NewGraph(1)
	pred := nn.Linear(nn.Concat(g.Input("numbers", 2), g.Input("x", 1)), 1, nn.LinearOptions{})
	x := Examination{Loss: nn.Mean(nn.SquareError(pred, g.Input("late", 1))), Format: format}
	want := map[string][]place{"numbers": {{column: 0}}, "x": {{0, 0, 1, false}}, "noise": {{0, 1, 2, false}}, "y": {{1, 0, 1, false}}}
	if got := x.fields(columns); !reflect.DeepEqual(got, want) {
		t.Errorf("places are %v, want %v", got, want)
	}
}

// TestExaminationOfColumns: rows of a format without names of fields are parted by a column of one number of any type, and the values of a slot are shuffled
// among rows as they are, many or few.
func TestExaminationOfColumns(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rows.txt")
	var text strings.Builder
	for i := range 400 {
		words := " word:1" // three of them, as the label is 1
		if i%2 == 1 {
			words = strings.Repeat(" word:2", 3)
		}
		fmt.Fprintf(&text, "late:%d hour:%d%s other:5 user:%d sun:%v\n", i%2, i%4, words, uint64(i%4)<<62, float32(i%4)/4)
	}
	law.Check(t, os.WriteFile(path, []byte(text.String()), 0o600))
	g := nn.NewGraph(1)
	late := g.Input("late", 1)
	word := nn.EmbeddingPool(g.Slot("word"), nn.PoolSum, nn.EmbeddingOptions{Height: 10, Dim: 1})
	other := nn.EmbeddingPool(g.Slot("other"), nn.PoolSum, nn.EmbeddingOptions{Height: 10, Dim: 1})
	loss := nn.Mean(nn.SquareError(nn.Linear(nn.Concat(word, other), 1, nn.LinearOptions{}), late))
	x := Examination{Loss: loss, Paths: []string{path}, By: "hour", Importance: true, Format: dataset.SlotText{Slots: []dataset.SlotColumn{
		{Column: dataset.Floats("late", 1)}, {Column: dataset.Ints("hour", 1)}, {Column: dataset.Varying(dataset.Ints("word"))}, {Column: dataset.Varying(dataset.Ints("other"))},
		{Column: dataset.IDs("user")}, {Column: dataset.Floats("sun", 1)}}}}
	for by, last := range map[string]string{"user": "9223372036854775808", "sun": "0.75"} {
		x.By, x.Importance = by, false
		v, err := x.Run(t.Context())
		law.Check(t, err)
		if len(v.Parts) != 4 || v.Parts[3].Name != last || v.Parts[3].Rows != 100 {
			t.Errorf("by %s: parts are %v", by, v.Parts)
		}
	}
	x.By, x.Importance = "hour", true
	v, err := x.Run(t.Context())
	law.Check(t, err)
	if len(v.Parts) != 4 || v.Parts[3].Name != "3" || v.Parts[3].Rows != 100 || v.Parts[0].Values[0] == v.Parts[1].Values[0] {
		t.Errorf("parts are %v", v.Parts)
	}
	if len(v.Fields) != 2 || v.Fields[1].Name != "other" || v.Fields[1].Values[0] != 0 || v.Fields[0].Values[0] == 0 {
		t.Errorf("fields are worth %v", v.Fields)
	}
	x.By = "word"
	if _, err := x.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "-by=word") {
		t.Errorf("by a slot: %v", err)
	}
	x.Loss = nil
	if _, err := x.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "a Loss") {
		t.Errorf("of nothing: %v", err)
	}
}

// TestImportanceOfDerivedFields: a field of the files is shuffled before others are derived of it: the model is as much worse as on files
// in which it stands in these other rows. What is derived of a field is no field of its own.
func TestImportanceOfDerivedFields(t *testing.T) {
	t.Parallel()
	derived := []dataset.Derived{{Name: "far", From: []string{"d"}, Buckets: []float64{-1, 0, 1}}, {Name: "both", From: []string{"far", "a"}},
		{Name: "hour", From: []string{"at"}, Part: dataset.Hour, Layout: "15:04"}}
	schema := []dataset.CSVColumn{{Column: dataset.Floats("x"), Fields: []string{"d"}}, {Column: dataset.Ints("C", 3), Fields: []string{"far", "both", "a"}, Hash: 1000},
		{Column: dataset.Floats("hour", 1), Missing: "-1", Scale: []dataset.Scaling{{Std: 9}}}, {Column: dataset.Floats("row")}, {Column: dataset.Floats("y")}}
	const n = 300
	r := rand.New(rand.NewPCG(3, 4))
	rows := make([][]string, n) // of row, d, a, at, y
	for i := range rows {
		d := r.NormFloat64()
		rows[i] = []string{fmt.Sprint(i), fmt.Sprintf("%.3f", d), fmt.Sprintf("k\"%d", r.IntN(4)), fmt.Sprintf("%02d:30", i%24), fmt.Sprint(d * d)}
		if i%7 == 0 {
			rows[i][3] = "NA"
		}
	}
	for name, format := range map[string]dataset.Format{
		"csv":  dataset.CSV{NA: "NA", Fields: []string{"row", "d", "a", "at", "y"}, Derived: derived, Schema: schema},
		"json": dataset.JSONLines{NAs: []string{"NA"}, Derived: derived, Schema: schema},
	} {
		write := func(rows [][]string) string {
			var text strings.Builder
			for _, row := range rows {
				if name == "csv" {
					row = slices.Clone(row)
					row[2] = `"` + strings.ReplaceAll(row[2], `"`, `""`) + `"`
					fmt.Fprintln(&text, strings.Join(row, ","))
					continue
				}
				fmt.Fprintf(&text, `{"row":%s,"d":%s,"a":%q,"at":%q,"y":%s}`+"\n", row[0], row[1], row[2], row[3], row[4])
			}
			path := filepath.Join(t.TempDir(), name)
			law.Check(t, os.WriteFile(path, []byte(text.String()), 0o600))
			return path
		}
		g := nn.NewGraph(1)
		ids := nn.Reshape(nn.Embedding(g.IDs("C", 3), nn.EmbeddingOptions{Height: 1000, Dim: 2, Init: optimizer.Uniform{Low: -1, High: 1}}), 6)
		pred := nn.Linear(nn.Concat(g.Input("x", 1), ids, g.Input("hour", 1)), 1, nn.LinearOptions{})
		x := Examination{Loss: nn.Mean(nn.SquareError(pred, g.Input("y", 1))), Format: format, Paths: []string{write(rows)}, Importance: true, Seed: 5}
		v, err := x.Run(t.Context())
		law.Check(t, err)
		loaded, _, err := Files{Format: format, Paths: x.Paths, HeldOut: -1}.Load(t.Context())
		law.Check(t, err)
		batch, err := loaded.Shuffle(5).Take(n).Batch(t.Context())
		law.Check(t, err)
		shuffled := []string{"C", "a", "at", "d"} // C as a whole
		for i, field := range shuffled[1:] {
			order := rand.New(rand.NewPCG(5, uint64(i+1))).Perm(n)
			again := make([][]string, n)
			for r, other := range order {
				at := map[string]int{"a": 2, "at": 3, "d": 1}[field]
				mine, others := rows[int(batch["row"].Float32s()[r])], rows[int(batch["row"].Float32s()[other])]
				again[r] = slices.Clone(mine)
				again[r][at] = others[at]
			}
			by, err := Examination{Loss: x.Loss, Format: format, Paths: []string{write(again)}}.Run(t.Context())
			law.Check(t, err)
			at := slices.IndexFunc(v.Fields, func(p verdict.Part) bool { return p.Name == field })
			want := by.Values[0] - v.Values[0]
			if at < 0 || math.Abs(v.Fields[at].Values[0]-want) > 1e-6 || want == 0 {
				t.Errorf("%s: %s is worth %v, want %v", name, field, v.Fields, want)
			}
		}
		if len(v.Fields) != len(shuffled) {
			t.Errorf("%s: fields are %v, want %v", name, v.Fields, shuffled)
		}
	}
	hidden := Examination{Format: dataset.CSV{Fields: []string{"d", "y"}, Derived: []dataset.Derived{{Name: "d", From: []string{"d"}, Buckets: []float64{0}},
		{Name: "e", From: []string{"d"}, Buckets: []float64{0}}}, Schema: []dataset.CSVColumn{{Column: dataset.Floats("x", 2), Fields: []string{"d", "e"}}, {Column: dataset.Floats("y")}}}, Importance: true}
	g := nn.NewGraph(1)
	hidden.Loss = nn.Mean(nn.SquareError(nn.Linear(g.Input("x", 2), 1, nn.LinearOptions{}), g.Input("y", 1)))
	if _, err := hidden.Run(t.Context()); err == nil || !strings.Contains(err.Error(), `"d" is a field of the files and a Derived one`) {
		t.Errorf("of a field behind a derived one: %v", err)
	}
}

// TestWhatNamesMean: -by names a derived field before one of the files, never a column; LastBy and GroupBy name a column, never a field.
func TestWhatNamesMean(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rows.csv")
	var text strings.Builder
	text.WriteString("d,user,raw\n")
	for i := range 60 {
		fmt.Fprintf(&text, "%d,u%d,\x1b[2J\x9b%d\n", i, i%3, i%2)
	}
	law.Check(t, os.WriteFile(path, []byte(text.String()), 0o600))
	format := dataset.CSV{Derived: []dataset.Derived{{Name: "far", From: []string{"d"}, Buckets: []float64{15}}, {Name: "user", From: []string{"user", "far"}}},
		Schema: []dataset.CSVColumn{{Column: dataset.Floats("x"), Fields: []string{"d"}}, {Column: dataset.Ints("bucket"), Fields: []string{"far"}},
			{Column: dataset.Ints("who"), Fields: []string{"user"}, Hash: 1 << 20}, {Column: dataset.Floats("d"), Fields: []string{"far"}}}}
	g := nn.NewGraph(1)
	loss := nn.Mean(nn.SquareError(nn.Linear(g.Input("x", 1), 1, nn.LinearOptions{}), g.Input("d", 1)))
	for by, want := range map[string]string{
		"far":    "[{1 45} {0 15}]",                                            // derived
		"user":   "[{u0×1 15} {u1×1 15} {u2×1 15} {u0×0 5} {u1×0 5} {u2×0 5}]", // derived of the file's field, which it hides
		"bucket": `"bucket"`,                                                   // a column
		"d":      "1}",                                                         // the file's field, and not the column of that name
	} {
		v, err := Examination{Loss: loss, Format: format, Paths: []string{path}, By: by}.Run(t.Context())
		said := fmt.Sprint(err)
		if err == nil {
			said = "["
			for _, p := range v.Parts {
				said += fmt.Sprintf("{%s %d} ", p.Name, p.Rows)
			}
			said = strings.TrimSuffix(said, " ") + "]"
		}
		if !strings.Contains(said, want) {
			t.Errorf("by %s: %s, want %s", by, said, want)
		}
	}
	v, err := Examination{Loss: loss, Format: format, Paths: []string{path}, By: "raw"}.Run(t.Context())
	if said := fmt.Sprint(v); err != nil || strings.ContainsRune(said, 0x1b) || !utf8.ValidString(said) || !strings.Contains(said, `"\x1b[2J\x9b0"`) {
		t.Errorf("texts of the files are printed as they are: %q, %v", said, err)
	}
	for name, c := range map[string]struct {
		files Files
		want  string
	}{
		"a column's derived field, last": {Files{LastBy: "bucket"}, "<nil>"},
		"a derived field, last":          {Files{LastBy: "far"}, "unknown column"},
		"a column before a field, last":  {Files{LastBy: "d"}, "<nil>"}, // by 0 and 1
		"hashes, last":                   {Files{LastBy: "who"}, "a column of hashes, which have no order"},
		"a column, groups":               {Files{GroupBy: "who"}, "<nil>"},
		"a field, groups":                {Files{GroupBy: "user"}, "unknown column"},
	} {
		c.files.Format, c.files.Paths, c.files.HeldOut, c.files.Seed = format, []string{path}, .4, 2
		train, test, err := c.files.Load(t.Context())
		if !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
		if err != nil || c.files.LastBy == "" {
			continue
		}
		n, _ := test.Len()
		m, _ := train.Len()
		if n != 45 || m != 15 {
			t.Errorf("%s: %d and %d rows, want 15 and 45", name, m, n)
		}
	}
}
