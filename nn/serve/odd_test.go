package serve

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
)

// TestOddValues: scores say which ids of a row training has not seen, and which numbers lay far outside: by the fields of lines, of columns
// of every kind, but for crosses, padding, what stands for a missing number, and numbers whose scale has no deviation.
func TestOddValues(t *testing.T) {
	format := dataset.CSV{Fields: []string{"amount", "plain", "age", "city", "kind", "user", "tags", "late"}, Missing: "0",
		Derived: []dataset.Derived{{Name: "city × kind", From: []string{"city", "kind"}}},
		Schema: []dataset.CSVColumn{
			{Column: dataset.Floats("x", 2), Fields: []string{"amount", "plain"}, Scale: []dataset.Scaling{{Mean: 50, Std: 10}, {Mean: 3}}, Missing: "-99"},
			{Column: dataset.Floats("age")},
			{Column: dataset.Ints("ids", 3), Fields: []string{"city", "kind", "city × kind"}, Hash: 1 << 30},
			{Column: dataset.IDs("user")},
			{Column: dataset.Varying(dataset.Ints("tags")), Separator: "|"},
			{Column: dataset.Floats("late"), Scale: []dataset.Scaling{{Mean: 0, Std: 1}}},
		}}
	g := nn.NewGraph(1)
	table := nn.EmbeddingOptions{Name: "table", Dim: 2}
	in := nn.Concat(g.Input("x", 2), nn.BatchNorm(g.Input("age", 1), nn.NormOptions{Name: "norm"}), nn.Embedding(g.IDs("ids", 3), table), nn.Embedding(g.IDs("user", 1), nn.EmbeddingOptions{Name: "users", Dim: 2}),
		nn.EmbeddingPool(g.Slot("tags"), nn.PoolSum, nn.EmbeddingOptions{Name: "tags table", Dim: 2, PaddingIdx: new(int64(0))}))
	pred := nn.Linear(in, 1, nn.LinearOptions{Act: nn.Sigmoid}).Named("chance")
	loss := nn.Mean(nn.LogLoss(pred, g.Input("late", 1)))
	k := minimise(t, loss, 0.1)
	decoder, err := dataset.NewDecoder(format)
	law.Check(t, err)
	rows, err := decoder.Decode([]byte("40,3,30,Ulm,a,7,1|2,0\n60,4,40,Bonn,b,18446744073709551615,2|3,1\n"))
	law.Check(t, err)
	_, err = nn.NewExecutor(g).Train(t.Context(), rows, loss)
	law.Check(t, err)
	k.dense["norm.w_1"], k.dense["norm.w_2"] = []float32{35}, []float32{25}
	dir := t.TempDir()
	saveSigned(t, dir, nn.Inference(pred).WithFormat(format), k)
	s, err := OpenScorer(dir, ScorerOptions{})
	law.Check(t, err)
	for text, want := range map[string][]Odd{
		"40,3,30,Ulm,a,7,1,0": nil,
		"150,3000,30,Ulm,b,18446744073709551615,1|2,99\n,3,30,Bonn,a,7,0|3,0":                              nil, // ten deviations, a cross, no number, padding
		"40,3,86,Ulm,a,7,1,0\n40,3,-20,Ulm,a,7,1,0\n40,3,80,Ulm,a,7,1,0":                                   {{0, "age", "far"}, {1, "age", "far"}},
		"151,3,30,Ulm,a,7,1,0\n-51,3,30,Ulm,a,7,1,0":                                                       {{0, "amount", "far"}, {1, "amount", "far"}},
		"40,3,30,Ulm,a,8,1,0\n40,3,30,Köln,a,7,1|2|9|2,0\n40,3,30,Ulm,c,7,,0\n40,3,30,Ulm,a,7,2|4|5|1,0\n": {{1, "city", "unseen"}, {2, "kind", "unseen"}, {0, "user", "unseen"}, {1, "tags", "unseen"}, {3, "tags", "unseen"}, {3, "tags", "unseen"}},
	} {
		got, err := s.ScoreLines(t.Context(), []byte(text))
		if err != nil || !slices.Equal(got.Odd, want) {
			t.Errorf("%s: %v, %v; want %v", text, got.Odd, err, want)
		}
	}
	got, err := s.ScoreJSON(t.Context(), []byte(`{"amount": 1e9, "plain": 3, "age": 35, "city": "Rom", "kind": "a", "user": 7, "tags": "1"}`))
	if want := []Odd{{0, "amount", "far"}, {0, "city", "unseen"}}; err != nil || !slices.Equal(got.Odd, want) {
		t.Errorf("%v, %v; want %v", got.Odd, err, want)
	}
	got, err = s.ScoreLines(t.Context(), []byte(strings.Repeat("1e9,3,30,Rom,a,7,1,0\n", 200)))
	if err != nil || len(got.Odd) != mostOdd || fmt.Sprint(got.Odd[99]) != "{99 amount far}" {
		t.Errorf("%d, the last %v, %v", len(got.Odd), got.Odd[len(got.Odd)-1:], err)
	}
}

// TestOneLine: a text whose line ends were lost is told how to keep them; rows of a format without a header are lines of their own.
func TestOneLine(t *testing.T) {
	for header, want := range map[bool]bool{true: true, false: false} {
		format, dir := toyFormat(), t.TempDir()
		if header {
			format.Fields = nil
		}
		trainedToy(t, dir, format)
		s, err := OpenScorer(dir, ScorerOptions{})
		law.Check(t, err)
		_, err = s.ScoreLines(t.Context(), []byte("a0;a1;b;c;x0;x1;x2;x3ann;bob;3;xy;1.5;2;NA;4"))
		if err == nil || strings.Contains(err.Error(), "the text is one line: keep the line ends") != want {
			t.Errorf("with a header, %t: %v", header, err)
		}
	}
}
