package nn

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// TestDot draws a small model: its table is used twice and stands alone, its layer's weights stand with the layer.
func TestDot(t *testing.T) {
	g := NewGraph(1)
	emb := EmbeddingOptions{Name: "emb", Dim: 2}
	h := Concat(Embedding(g.IDs("a", 3), emb), EmbeddingPool(g.Slot("b"), PoolSum, emb))
	Linear(h, 5, LinearOptions{Name: "fc"})
	g.Parameter(ParameterOptions{Name: "still", Frozen: true}, 7)
	const want = `digraph model {
	node [shape=box fontname="Helvetica" fontsize=11]
	edge [fontname="Helvetica" fontsize=9]
	subgraph cluster_8 {
		style=rounded color=gray
		n6 [label="fc.w_0\n[8 5]" shape=cylinder]
		n7 [label="fc.b_0\n[5]" shape=cylinder]
		n8 [label="fc\nlinear"]
	}
	n0 [label="a\nids" shape=ellipse]
	n1 [label="emb\n[open 2]" shape=cylinder]
	n2 [label="embedding_0\nembedding"]
	n3 [label="b\nslot" shape=ellipse]
	n4 [label="embedding_pool_0\nembedding_pool"]
	n5 [label="concat_0\nconcat"]
	n9 [label="still\n[7]" shape=cylinder style=dashed]
	n0 -> n2 [label="[N 3]"]
	n1 -> n2
	n3 -> n4 [label="[N]"]
	n1 -> n4
	n2 -> n5 [label="[N 6]"]
	n4 -> n5 [label="[N 2]"]
	n5 -> n8 [label="[N 8]"]
	n6 -> n8
	n7 -> n8
}
`
	if got := g.Dot(); got != want {
		t.Errorf("got %s", got)
	}
}

// A line of Dot's language as this package writes it: a label is a quoted string in which nothing but a backslash may stand before a quote.
const dotLabel = `"(?:[^"\\]|\\["\\n])*"`

var (
	dotNode = regexp.MustCompile(`^\t+n(\d+) \[label=(` + dotLabel + `)( shape=\w+)?( style=dashed)?\]$`)
	dotEdge = regexp.MustCompile(`^\tn(\d+) -> n(\d+)( \[label=` + dotLabel + `\])?$`)
)

// TestDotOfAnyNames: whatever nodes are called, every node stands there once and edges join them.
func TestDotOfAnyNames(t *testing.T) {
	names := []string{`"];evil`, `back\`, `\n\G`, "two\nlines\r", "&lt;", "<b>", "名前", "\xff", "nul\x00", "->", "{|}"}
	g := NewGraph(1)
	var all []*Node
	for _, name := range names {
		all = append(all, Scale(Linear(g.Input(name, 2), 1, LinearOptions{Name: name + "fc"}), 2, 0).Named(name+"named"))
	}
	Concat(all...)
	nodes, edges := map[string]bool{}, 0
	for _, line := range strings.Split(g.Dot(), "\n") {
		if m := dotNode.FindStringSubmatch(line); m != nil {
			if nodes[m[1]] {
				t.Errorf("node %s stands there twice", m[1])
			}
			nodes[m[1]] = true
		} else if m := dotEdge.FindStringSubmatch(line); m != nil {
			edges++
			if !nodes[m[1]] || !nodes[m[2]] {
				t.Errorf("%s: no such node", line)
			}
		} else if strings.Contains(line, "label") {
			t.Errorf("%q is neither a node nor an edge", line)
		}
	}
	if want := 5*len(names) + 1; len(nodes) != want || edges != 5*len(names) || g.Err() != nil {
		t.Errorf("%d nodes, %d edges, %v", len(nodes), edges, g.Err())
	}
	if got := fmt.Sprint(strings.Count(g.Dot(), "{"), strings.Contains(g.Dot(), "\x00")); got != fmt.Sprint(strings.Count(g.Dot(), "}"), false) {
		t.Error("braces don't match, or a zero is left")
	}
}
