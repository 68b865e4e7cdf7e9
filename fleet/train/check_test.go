package train_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// looked is a job that is right: two numbers and a category make its label likely or not. A test spoils a part of it.
type looked struct {
	train.Options
	rows     int
	spare    *strategy.Strategy
	height   int
	row      func(r *rand.Rand, i int, x *values) // changes a row
	tests    func(train, test *dataset.Dataset) *dataset.Dataset
	maxBytes int64
	norm     bool
	hidden   nn.LinearOptions
	loss     func(logit, label *nn.Node) *nn.Node
	outputs  func(logit, label *nn.Node) *nn.Node
	rule     optimizer.Rule
	order    func(epoch int, rows *dataset.Dataset) *dataset.Dataset
	column   string // another name of x
}

// values are what a row holds.
type values struct {
	x, y, label float32
	id          int64
	test        bool
}

func rightJob() *looked {
	return &looked{Options: train.Options{Batch: 64}, rows: 4000, row: func(*rand.Rand, int, *values) {},
		tests:   func(_, test *dataset.Dataset) *dataset.Dataset { return test },
		loss:    nn.BinaryCrossEntropyWithLogits,
		outputs: func(logit, _ *nn.Node) *nn.Node { return nn.Sigmoid(logit) },
		rule:    optimizer.Adam{LR: 1e-2}, column: "x"}
}

func (l *looked) made(seed uint64, rows int) *dataset.Dataset {
	return dataset.Generate(rows, func(i int, row dataset.Row) error {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		v := values{x: float32(r.NormFloat64()), y: float32(r.NormFloat64()), id: int64(r.IntN(200)), test: seed == 2}
		if r.Float64() < 1/(1+math.Exp(float64(v.y-v.x)-float64(v.id%5)+2)) {
			v.label = 1
		}
		l.row(r, i, &v)
		row.Floats(0)[0], row.Floats(1)[0], row.Ints(2)[0], row.Floats(3)[0] = v.x, v.y, v.id, v.label
		return nil
	}, dataset.Floats(l.column), dataset.Floats("y"), dataset.Ints("id"), dataset.Floats("label"))
}

func (l *looked) job() train.Job {
	g := nn.NewGraph(1)
	label, id := g.Input("label", 1), g.IDs("id", 1)
	in := nn.Concat(g.Input("x", 1), g.Input("y", 1), nn.Embedding(id, nn.EmbeddingOptions{Dim: 4, Height: l.height, MaxBytes: l.maxBytes}))
	if l.norm {
		in = nn.BatchNorm(in, nn.NormOptions{})
	}
	logit := nn.Linear(nn.ReLU(nn.Linear(in, 16, l.hidden)), 1, nn.LinearOptions{})
	return train.Job{Options: l.Options, Strategy: l.spare, Loss: nn.Mean(l.loss(logit, label)), Rule: l.rule, Rows: l.order,
		Outputs: []*nn.Node{l.outputs(logit, label)},
		Data: func(ctx context.Context) (first, second *dataset.Dataset, err error) {
			if first, err = l.made(1, l.rows).Load(ctx); err == nil {
				second, err = l.made(2, 1000).Load(ctx)
			}
			return first, l.tests(first, second), err
		}}
}

