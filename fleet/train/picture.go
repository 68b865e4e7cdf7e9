package train

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// panel is a drawing of lines over one pair of axes; series are the points of a line, whose name is its style too.
type (
	panel struct {
		title  string
		lines  []series
		epochs []float64 // ends of epochs
		again  []float32 // where the job was started again
		best   *point    // marked point, nil for none
		under  string    // label of the lower axis; "" means examples
		note   string    // text at the side; "" means the best value
		// straight draws the line of equal values on both axes
		straight bool
	}
	series struct {
		name   string // "train" or "test"
		points []point
	}
)

// Sizes of a panel in pixels, and the places of its axes.
const (
	panelWidth, panelHeight = 440, 280
	axisLeft, axisRight     = 58, panelWidth - 20
	axisTop, axisBottom     = 44, panelHeight - 48
)

// style has colours for light and dark. The picture has a background of its own, since a page may be dark where the
// reader's system is not.
const style = `
text { font: 12px system-ui, sans-serif; fill: #1f2328 } .title { font-weight: 600; font-size: 14px }
.x { text-anchor: middle }
.y, .legend, .note { text-anchor: end } .ground { fill: #ffffff } .grid { stroke: #d8dee4 } .axis { stroke: #1f2328 }
polyline { fill: none; stroke-width: 1.8; stroke-linejoin: round }
.train { stroke: #2f6fd0 } .test, .best { stroke: #d1570d } circle { fill: #d1570d }
.best { fill: none; stroke-width: 1.5 } .again { stroke: #8250df }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .ground { fill: #0d1117 } .grid { stroke: #3d444d } .axis { stroke: #e6edf3 }
.train { stroke: #79b0ff } .test, .best { stroke: #ffa657 } circle { fill: #ffa657 } }
`

