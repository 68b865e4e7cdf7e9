package nn

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gofleet/gofleet/optimizer"
)

// String returns the graph as a table: a row for each feed and each op in order of construction, with the shape of its
// value, its inputs, and the parameters that it is the first to use, with the number of their values and their bytes;
// then the totals. A parameter .w_0 has the node's name before the dot. A value has four bytes; the state of an update
// rule is not counted. The Plan of a job's fleet shows where each parameter lives.
func (g *Graph) String() string {
	s := summary{rows: [][]string{{"node", "op", "shape", "of", "values", "bytes", "parameters"}},
		shown: map[*Node]bool{}}
	for _, n := range g.nodes {
		if !isVariable(n) || !g.used(n) {
			s.add(n)
		}
	}
	text := columns(s.rows, 4, 5) + s.totals(g.Params())
	if err := g.Err(); err != nil {
		text += fmt.Sprintf("mistake: %v\n", err)
	}
	return text
}

// summary is the rows of the table, and the parameters that they show.
type summary struct {
	rows  [][]string
	shown map[*Node]bool
}

// add adds the row of a node.
func (s *summary) add(n *Node) {
	var params []string
	var sum amount
	for _, v := range append(slices.Clone(n.in), n) {
		if isVariable(v) {
			params = append(params, s.parameter(n, v, &sum))
		}
	}
	s.rows = append(s.rows, []string{n.name, opName(n), shapeString(n.shape), sources(n), sum.values(), sum.bytes(),
		strings.Join(params, ", ")})
}

// sources lists a node's inputs, at most the first four.
func sources(n *Node) string {
	const most = 4
	var of []string
	for _, in := range n.in {
		if !isVariable(in) {
			of = append(of, in.name)
		}
	}
	if more := len(of) - most; more > 0 {
		of = append(of[:most], fmt.Sprintf("%d more", more))
	}
	return strings.Join(of, ", ")
}

// parameter describes a parameter in the row of n; it is counted in the first row that shows it.
func (s *summary) parameter(n, v *Node, sum *amount) string {
	p, name := v.op.(variable).param, v.name
	if s.shown[v] {
		return name + " as above"
	}
	s.shown[v] = true
	sum.add(p)
	if own, ok := strings.CutPrefix(name, n.name); ok && strings.HasPrefix(own, ".") {
		name = own
	}
	if p.Frozen {
		return name + " " + paramShape(p) + " frozen"
	}
	return name + " " + paramShape(p)
}

// totals returns the lines below the table.
func (s *summary) totals(params []*optimizer.Param) string {
	var b strings.Builder
	for _, frozen := range []bool{false, true} {
		var dense, rows amount
		for _, p := range params {
			switch {
			case p.Frozen != frozen:
			case p.Embedding:
				rows.add(p)
			default:
				dense.add(p)
			}
		}
		if dense.any || rows.any || !frozen {
			fmt.Fprintf(&b, "%s: %s\n", map[bool]string{false: "trained", true: "frozen"}[frozen], dense.beside(rows))
		}
	}
	for _, p := range params {
		if p.Embedding && p.Height() == 0 {
			fmt.Fprintf(&b, "embedding %q: open, %s a row\n", p.Name, size(4*float64(p.Dim())))
		}
	}
	return b.String()
}

// amount is the size of parameters. It is a float, since the height of an embedding takes no memory and may be any
// number.
type amount struct {
	n    float64
	any  bool
	open bool // there are open embeddings
}

func (a *amount) add(p *optimizer.Param) {
	a.any = true
	if p.Embedding {
		a.n += float64(p.Height()) * float64(p.Dim())
		a.open = a.open || p.Height() == 0
		return
	}
	a.n += float64(p.Size())
}

func (a amount) values() string { return a.text(counted) }
func (a amount) bytes() string  { return a.text(func(n float64) string { return size(4 * n) }) }

func (a amount) text(of func(float64) string) string {
	switch {
	case !a.any:
		return ""
	case a.n == 0:
		return "open"
	case a.open:
		return of(a.n) + " + open"
	}
	return of(a.n)
}

// beside describes the dense values, and the embeddings beside them.
func (a amount) beside(rows amount) string {
	text := fmt.Sprintf("%s dense values (%s)", counted(a.n), size(4*a.n))
	if rows.n > 0 {
		text += fmt.Sprintf(", %s of embeddings (%s when all rows are born)", counted(rows.n), size(4*rows.n))
	}
	return text
}

func counted(n float64) string {
	if n >= 1<<53 {
		return fmt.Sprintf("%.2g", n)
	}
	return grouped(int(n))
}

// size writes a number of bytes for people, in the units of a placement's plan.
func size(n float64) string {
	for _, unit := range []struct {
		name string
		of   float64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= 10*unit.of {
			return fmt.Sprintf("%.1f %s", n/unit.of, unit.name)
		}
	}
	return fmt.Sprintf("%.0f B", n)
}

// opName is the name of a node's op; feeds are named after the methods that declare them.
func opName(n *Node) string {
	switch {
	case isSlot(n):
		return "slot"
	case isSlotValues(n):
		return "slot values"
	case isFeed(n) && isInt(n):
		return "ids"
	}
	return called(n.op)
}

// paramShape is the shape of a parameter, with open for the height of an embedding without one.
func paramShape(p *optimizer.Param) string {
	if p.Embedding && p.Height() == 0 {
		return fmt.Sprintf("[open %d]", p.Dim())
	}
	return shapeString(p.Shape)
}

// columns aligns rows in columns; the listed columns are aligned to the right.
func columns(rows [][]string, right ...int) string {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			fill := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if slices.Contains(right, i) {
				cell, fill = fill+cell, ""
			}
			line.WriteString(cell + fill + "  ")
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

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