// TestCheck looks at jobs that are right, and at jobs in which one thing is wrong: each is named, with its remedy.
func TestCheck(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	none := func(_, _ *dataset.Dataset) *dataset.Dataset { return nil }
	for name, c := range map[string]struct {
		spoil func(*looked)
		what  string // "" where nothing is wrong
		fails bool
	}{
		"right": {func(*looked) {}, "", false},
		"right, numbers are normalised": {func(l *looked) {
			l.row, l.norm = func(_ *rand.Rand, _ int, v *values) { v.x = 500 * (1 + v.x) }, true
		}, "", false},
		"right, years are normalised": {func(l *looked) {
			l.row, l.norm = func(_ *rand.Rand, _ int, v *values) { v.x, v.y = 1e5+20*v.x, 1400+700*v.y }, true
			l.loss = func(a, b *nn.Node) *nn.Node { return nn.BinaryCrossEntropy(nn.Sigmoid(a), b) }
		}, "", false},
		"right, in geo": {func(l *looked) { l.Mode, l.rule = "geo", optimizer.SGD{LR: 0.1} }, "", false},
		"loss with its arguments exchanged": {func(l *looked) {
			l.loss = func(a, b *nn.Node) *nn.Node { return nn.BinaryCrossEntropyWithLogits(b, a) }
		}, "exchange them", true},
		"a rule that the mode does not take": {func(l *looked) { l.Mode = "geo" }, "geo", true},
		"numbers as they are": {func(l *looked) {
			l.row = func(_ *rand.Rand, _ int, v *values) { v.x = 500 * (1 + v.x) }
		}, `feed "x" is`, false},
		"sigmoid twice": {func(l *looked) {
			l.loss = func(a, b *nn.Node) *nn.Node { return nn.BinaryCrossEntropyWithLogits(nn.Sigmoid(a), b) }
		}, "is a probability", false},
		"softmax twice": {func(l *looked) {
			l.loss = func(a, b *nn.Node) *nn.Node {
				return nn.SoftmaxWithCrossEntropy(nn.Softmax(nn.Concat(a, nn.Scale(a, -1, 0))), nn.Cast(b, nn.Int64))
			}
		}, "makes some of them again", false},
		"a rate of 1,000":      {func(l *looked) { l.rule = optimizer.Adam{LR: 1000} }, "a smaller learning rate", false},
		"a rate of SGD of 1e9": {func(l *looked) { l.rule = optimizer.SGD{LR: 1e9} }, "lower the learning rate", true},
		"a rate of 1e-12":      {func(l *looked) { l.rule = optimizer.SGD{LR: 1e-12} }, "a larger learning rate", false},
		"a constant feed": {func(l *looked) {
			l.row = func(_ *rand.Rand, _ int, v *values) { v.x = 3 }
		}, `feed "x" is the same in every row`, false},
		"the label in a feed": {func(l *looked) {
			l.row = func(_ *rand.Rand, _ int, v *values) { v.y = 3*v.label - 1 }
		}, `number 1 of feed "y" says by itself`, false},
		"a number of which the label is made": {func(l *looked) {
			l.row = func(_ *rand.Rand, _ int, v *values) {
				if v.label = 0; v.x > 0.7 {
					v.label = 1
				}
			}
		}, `number 1 of feed "x" says by itself`, false},
		"the label in an id": {func(l *looked) {
			l.row = func(_ *rand.Rand, _ int, v *values) { v.id = v.id/2*2 + int64(v.label) }
		}, `feed "id" says by itself`, false},
		"one class": {func(l *looked) {
			l.row = func(_ *rand.Rand, _ int, v *values) { v.label = 1 }
		}, `every row has the label "label" 1`, false},
		"test rows of one class": {func(l *looked) {
			l.row = func(_ *rand.Rand, _ int, v *values) { v.label = max(v.label, map[bool]float32{true: 1}[v.test]) }
		}, "all test rows have one label", false},
		"test rows that are trained on": {func(l *looked) {
			l.tests = func(train, _ *dataset.Dataset) *dataset.Dataset { return train.Take(500) }
		}, "test rows are rows to train on", false},
		"test rows in another unit": {func(l *looked) {
			l.row = func(_ *rand.Rand, _ int, v *values) { v.x += map[bool]float32{true: 60, false: 9}[v.test]; v.x /= 10 }
		}, `than five deviations, on average, in value 1 of feed "x"`, false},
		"right, test rows of a later time": {func(l *looked) {
			l.row = func(_ *rand.Rand, _ int, v *values) { v.x += map[bool]float32{true: 3}[v.test] }
		}, "", false},
		"a batch of more than the rows": {func(l *looked) { l.rows, l.Batch = 300, 512 }, "so that an epoch is one step", false},
		"more ids than fit": {func(l *looked) {
			l.row, l.maxBytes = func(r *rand.Rand, _ int, v *values) { v.id = r.Int64N(4000) }, 1<<16
		}, "MaxBytes 65536", false},
		"a dead layer": {func(l *looked) { l.hidden.BiasInit = optimizer.Constant{Value: -100} }, "no gradient came to", false},
		"numbers that are missing": {func(l *looked) {
			l.row = func(_ *rand.Rand, _ int, v *values) { v.x = float32(math.Sqrt(float64(v.x))) }
		}, `feed "x" has no number in`, true},
		"right, of rows whose label is hardly ever 1": {func(l *looked) {
			l.row, l.tests = func(_ *rand.Rand, i int, v *values) { v.label = float32(1 - min(1, (i+5)%1000)) }, none
		}, "", false},
		"rows in order of the label": {func(l *looked) {
			l.row, l.tests = func(_ *rand.Rand, i int, v *values) { v.label = float32(i / 2000) }, none
			l.order = func(_ int, rows *dataset.Dataset) *dataset.Dataset { return rows }
		}, "in the order of their labels", false},
		"ids that tests alone have": {func(l *looked) {
			l.row = func(_ *rand.Rand, _ int, v *values) { v.id += map[bool]int64{true: 1000}[v.test] }
		}, `of feed "id" in test rows are ids that no row`, false},
		"a label in the served model": {func(l *looked) { l.outputs = nn.Subtract }, "computed from the label", false},
		"a label that is none": {func(l *looked) {
			l.row = func(_ *rand.Rand, _ int, v *values) { v.label = 7 }
		}, "no label of", true},
		"a number that is infinite": {func(l *looked) {
			l.row = func(_ *rand.Rand, i int, v *values) {
				if i == 3999 {
					v.x = float32(math.Inf(1))
				}
			}
		}, `feed "x" has no number in`, true},
		"right, but for numbers that the job leaves out": {func(l *looked) {
			l.spare = &strategy.Strategy{NotFinite: strategy.NotFiniteSkip}
			l.row = func(_ *rand.Rand, i int, v *values) {
				if i == 3999 {
					v.x = float32(math.Inf(1))
				}
			}
		}, `feed "x" has no number in`, false},
		"a rule by param, and a bound": {func(l *looked) {
			l.maxBytes = 1 << 20
			l.rule = optimizer.PerParam{Rule: optimizer.Adam{LR: 1e-2}, By: map[string]optimizer.Rule{"fc_0.w_0": optimizer.SGD{LR: 0.1}}}
		}, "", false},
		"an id beyond its table": {func(l *looked) {
			l.height = 200
			l.row = func(_ *rand.Rand, i int, v *values) { v.id += int64(i/3999) * 1000 }
		}, "is not below 200", true},
		"an id of a test row beyond its table": {func(l *looked) {
			l.height = 200
			l.row = func(_ *rand.Rand, i int, v *values) { v.id += map[bool]int64{true: int64(i/999) * 1000}[v.test] }
		}, "test row 999", true},
		"a label that is none, in the last row": {func(l *looked) {
			l.row = func(_ *rand.Rand, i int, v *values) { v.label += 5 * float32(i/3999) }
		}, "no label of", true},
		"a column of another name": {func(l *looked) { l.column = "z" }, `no column "x"`, true},
		"right, large labels of a scaled prediction": {func(l *looked) {
			l.row = func(_ *rand.Rand, _ int, v *values) { v.label = 3e5 + 3e5*v.x }
			l.loss = func(a, b *nn.Node) *nn.Node { return nn.Scale(nn.SquareError(nn.Scale(a, 3e4, 3e5), b), 1e-11, 0) }
			l.outputs = func(a, _ *nn.Node) *nn.Node { return a }
		}, "", false},
		"large labels": {func(l *looked) {
			l.row = func(r *rand.Rand, _ int, v *values) { v.label = 3e5 + 1e4*v.x + float32(r.NormFloat64()) }
			l.loss = nn.SquareError
		}, "predictions begin near 0", false},
	} {
		t.Run(name, func(t *testing.T) {
			l := rightJob()
			c.spoil(l)
			r, err := train.Check(t.Context(), l.job())
			switch {
			case err != nil:
				if !c.fails || !strings.Contains(err.Error(), c.what) {
					t.Error(err)
				}
			case c.what == "" && len(r.Findings) > 0, r.Fails() != c.fails, !strings.Contains(r.String(), c.what):
				t.Errorf("wanted %q:\n%v", c.what, r)
			case len(r.Findings) > 2:
				t.Errorf("one wrong, and as many findings:\n%v", r)
			}
		})
	}
}

