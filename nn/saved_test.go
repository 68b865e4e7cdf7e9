package nn

import (
	"testing"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/optimizer"
)

// TestEveryOpIsSaved saves the graph of every gradient case and loads it: the op comes back with its attributes and computes
// the same. Together the cases have every op that a saved graph may contain.
func TestEveryOpIsSaved(t *testing.T) {
	law.Slow(t)
	seen := map[string]bool{"input": true, "dropout": true, // tests of their own
		"auc": true, "batch_auc": true, "accuracy": true, "batch_accuracy": true, "precision": true, "recall": true, "binary_accuracy": true,
		"sliding_auc": true, "bucket_error": true, "mae": true, "mse": true, "rmse": true, "measure": true}
	for _, c := range gradientCases {
		t.Run(c.name, func(t *testing.T) {
			g, feed := NewGraph(1), batchOf{}
			nodes := make([]*Node, len(c.args))
			for i, a := range c.args {
				nodes[i] = a.node(g, feed, string(rune('a'+i)), a.draw(uint32(i)))
			}
			checkSaved(t, c.build(nodes), feed, seen)
		})
	}
	for kind := range recipes {
		if !seen[kind] {
			t.Errorf("no case has op %q", kind)
		}
	}
}

func checkSaved(t *testing.T, out *Node, feed batchOf, seen map[string]bool) {
	t.Helper()
	k := minimise(t, Mean(Multiply(out, out)), 0)
	e := NewExecutor(out.graph)
	must(t, e, feed)
	want, err := e.Eval(t.Context(), feed, out)
	if err != nil {
		t.Fatal(err)
	}
	m := reload(t, out, k)
	for _, n := range m.Graph.nodes {
		seen[n.op.kind()] = true
	}
	got, err := NewExecutor(m.Graph).Eval(t.Context(), feed, m.Outputs...)
	if err != nil {
		t.Fatal(err)
	}
	if err := near(got[0].Float32s(), want[0].Float32s(), 0, 0); err != nil {
		t.Error(err)
	}
}

// reload saves a node's graph, with the keeper's weights, and reads it back.
func reload(t *testing.T, out *Node, k *keeper) *Model {
	t.Helper()
	model := Inference(out)
	for _, p := range model.Params() {
		if p.Embedding {
			p.Init = optimizer.Constant{} // given values are not written here; every row that is read was trained
		}
	}
	dir := t.TempDir()
	save(t, dir, model, k, 1)
	m, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