// draw writes panels as SVG, two side by side.
func draw(w io.Writer, title string, panels []panel) error {
	columns := min(len(panels), 2)
	width, height := columns*panelWidth, (len(panels)+columns-1)/columns*panelHeight
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[2]d"
 width="%[1]d" height="%[2]d" role="img">
<title>%[4]s</title>
<style>%[3]s</style>
<rect class="ground" width="100%%" height="100%%"/>
`, width, height, style, title)
	for i, p := range panels {
		fmt.Fprintf(&b, "<g transform=\"translate(%d,%d)\">\n", i%columns*panelWidth, i/columns*panelHeight)
		p.draw(&b)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	_, err := b.WriteTo(w)
	return err
}

func (p panel) draw(b *bytes.Buffer) {
	x, y := p.axes()
	for _, v := range y.ticks() {
		at := y.place(v)
		fmt.Fprintf(b, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>", axisLeft, axisRight, at,
			at)
		text(b, "y", axisLeft-8, at+4, y.text(v))
	}
	for _, v := range x.ticks() {
		text(b, "x", x.place(v), axisBottom+18, x.text(v))
	}
	for _, at := range p.epochs {
		fmt.Fprintf(b, "<line class=\"grid\" stroke-dasharray=\"2 4\" x1=\"%[1]d\" x2=\"%[1]d\" y1=\"%d\" y2=\"%d\"/>",
			int(x.place(at)), axisTop, axisBottom)
	}
	for _, at := range p.again {
		fmt.Fprintf(b, "\n<line class=\"again\" stroke-dasharray=\"6 3\" x1=\"%[1]d\" x2=\"%[1]d\" "+
			"y1=\"%d\" y2=\"%d\">",
			int(x.place(float64(at))), axisTop, axisBottom)
		b.WriteString("<title>started again</title></line>\n")
	}
	fmt.Fprintf(b, "<line class=\"axis\" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>\n", axisLeft, axisRight, axisBottom,
		axisBottom)
	text(b, "x", (axisLeft+axisRight)/2, axisBottom+38, cmp.Or(p.under, "examples"))
	if p.straight {
		fmt.Fprintf(b, "<line class=\"axis\" stroke-dasharray=\"5 4\" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>\n",
			axisLeft, axisRight, axisBottom, axisTop)
	}
	text(b, "title", axisLeft, 26, p.title)
	for i, l := range p.lines {
		at := float64(axisRight - 70*(len(p.lines)-1-i))
		fmt.Fprintf(b, "<line class=%q x1=\"%.0f\" x2=\"%.0f\" y1=\"22\" y2=\"22\" stroke-width=\"2\"/>", l.name, at-54,
			at-34)
		text(b, "legend", at, 26, l.name)
		l.draw(b, x, y)
	}
	if p.best != nil {
		px, py := x.place(float64(p.best[0])), y.place(float64(p.best[1]))
		fmt.Fprintf(b, "<path class=\"best\" d=\"M%.1f %.1fa7 7 0 1 0 14 0a7 7 0 1 0 -14 0\"/>\n", px-7, py)
		p.note = fmt.Sprintf("best %.4g", p.best[1])
	}
	if p.note != "" {
		text(b, "note", axisRight, axisBottom+38, p.note)
	}
}

// draw draws the line, with a dot for each evaluation.
func (l series) draw(b *bytes.Buffer, x, y axis) {
	places := make([]string, len(l.points))
	for i, p := range l.points {
		places[i] = fmt.Sprintf("%.1f,%.1f", x.place(float64(p[0])), y.place(float64(p[1])))
	}
	fmt.Fprintf(b, "<polyline class=%q points=%q/>\n", l.name, strings.Join(places, " "))
	if l.name != "test" {
		return
	}
	for _, p := range l.points {
		fmt.Fprintf(b, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>\n", x.place(float64(p[0])), y.place(float64(p[1])))
	}
}

func text(b *bytes.Buffer, class string, x, y float64, s string) {
	fmt.Fprintf(b, "<text class=%q x=\"%.1f\" y=\"%.1f\">", class, x, y)
	b.WriteString(html.EscapeString(strings.Map(func(c rune) rune {
		if unicode.IsPrint(c) {
			return c
		}
		return utf8.RuneError // XML has no other control characters
	}, s)) + "</text>\n")
}

// axis maps the numbers between two to pixels.
type axis struct {
	low, high float64
	from, to  float64
	short     bool // write 20k for 20,000
}

// squeezed is how many times longer the first points of lines may make the axis of values; else these stand at its end.
const squeezed = 3

// axes hold all points of the panel, but for first points that would squeeze the others. Examples begin at 0, and so do
// probabilities, whose axes are the same.
func (p panel) axes() (x, y axis) {
	x = axis{high: 1, from: axisLeft, to: axisRight, short: true}
	y = axis{low: math.Inf(1), high: math.Inf(-1), from: axisBottom, to: axisTop}
	later := y
	for _, l := range p.lines {
		for i, p := range l.points {
			x.high = max(x.high, float64(p[0]))
			y = y.with(float64(p[1]))
			if i > 0 {
				later = later.with(float64(p[1]))
			}
		}
	}
	if length := later.high - later.low; length > 0 && y.high-y.low > squeezed*length {
		y = later
	}
	if p.straight {
		x.high = max(y.high, 1e-6)
		for _, at := range p.lines[0].points {
			x.high = max(x.high, float64(at[0]))
		}
		x.high *= 1.05
		y.low, y.high = 0, x.high
		return x, y
	}
	if y.low > y.high { // no points
		y.low, y.high = 0, 1
	}
	room := (y.high - y.low) / 20
	if room <= math.Abs(y.high)*1e-6 { // all values are the same
		room = max(math.Abs(y.high)/10, 1e-6)
	}
	y.low, y.high = y.low-room, y.high+room
	return x, y
}

// with is the axis with a number on it.
func (a axis) with(v float64) axis {
	a.low, a.high = min(a.low, v), max(a.high, v)
	return a
}

// place is the pixel of a number, that of the axis' end if the number is not on it.
func (a axis) place(v float64) float64 {
	return a.from + (max(a.low, min(v, a.high))-a.low)/(a.high-a.low)*(a.to-a.from)
}

// step is the distance between ticks: 1, 2 or 5 times a power of ten, with at most six ticks on the axis.
func (a axis) step() float64 {
	rough := (a.high - a.low) / 6
	power := math.Pow(10, math.Floor(math.Log10(rough)))
	for _, times := range []float64{1, 2, 5} {
		if power*times >= rough {
			return power * times
		}
	}
	return power * 10
}

func (a axis) ticks() []float64 {
	var ticks []float64
	step := a.step()
	for i := math.Ceil(a.low / step); i*step <= a.high; i++ {
		ticks = append(ticks, i*step)
	}
	return ticks
}

// text is a tick's number, with the digits that the distance between ticks needs.
func (a axis) text(v float64) string {
	if a.short {
		for _, unit := range []struct {
			name string
			of   float64
		}{{"G", 1e9}, {"M", 1e6}, {"k", 1e3}} {
			if v >= unit.of {
				return strconv.FormatFloat(v/unit.of, 'g', 6, 64) + unit.name
			}
		}
	}
	digits := max(0, int(-math.Floor(math.Log10(a.step()))))
	if digits > 6 || math.Abs(v) >= 1e6 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	return strconv.FormatFloat(v+0, 'f', digits, 64)
}