// TestCheckSaysWhatFits: a report says how many rows of a table fit into its bound, or into a GiB, of which it has its part of max_memory.
func TestCheckSaysWhatFits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		bytes  int64
		memory float64
		want   string
	}{
		{0, 0, "11,184,810 rows in a GiB\n"},
		{0, 0.8, "11,184,810 rows in a GiB of its part of max_memory, 0.8 of the server's memory\n"},
		{1 << 20, 0.8, "10,922 rows in its MaxBytes\n"},
	} {
		l := rightJob()
		l.rows, l.maxBytes, l.spare = 300, c.bytes, &strategy.Strategy{MaxMemory: c.memory}
		report, err := train.Check(t.Context(), l.job())
		if err != nil {
			t.Fatal(err)
		}
		if want := `table "embedding_0.w_0": 96 bytes a row on a server, ` + c.want; !strings.Contains(report.String(), want) {
			t.Errorf("MaxBytes %d, max_memory %v: want %q in\n%v", c.bytes, c.memory, want, report)
		}
	}
}

// TestCheckOfOtherFeeds: rows whose values differ in number, the first of which has none; several labels; and rows that can be read once.
func TestCheckOfOtherFeeds(t *testing.T) {
	t.Parallel()
	type row struct {
		Words   []int64   `feed:"words"`
		Amounts []float32 `feed:"amounts"`
		Price   float32   `feed:"price"`
		Sold    float32   `feed:"sold"`
	}
	var rows []row
	for i := range 200 {
		r := row{Price: float32(i % 7), Sold: float32(i % 2)}
		for k := range i % 4 {
			r.Words, r.Amounts = append(r.Words, int64(i*k%30)), append(r.Amounts, float32(k))
		}
		rows = append(rows, r)
	}
	text := strings.Repeat("0 3:1\n1 4:2 5:1\n", 50)
	for name, c := range map[string]struct {
		rows *dataset.Dataset
		want string
	}{
		"in memory":                 {dataset.FromStructs(rows), "of several labels none"},
		"without labels":            {dataset.FromStructs(rows), "nothing to look at"},
		"once":                      {dataset.FromReader(strings.NewReader(text), "rows", dataset.LibSVM{}), "can be read once only"},
		"logits near 0, no chances": {dataset.FromStructs(rows), "loss"},
	} {
		t.Run(name, func(t *testing.T) {
			g := nn.NewGraph(1)
			var loss *nn.Node
			switch name {
			case "logits near 0, no chances":
				x := nn.EmbeddingPool(g.Slot("words"), nn.PoolSum, nn.EmbeddingOptions{Dim: 1, Init: optimizer.Uniform{Low: 0, High: 1e-7}})
				loss = nn.Mean(nn.BinaryCrossEntropyWithLogits(x, g.Input("sold", 1)))
			case "without labels":
				loss = nn.Mean(nn.Square(nn.EmbeddingPool(g.Slot("words"), nn.PoolSum, nn.EmbeddingOptions{Dim: 1})))
			case "once":
				x := nn.EmbeddingPoolWeighted(g.Slot("ids"), g.SlotValues("values"), nn.PoolSum, nn.EmbeddingOptions{Dim: 1})
				loss = nn.Mean(nn.SquareError(x, g.Input("label", 1)))
			default:
				x := nn.EmbeddingPoolWeighted(g.Slot("words"), g.SlotValues("amounts"), nn.PoolSum, nn.EmbeddingOptions{Dim: 4})
				price := nn.SquareError(nn.Linear(x, 1, nn.LinearOptions{}), g.Input("price", 1))
				sold := nn.BinaryCrossEntropyWithLogits(nn.Linear(x, 1, nn.LinearOptions{}), g.Input("sold", 1))
				loss = nn.Add(nn.Mean(price), nn.Mean(sold))
			}
			r, err := train.Check(t.Context(), train.Job{Loss: loss, Rule: optimizer.Adam{LR: 0.01}, Options: train.Options{Batch: 32},
				Rows: func(_ int, rows *dataset.Dataset) *dataset.Dataset { return rows },
				Data: func(context.Context) (*dataset.Dataset, *dataset.Dataset, error) { return c.rows, nil, nil }})
			if err != nil || len(r.Findings) > 0 || !strings.Contains(r.String(), c.want) {
				t.Errorf("%v; wanted %q:\n%v", err, c.want, r)
			}
		})
	}
}

