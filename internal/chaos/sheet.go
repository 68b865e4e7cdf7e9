package main

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// sheet is what is printed of runs.
type sheet struct {
	out    io.Writer
	began  time.Time
	runs   int
	failed int
	back   map[string][]time.Duration // by level
}

const columns = "%5s  %-10s %-11s %-8s %-6s %-8s %s\n"

func newSheet(out io.Writer) *sheet {
	fmt.Fprintf(out, columns, "seed", "mode", "level", "job", "took", "resumed", "what was done: how it ended")
	return &sheet{out: out, began: time.Now(), back: map[string][]time.Duration{}}
}

// line prints a run.
func (s *sheet) line(p plan, v verdict) {
	s.runs++
	s.back[p.level.name] = append(s.back[p.level.name], v.back...)
	job, result, back := "counts", "ok", "-"
	if p.flights {
		job = "flights"
	}
	if len(v.wrong) > 0 {
		s.failed++
		result = "FAILED"
	}
	if len(v.back) > 0 {
		back = seconds(slices.Max(v.back))
	}
	how := fmt.Sprintf("%s: %s, %s", p.deeds(), v.end, result)
	fmt.Fprintf(s.out, columns, fmt.Sprint(p.seed), p.mode, p.level.name, job, seconds(v.took), back, how)
	for _, why := range v.wrong {
		fmt.Fprintln(s.out, "     ", why)
	}
	if len(v.wrong) > 0 {
		fmt.Fprintln(s.out, "     ", p.replay())
	}
}

// end prints the whole, and is the exit code.
func (s *sheet) end(now time.Time) int {
	for _, l := range levels {
		all := s.back[l.name]
		if slices.Sort(all); len(all) > 0 {
			fmt.Fprintf(s.out, "%s: from what was done to the next update p50 %s, max %s, of %d\n", l.name, seconds(all[len(all)/2]),
				seconds(all[len(all)-1]), len(all))
		}
	}
	fmt.Fprintf(s.out, "%d runs in %s, %d failed\n", s.runs, seconds(now.Sub(s.began)), s.failed)
	return min(s.failed, 1)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }
