package checkpoint

import (
	"slices"
	"testing"

	"github.com/gofleet/gofleet/internal/rules"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/optimizer"
)

// TestFrozenParamsStayWhereTheyAre: a checkpoint need not hold the frozen dense params of a model, so a process keeps its own then, and is
// told; others must be there.
func TestFrozenParamsStayWhereTheyAre(t *testing.T) {
	for _, frozen := range []bool{true, false} {
		dir := t.TempDir()
		mean := &optimizer.Param{Name: "mean", Shape: []int{3}, Frozen: frozen}
		params := append(model(), mean)
		m := Manifest{ID: "1", Rule: rule.Name(), Params: Params(params)}
		for i, s := range trained(t, 2) {
			p, err := WritePart(t.Context(), dir, PartName("1", i, 2), s)
			check(t, err)
			m.Parts, m.Step = append(m.Parts, p), s.Step()
		}
		check(t, Commit(dir, m))

		alone := stores(t, 1)[0]
		own := table.NewDense(3, rules.For(rule, mean))
		check(t, own.Set([]float32{1, 2, 3}))
		check(t, alone.AddBlock(table.Block{Param: mean, Name: "mean", Values: own}))
		loaded, err := Load(t.Context(), dir, alone, rule, params, func(int, uint64) bool { return true })
		if (err == nil) != frozen || frozen && !slices.Equal(loaded.Absent, []string{"mean"}) {
			t.Errorf("frozen %v: %v, absent %q", frozen, err, loaded.Absent)
		}
		w := make([]float32, 3)
		check(t, own.Pull(w))
		if frozen && (w[0] != 1 || w[2] != 3) {
			t.Errorf("the frozen param is %v now, it was 1, 2, 3", w)
		}
	}
}

// TestFrozenParamsThatWereTrained: what a model has trained and another keeps frozen comes without its rule's state.
func TestFrozenParamsThatWereTrained(t *testing.T) {
	dir, old := t.TempDir(), trained(t, 2)
	save(t, dir, "a", old)
	params := model()
	s := new(table.Store)
	for _, p := range params {
		p.Frozen = true
	}
	sparse, err := table.NewSparse(params[1], nil, table.Options{})
	check(t, err)
	check(t, s.AddTable(sparse))
	check(t, s.AddBlock(table.Block{Param: params[0], Name: "w", Values: table.NewDense(weights, nil)}))
	_, err = Load(t.Context(), dir, s, rule, params, func(int, uint64) bool { return true })
	check(t, err)
	got, want := make([]float32, weights), make([]float32, weights)
	check(t, s.Blocks[0].Values.Pull(got))
	for _, part := range old {
		b := part.Blocks[0]
		check(t, b.Values.Pull(want[b.Offset:][:b.Values.Len()]))
	}
	if !slices.Equal(got, want) {
		t.Errorf("weights %v, want %v", got, want)
	}
	for id := range uint64(rows) {
		a, b := make([]float32, 3), make([]float32, 3)
		check(t, sparse.Pull([]uint64{id}, a, s.Step()))
		check(t, old[id%2].Tables[0].Pull([]uint64{id}, b, old[0].Step()))
		if !slices.Equal(a, b) {
			t.Errorf("row %d: %v, want %v", id, a, b)
		}
	}
}