// TestCheckOfDerivedFields: a bucket that holds all rows, ids that are new at one place under a split by time, a text that is no time, and
// groups that are one are named.
func TestCheckOfDerivedFields(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("at,price,user,late\n")
	r := rand.New(rand.NewPCG(1, 1))
	for _, i := range r.Perm(600) {
		at := time.Date(2024, 1, 1, i, 0, 0, 0, time.UTC)
		fmt.Fprintf(&text, "%s,%d,u,%d\n", at.Format(time.DateTime), r.IntN(100), r.IntN(2))
	}
	file := filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		spoil func(f *train.Files, derived []dataset.Derived)
		want  string // "" where nothing is wrong
	}{
		"right":             {func(*train.Files, []dataset.Derived) {}, ""},
		"right, by time":    {func(f *train.Files, _ []dataset.Derived) { f.LastBy = "when" }, ""},
		"one bucket":        {func(_ *train.Files, d []dataset.Derived) { d[2].Buckets = []float64{-1, 100} }, `all rows have one value of field "dear": is it the right field? It says nothing; a derived one may need other Buckets`},
		"unseen ids":        {func(f *train.Files, d []dataset.Derived) { f.LastBy, d[1].Part = "when", dataset.YearDay }, `field "part" of feed "C" in test rows has ids that no row to train on has, in 100 % of them`},
		"no time":           {func(_ *train.Files, d []dataset.Derived) { d[0].Layout = time.RFC3339 }, `field at: want a time such as "2006-01-02T15:04:05Z07:00", to make "hour" of it`},
		"groups of a label": {func(f *train.Files, _ []dataset.Derived) { f.GroupBy = "late" }, `Files.GroupBy is the label "late"`},
		"one group":         {func(f *train.Files, _ []dataset.Derived) { f.GroupBy = "user" }, `the column "user" has too few values`},
		"a column of texts": {func(f *train.Files, _ []dataset.Derived) { f.LastBy = "C" }, `Files.LastBy is "C", a column of hashes, which have no order`},
	} {
		derived := []dataset.Derived{{Name: "hour", From: []string{"at"}, Part: dataset.Hour, Layout: time.DateTime},
			{Name: "part", From: []string{"at"}, Part: dataset.Weekday, Layout: time.DateTime}, {Name: "dear", From: []string{"price"}, Buckets: []float64{50}},
			{Name: "when", From: []string{"at"}, Part: dataset.Seconds, Layout: time.DateTime}}
		f := train.Files{Paths: []string{file}}
		c.spoil(&f, derived)
		f.Format = dataset.CSV{Derived: derived, Schema: []dataset.CSVColumn{{Column: dataset.Ints("C", 3), Fields: []string{"hour", "part", "dear"}, Hash: 1 << 30},
			{Column: dataset.Ints("when")}, {Column: dataset.Ints("user"), Hash: 100}, {Column: dataset.Floats("late")}}}
		g := nn.NewGraph(1)
		chance := nn.Linear(nn.Embedding(g.IDs("C", 3), nn.EmbeddingOptions{Dim: 2}), 1, nn.LinearOptions{Act: nn.Sigmoid})
		report, err := train.Check(t.Context(), train.Job{Loss: nn.Mean(nn.BinaryCrossEntropy(chance, g.Input("late", 1))),
			Rule: optimizer.Adam{LR: 1e-2}, Files: f, Options: train.Options{Batch: 32}})
		said := fmt.Sprint(err)
		if err == nil {
			said = report.String()
		}
		if c.want == "" && (err != nil || len(report.Findings) > 0) || !strings.Contains(said, c.want) {
			t.Errorf("%s: %v; wanted %q", name, said, c.want)
		}
		if err == nil && c.want != "" && len(report.Findings) != 1 {
			t.Errorf("%s: %v", name, said)
		}
	}
}
