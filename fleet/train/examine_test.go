package train

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/dataset"
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
	if err != nil {
		t.Fatal(err)
	}
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
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	any := func(string) bool { return true }
	write("train.csv", flights(2000, any))
	if _, err := examined(t, dir); err != nil {
		t.Fatal(err)
	}
	test := write("test.csv", flights(1500, any))
	said, err := examined(t, dir, "-eval="+test, "-by=carrier", "-importance")
	if err != nil {
		t.Fatal(err)
	}
	for _, carrier := range []string{"c00", "c01", "c07"} {
		only, err := examined(t, dir, "-eval="+write(carrier+".csv", flights(1500, func(c string) bool { return c == carrier })))
		if err != nil {
			t.Fatal(err)
		}
		w := fields(t, said, carrier)
		if want := fmt.Sprintf("%s rows, loss %s, auc %s", w[1], w[2], w[3]); !strings.Contains(only, ": "+want+"\n") {
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
	for _, alone := range []string{"-by=carrier", "-importance"} {
		if _, err := parsed(alone); err == nil || !strings.Contains(err.Error(), "-eval") {
			t.Errorf("%s alone: %v", alone, err)
		}
	}
}

// TestFieldsAndColumnsOfOneName: a field that stands in a column of several is told of where a column of its name, behind that one, has another
// field.
func TestFieldsAndColumnsOfOneName(t *testing.T) {
	t.Parallel()
	format := dataset.CSV{Schema: []dataset.CSVColumn{{Column: dataset.Floats("numbers", 2), Fields: []string{"x", "noise"}},
		{Column: dataset.Floats("x"), Fields: []string{"y"}}, {Column: dataset.Floats("late")}}}
	columns, err := format.Columns()
	if err != nil {
		t.Fatal(err)
	}
	g := nn.NewGraph(1)
	pred := nn.Linear(nn.Concat(g.Input("numbers", 2), g.Input("x", 1)), 1, nn.LinearOptions{})
	x := Examination{Loss: nn.Mean(nn.SquareError(pred, g.Input("late", 1))), Format: format}
	want := map[string][]place{"numbers": {{column: 0}}, "x": {{0, 0, 1}}, "noise": {{0, 1, 2}}, "y": {{1, 0, 1}}}
	if got := x.fields(columns); !reflect.DeepEqual(got, want) {
		t.Errorf("places are %v, want %v", got, want)
	}
}

// TestExaminationOfColumns: rows of a format without names of fields are parted by a column of one number, and the values of a slot are shuffled
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
		fmt.Fprintf(&text, "late:%d hour:%d%s other:5\n", i%2, i%4, words)
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	g := nn.NewGraph(1)
	late := g.Input("late", 1)
	word := nn.EmbeddingPool(g.Slot("word"), nn.PoolSum, nn.EmbeddingOptions{Height: 10, Dim: 1})
	other := nn.EmbeddingPool(g.Slot("other"), nn.PoolSum, nn.EmbeddingOptions{Height: 10, Dim: 1})
	loss := nn.Mean(nn.SquareError(nn.Linear(nn.Concat(word, other), 1, nn.LinearOptions{}), late))
	x := Examination{Loss: loss, Paths: []string{path}, By: "hour", Importance: true, Format: dataset.SlotText{Slots: []dataset.SlotColumn{
		{Column: dataset.Floats("late", 1)}, {Column: dataset.Ints("hour", 1)}, {Column: dataset.Varying(dataset.Ints("word"))}, {Column: dataset.Varying(dataset.Ints("other"))}}}}
	v, err := x.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
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
