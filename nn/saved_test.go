package nn

import (
	"bytes"
	"slices"
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
		"sliding_auc": true, "group_auc": true, "group_rank": true, "bucket_error": true, "mae": true, "mse": true, "rmse": true, "measure": true}
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
	law.Check(t, err)
	m := reload(t, out, k)
	for _, n := range m.Graph.nodes {
		seen[n.op.kind()] = true
	}
	got, err := NewExecutor(m.Graph).Eval(t.Context(), feed, m.Outputs...)
	law.Check(t, err)
	if err := near(got[0].Float32s(), want[0].Float32s(), 0, 0); err != nil {
		t.Error(err)
	}
}

// restored is a graph that was saved and read.
type restored struct {
	Graph   *Graph
	Outputs []*Node
}

// reload saves a node's graph, and reads it back with the keeper's weights.
func reload(t *testing.T, out *Node, k *keeper) (m restored) {
	t.Helper()
	model := Inference(out)
	for _, p := range model.Params() {
		if p.Embedding {
			p.Init = optimizer.Constant{} // given values are not written here; every row that is read was trained
		}
	}
	var graph bytes.Buffer
	err := model.WriteGraph(&graph)
	if err == nil {
		m.Graph, m.Outputs, err = ReadGraph(graph.Bytes(), k.load)
	}
	law.Check(t, err)
	return m
}

// load gives a parameter of a saved graph the keeper's weights.
func (k *keeper) load(p *optimizer.Param) error {
	if p.Embedding {
		p.Rows = keptRows{k, p.Name}
		return nil
	}
	p.W = slices.Clone(k.dense[p.Name])
	return nil
}

// keptRows are a table's rows of a keeper, as loaded rows.
type keptRows struct {
	k    *keeper
	name string
}

func (r keptRows) EachRow(func([]uint64, []float32) error) error { return nil }
func (r keptRows) String() string                                { return r.name }

func (r keptRows) Rows(w []float32, ids []uint64, absent func(i int)) {
	for i, id := range ids {
		if row := r.k.rows[r.name][id]; row != nil {
			copy(w[i*len(w)/len(ids):], row)
			continue
		}
		absent(i)
	}
}
