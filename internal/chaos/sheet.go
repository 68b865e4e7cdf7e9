package main

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// sheet prints the results of runs.
type sheet struct {
	out    io.Writer
	began  time.Time
	runs   int
	failed int
	levels map[string]*levelSheet
}

// levelSheet sums up the runs of a level.
type levelSheet struct {
	runs, failed int
	resumed      []resumption
}

const columns = "%5s  %-10s %-11s %-8s %-6s %-8s %s\n"

func newSheet(out io.Writer) *sheet {
	fmt.Fprintf(out, columns, "seed", "mode", "level", "job", "took", "resumed", "what was done: how it ended")
	s := &sheet{out: out, began: time.Now(), levels: map[string]*levelSheet{}}
	for _, l := range levels {
		s.levels[l.name] = new(levelSheet)
	}
	return s
}

// line prints a run.
func (s *sheet) line(p plan, v verdict) {
	at := s.levels[p.level.name]
	s.runs, at.runs = s.runs+1, at.runs+1
	at.resumed = append(at.resumed, v.resumed...)
	job, result, back := "counts", "ok", "-"
	if p.flights {
		job = "flights"
	}
	if len(v.wrong) > 0 {
		s.failed, at.failed = s.failed+1, at.failed+1
		result = "FAILED"
	}
	if all := sorted(v.resumed, ""); len(all) > 0 {
		back = seconds(all[len(all)-1])
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

// end prints the summary, and returns the exit code.
func (s *sheet) end(now time.Time) int {
	for _, l := range levels {
		at := s.levels[l.name]
		if at.runs == 0 {
			continue
		}
		fmt.Fprintf(s.out, "%s: %d runs, %d failed; to the next update %s\n", l.name, at.runs, at.failed,
			middle(sorted(at.resumed, "")))
		for _, what := range at.kinds() {
			fmt.Fprintf(s.out, "      after %-22s %s\n", what, middle(sorted(at.resumed, what)))
		}
	}
	fmt.Fprintf(s.out, "%d runs in %s, %d failed\n", s.runs, seconds(now.Sub(s.began)), s.failed)
	return min(s.failed, 1)
}

// kinds returns the kinds of events at a level, sorted.
func (at *levelSheet) kinds() (all []string) {
	for _, r := range at.resumed {
		all = append(all, r.done)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// sorted returns the times after events of a kind, sorted; "" stands for all kinds.
func sorted(all []resumption, done string) (times []time.Duration) {
	for _, r := range all {
		if done == "" || r.done == done {
			times = append(times, r.after)
		}
	}
	slices.Sort(times)
	return times
}

// middle describes the median and the longest of sorted times.
func middle(times []time.Duration) string {
	if len(times) == 0 {
		return "-"
	}
	return fmt.Sprintf("p50 %s, max %s, of %d", seconds(times[len(times)/2]), seconds(times[len(times)-1]), len(times))
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }
