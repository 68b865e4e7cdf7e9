package placement

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// String returns the plan as a table: every block with its shape, elements, bytes, those of
// a row if they are known, and server, then each server's total
// and the imbalance.
func (p *Plan) String() string {
	var s strings.Builder
	p.table(&s)
	return s.String()
}

// WriteTo writes what String returns.
func (p *Plan) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	p.table(&b)
	return b.WriteTo(w)
}

// table writes to a buffer, which does not fail.
func (p *Plan) table(w io.Writer) {
	fmt.Fprintf(w, "placement of %s on %s by %s\n", count(len(p.Variables), "variable"), count(p.Servers, "server"),
		p.Policy)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "variable\tblock\tshape\telements\tbytes\tserver\t")
	for v := range p.Variables {
		p.rows(t, v)
	}
	t.Flush()
	p.totals(w)
}

func (p *Plan) rows(w io.Writer, v int) {
	name, row := p.Variables[v].Name, "-"
	if n := p.Variables[v].RowBytes; n > 0 {
		row = size(int64(n)) + " a row"
		if most := p.Variables[v].MostRows; most > 0 {
			row += fmt.Sprintf(", room for %d", most)
		} else if p.Variables[v].Open {
			row += fmt.Sprintf(", %d in a GiB", 1<<30/n)
		}
	}
	if p.Variables[v].Open {
		fmt.Fprintf(w, "%s\trows by id\t[* %d]\t-\t%s\tall\t\n", name, p.Variables[v].Shape[1], row)
	}
	for _, b := range p.BlocksOf(v) {
		bytes := size(b.Bytes())
		if row != "-" {
			bytes += ", " + row
		}
		fmt.Fprintf(w, "%s\t%s\t%v\t%d\t%s\t%d\t\n", name, b.part(len(p.BlocksOf(v))), b.Shape, b.Size, bytes, b.Server)
	}
}

// part is "2 of 3", or "whole".
func (b Placed) part(of int) string {
	if of == 1 {
		return "whole"
	}
	return fmt.Sprintf("%d of %d", b.Index+1, of)
}

func (p *Plan) totals(w io.Writer) {
	for s, l := range p.Loads() {
		fmt.Fprintf(w, "server %d: %s, %s, %s\n", s, count(l.Blocks, "block"), count(l.Elements, "element"),
			size(l.Bytes()))
	}
	fmt.Fprintf(w, "imbalance: the fullest server holds %.2f times the mean\n", p.Imbalance())
}

// count is a number and its noun.
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprint(n, " ", noun)
}

// size is a number of bytes as people read it.
func size(n int64) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 10<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 10<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}
