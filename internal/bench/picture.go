package main

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"strings"
)

// The picture's axis goes from an eighth to 32 times as fast, in so many pixels behind the names.
const axisLeft, axisWidth, axisLow, axisHigh, lineHeight = 430, 420, -3, 5, 18

var colours = map[string]string{met: "#2a7", missed: "#c43", "": "#78a"} // others are grey

// at is the place of a ratio on the axis.
func at(ratio float64) float64 {
	exponent := min(max(math.Log2(ratio), axisLow), axisHigh)
	return axisLeft + axisWidth*(exponent-axisLow)/(axisHigh-axisLow)
}

// picture is a bar for each quotient, from 1 to how many times as fast gofleet is, with the spread and the goal.
func (r results) picture() string {
	var b strings.Builder
	y := 40
	for _, row := range r.undisturbed().Rows {
		for _, c := range row.Compared {
			median, least, most, ok := c.times()
			if !ok {
				continue
			}
			name := row.Name + ", " + c.title()
			if c.Of != gofleet {
				name = row.Name + ", " + c.Of + ": " + c.title()
			}
			fmt.Fprintf(&b, "<text x='%d' y='%d' text-anchor='end'>%s</text>\n", axisLeft-8, y+4,
				html.EscapeString(name))
			left, right := min(at(1), at(median)), max(at(1), at(median))
			fmt.Fprintf(&b, "<rect x='%.1f' y='%d' width='%.1f' height='10' fill='%s'/>\n", left, y-5, right-left,
				cmp.Or(colours[c.Verdict], "#999"))
			fmt.Fprintf(&b, "<path d=\"M%.1f %dH%.1f\" stroke='#000'/>\n", at(least), y, at(most))
			if goal := c.Goal; goal > 0 {
				if !higher(c.Figure) {
					goal = 1 / goal
				}
				fmt.Fprintf(&b, "<path d=\"M%.1f %dv16\" stroke='#000' stroke-width='2'/>\n", at(goal), y-8)
			}
			fmt.Fprintf(&b, "<text x='%d' y='%d'>%.3g×</text>\n", axisLeft+axisWidth+8, y+4, median)
			y += lineHeight
		}
	}
	var axis strings.Builder
	for e := axisLow; e <= axisHigh; e++ {
		x := at(math.Exp2(float64(e)))
		fmt.Fprintf(&axis, "<path d='M%.1f 26V%d' stroke='#ddd'/>\n", x, y)
		fmt.Fprintf(&axis, "<text x='%.1f' y='20' text-anchor='middle'>%v</text>\n", x, math.Exp2(float64(e)))
	}
	fmt.Fprintf(&b, "<text x='8' y='%d'>Times as fast as the other, with the spread; a tick is a goal. Green: met, "+
		"red: missed, grey: no verdict. Commit %s.</text>\n", y+20, r.Machine.Commit)
	return fmt.Sprintf("<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' font-family='sans-serif' "+
		"font-size='12'>\n<rect width='100%%' height='100%%' fill='#fff'/>\n%s%s</svg>\n",
		axisLeft+axisWidth+70, y+30, axis.String(), b.String())
}
