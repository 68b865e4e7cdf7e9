package nn

import (
	"errors"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/dataset"
)

// toyFormat are lines that the toy's feeds come from.
func toyFormat() dataset.CSV {
	return dataset.CSV{Comma: ';', NA: "NA", Fields: []string{"a0", "a1", "b", "c", "x0", "x1", "x2", "x3", "late"}, Schema: []dataset.CSVColumn{
		{Column: dataset.Ints("a", 2), Fields: []string{"a0", "a1"}, Hash: 50},
		{Column: dataset.Ints("b"), Missing: "7"},
		{Column: dataset.IDs("c"), Hash: 1 << 32},
		{Column: dataset.Floats("x", 4), Fields: []string{"x0", "x1", "x2", "x3"}, Missing: "-1"},
		{Column: dataset.Floats("label"), Fields: []string{"late"}},
	}}
}

// TestFormatsThatDontFit: a model is not saved with a format that its feeds do not come from.
func TestFormatsThatDontFit(t *testing.T) {
	n := newToy(1)
	for want, change := range map[string]func(f *dataset.CSV){
		`feed "x" [N 4] is not a column of the format`: func(f *dataset.CSV) { f.Schema[3].Name = "y" },
		`does not take the column "b" float32`:         func(f *dataset.CSV) { f.Schema[1].Column = dataset.Floats("b") },
		`does not take the column "x" float32 [2 2]`:   func(f *dataset.CSV) { f.Schema[3].Shape = []int{2, 2} },
		"Comma": func(f *dataset.CSV) { f.Comma = '"' },
	} {
		f := toyFormat()
		change(&f)
		if err := Inference(n.pred).WithFormat(f).Err(); !strings.Contains(unplaced(err), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	near := Linear(NewGraph(1).Input("lable", 1), 1, LinearOptions{})
	if err := Inference(near).WithFormat(toyFormat()).Err(); !strings.Contains(unplaced(err), `did you mean "label"?`) {
		t.Errorf("a mistyped feed: %v", err)
	}
	names := dataset.CSV{Schema: []dataset.CSVColumn{{Column: dataset.Floats("numbers", 2), Fields: []string{"a", "b"}}, {Column: dataset.Ints("names"), Hash: 9}}}
	only := Linear(NewGraph(1).Input("nums", 2), 1, LinearOptions{})
	if err := Inference(only).WithFormat(names).Err(); !strings.Contains(unplaced(err), `did you mean "numbers"? (what a Map makes`) {
		t.Errorf("a feed of another name than the only column that it takes: %v", err)
	}
	wide := Linear(NewGraph(1).Input("numbrs", 3), 1, LinearOptions{})
	if err := Inference(wide).WithFormat(names).Err(); !strings.Contains(unplaced(err), `did you mean "numbers"?`) {
		t.Errorf("a mistyped feed of another shape than its column: %v", err)
	}
	if err := Inference(n.pred).WithFormat(namelessFormat{toyFormat()}).Err(); !errors.Is(err, dataset.ErrFormat) {
		t.Errorf("a format without a name: %v", err)
	}
	if err := Inference().Err(); err == nil {
		t.Error("a model without outputs has a signature")
	}
	if err := Inference(n.pred).WithFormat(toyFormat()).Err(); err != nil {
		t.Errorf("a format that fits: %v", err)
	}
}

type namelessFormat struct{ dataset.CSV }
