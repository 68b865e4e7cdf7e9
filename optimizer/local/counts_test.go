package local_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/local"
	"gorgonia.org/tensor"
)

// TestClickedIDsGetRows trains on labels as clicks: at 0.1 for a show and 1 for a click, an id that was clicked three times has
// its row, and one that was shown as often has none.
func TestClickedIDsGetRows(t *testing.T) {
	g := nn.NewGraph(1)
	loss := nn.Mean(nn.Embedding(g.IDs("ids", 1), nn.EmbeddingOptions{Name: "t", Dim: 2, Click: g.IDs("y", 1),
		Entry: optimizer.Entry{ShowClick: optimizer.ShowClick{Threshold: 3}}}))
	trainer, err := local.Minimize(loss, optimizer.SGD{LR: 1})
	check(t, err)
	column := func(data ...int64) *tensor.Dense { return tensor.New(tensor.WithShape(4, 1), tensor.WithBacking(data)) }
	feeds := map[string]*tensor.Dense{"ids": column(3, 3, 4, 4), "y": column(1, 1, 0, 0)}
	exe := nn.NewExecutor(g)
	for _, want := range [][]uint64{nil, {3}, {3}} {
		_, err := exe.Train(t.Context(), feeds)
		check(t, err)
		table, _ := trainer.Store().Table("t")
		if got := table.IDs(); !slices.Equal(got, want) {
			t.Errorf("rows %v, want %v", got, want)
		}
	}
	feeds["y"] = column(1, 1, -1, 0)
	if _, err := exe.Train(t.Context(), feeds); err == nil || !strings.Contains(err.Error(), "-1 clicks") {
		t.Errorf("a label of -1 as a click: error %v", err)
	}
}

// TestMinimizeRefusesWhatIsNoLoss: what is no number is refused before anything is bound, and so is a graph with a mistake.
func TestMinimizeRefusesWhatIsNoLoss(t *testing.T) {
	g, wrong := nn.NewGraph(1), nn.NewGraph(1)
	pred := nn.Linear(g.Input("x", 3), 1, nn.LinearOptions{})
	for want, loss := range map[string]optimizer.Objective{
		"a loss has shape [1], it has [N 1]: take its Mean": pred, "the objective is nil": nil,
		"shapes differ": nn.Mean(nn.Add(wrong.Input("x", 3), wrong.Input("y", 4))),
	} {
		if _, err := local.Minimize(loss, optimizer.SGD{LR: 0.1}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	if _, err := local.Minimize(nn.Mean(pred), optimizer.SGD{LR: 0.1}); err != nil {
		t.Errorf("a loss after them: %v", err)
	}
}

// TestWhatIsNotFiniteIsRefused: a NaN that was fed is named and changes no weight.
func TestWhatIsNotFiniteIsRefused(t *testing.T) {
	g := nn.NewGraph(1)
	loss := nn.Mean(nn.Linear(g.Input("num", 2), 1, nn.LinearOptions{}))
	trainer, err := local.Minimize(loss, optimizer.SGD{LR: 0.1})
	check(t, err)
	before, err := trainer.Dense("fc_0.w_0")
	check(t, err)
	x := tensor.New(tensor.WithShape(2, 2), tensor.WithBacking([]float32{1, 2, 3, float32(math.NaN())}))
	_, err = nn.NewExecutor(g).Train(t.Context(), map[string]*tensor.Dense{"num": x})
	want := `nn: feed "num" (counts_test.go:60), row 1, column 1 is NaN: local: the gradient of "fc_0.w_0" is NaN at element 1, and the loss NaN`
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v does not say %q", err, want)
	}
	after, err := trainer.Dense("fc_0.w_0")
	check(t, err)
	same(t, "weights", before, after)
}

// TestGradientsThatAreNotFinite: they are refused and change nothing, whether the loss is finite or was not said; those of a frozen param are nobody's.
func TestGradientsThatAreNotFinite(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	for want, spoil := range map[string]func(*toy, *optimizer.Step){
		`local: the gradient of "w" is NaN at element 7, and the loss 0.5: lower`: func(o *toy, _ *optimizer.Step) { o.w.G[7] = nan },
		`local: the gradient of row 9 of "emb" is -Inf: lower`:                    func(_ *toy, st *optimizer.Step) { st.Rows[0].G[6], st.Loss = inf, 0 },
		`local: the gradient of row 9 of "emb" is 2e+19, and the loss 0.5: lower`: func(_ *toy, st *optimizer.Step) { st.Rows[0].G[6] = 2e19 },
		"": func(_ *toy, st *optimizer.Step) { st.Rows[1].G[0] = nan },
	} {
		o := newToy()
		o.top.Frozen = want == ""
		trainer, err := local.Minimize(o, optimizer.Adagrad{LR: 1})
		check(t, err)
		s, step := open(t, trainer, o), o.step(3, 9)
		check(t, s.Begin(t.Context(), step))
		for i := range o.w.G {
			o.w.G[i] = 1
		}
		before, err := trainer.Dense("w")
		check(t, err)
		step.Loss = 0.5
		spoil(o, step)
		err = s.End(t.Context(), step)
		if want == "" {
			check(t, err)
			continue
		}
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
		after, err := trainer.Dense("w")
		check(t, err)
		same(t, "weights", before, after)
		if trainer.Step() != 0 {
			t.Errorf("%s: %d updates were made", want, trainer.Step())
		}
	}
}
