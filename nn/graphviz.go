package nn

import (
	"fmt"
	"slices"
	"strings"
)

// Dot returns the graph in the language of Graphviz; dot -Tsvg draws it. A box is an op, framed together with the
// parameters that only it uses; an ellipse is a feed, a cylinder a parameter. Edges show the shapes of values.
func (g *Graph) Dot() string {
	var b strings.Builder
	b.WriteString("digraph model {\n\tnode [shape=box fontname=\"Helvetica\" fontsize=11]\n\tedge " +
		"[fontname=\"Helvetica\" fontsize=9]\n")
	framed := map[*Node]bool{}
	for _, n := range g.nodes {
		if own := g.own(n); len(own) > 0 {
			fmt.Fprintf(&b, "\tsubgraph cluster_%d {\n\t\tstyle=rounded color=gray\n", n.index)
			for _, in := range append(own, n) {
				framed[in] = true
				fmt.Fprintf(&b, "\t\t%s\n", in.dot())
			}
			b.WriteString("\t}\n")
		}
	}
	for _, n := range g.nodes {
		if !framed[n] {
			fmt.Fprintf(&b, "\t%s\n", n.dot())
		}
	}
	for _, n := range g.nodes {
		for _, in := range n.in {
			fmt.Fprintf(&b, "\tn%d -> n%d%s\n", in.index, n.index, in.edge())
		}
	}
	b.WriteString("}\n")
	return b.String()
}

// own returns the parameters that only this node uses.
func (g *Graph) own(n *Node) []*Node {
	var own []*Node
	for _, in := range n.in {
		if isVariable(in) && !slices.ContainsFunc(g.nodes,
			func(user *Node) bool { return user != n && slices.Contains(user.in, in) }) {
			own = append(own, in)
		}
	}
	return slices.Compact(own)
}

// dot is the node as a statement. Nodes are identified by numbers, since names may contain any characters.
func (n *Node) dot() string {
	shape, lines := "", []string{n.name, opName(n)}
	switch {
	case isFeed(n):
		shape = " shape=ellipse"
	case isVariable(n):
		shape, lines[1] = " shape=cylinder", paramShape(n.op.(variable).param)
		if n.op.(variable).param.Frozen {
			shape += " style=dashed"
		}
	}
	return fmt.Sprintf("n%d [label=%s%s]", n.index, dotQuoted(lines...), shape)
}

// edge returns the attributes of an edge from the node; a parameter's shape is shown in its node.
func (n *Node) edge() string {
	if isVariable(n) {
		return ""
	}
	return " [label=" + dotQuoted(shapeString(n.shape)) + "]"
}

// dotQuoted returns a label with these lines. Backslash, quote and ampersand are special in labels.
func dotQuoted(lines ...string) string {
	clean := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "&", "&amp;", "\n", " ", "\r", " ", "\x00", "")
	for i, line := range lines {
		lines[i] = clean.Replace(strings.ToValidUTF8(line, "?"))
	}
	return `"` + strings.Join(lines, `\n`) + `"`
}
