package nn

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"strings"
	"time"

	"gorgonia.org/tensor"
)

// report is the progress of one loop. A nil report prints nothing.
type report struct {
	Progress
	style style
	width int
	shown []shownFetch

	last          time.Time // of the step before
	drawn, logged time.Time // last live line, and last plain line or record
	rate, loss    fading
}

// shownFetch is a fetch of one element in the report.
type shownFetch struct {
	name string
	at   int // position among the fetches
}

// memory is the time constant of the shown rate and loss: older steps fade.
const memory = 5 * time.Second

// fading is a mean in which older contributions fade.
type fading struct{ sum, weight float64 }

func (f *fading) add(sum, weight, keep float64) {
	f.sum, f.weight = f.sum*keep+sum, f.weight*keep+weight
}

func (f *fading) mean() float64 {
	if f.weight == 0 {
		return 0
	}
	return f.sum / f.weight
}

func (r *report) start(now time.Time) { r.last, r.drawn, r.logged = now, now, now }

// step counts a step and shows it if it is time to.
func (r *report) step(res TrainResult, loss, weight float64, samples int) {
	if r == nil {
		return
	}
	now := time.Now()
	elapsed := now.Sub(r.last)
	keep := math.Exp(-elapsed.Seconds() / memory.Seconds())
	r.rate.add(float64(samples), elapsed.Seconds(), keep)
	if weight > 0 {
		r.loss.add(loss*weight, weight, keep)
	}
	r.last = now
	if r.style == live && now.Sub(r.drawn) >= liveInterval {
		r.drawn = now
		r.draw(r.line(res))
	}
	if now.Sub(r.logged) >= r.Every || r.Steps > 0 && res.Steps%r.Steps == 0 {
		r.logged = now
		r.write(r.line(res), r.values(res))
	}
}

// finish reports on the whole loop. Without trained examples there are no numbers.
func (r *report) finish(res TrainResult) {
	switch {
	case r == nil || res.Samples == 0 && res.Passed == 0:
		return
	case res.Samples == 0:
		if r.style != off {
			fmt.Fprintf(r.Out, "%snothing is left to train: %s examples are in the checkpoint\n", r.label(),
				grouped(res.Passed))
		}
		return
	}
	line := fmt.Sprintf("%s%s examples%s in %s  %s examples/s  loss %.4f%s", r.label(), grouped(res.Samples),
		beside(res.Passed), spoken(res.Elapsed), grouped(int(res.Rate())), res.Loss, r.fetches(res))
	if r.style == live {
		fmt.Fprintf(r.Out, "\r\x1b[K%s\n", line)
	}
	r.rate, r.loss = fading{float64(res.Samples), res.Elapsed.Seconds()}, fading{res.Loss, 1}
	r.write(line, r.values(res))
}

// beside mentions skipped examples, if there were any.
func beside(passed int) string {
	if passed == 0 {
		return ""
	}
	return fmt.Sprintf(" (after %s in the checkpoint)", grouped(passed))
}

// draw replaces the live line. It cuts long lines, since a line that wraps can't be replaced.
func (r *report) draw(line string) {
	if runes := []rune(line); len(runes) > r.width {
		line = string(runes[:r.width])
	}
	fmt.Fprintf(r.Out, "\r\x1b[K%s", line)
}

// write writes a plain line and a record.
func (r *report) write(line string, values []slog.Attr) {
	if r.style == plain {
		io.WriteString(r.Out, line+"\n")
	}
	if r.Logger != nil {
		r.Logger.LogAttrs(context.Background(), slog.LevelInfo, "training", values...)
	}
}

func (r *report) label() string {
	if r.Label == "" {
		return ""
	}
	return r.Label + "  "
}

// line returns the state of the loop, the most important first.
func (r *report) line(res TrainResult) string {
	var b strings.Builder
	b.WriteString(r.label())
	if r.Total > 0 {
		fmt.Fprintf(&b, "%d%%  ", min(100, 100*(res.Passed+res.Samples)/r.Total))
	}
	fmt.Fprintf(&b, "%s examples/s  loss %.4f%s", grouped(int(r.rate.mean())), r.loss.mean(), r.fetches(res))
	if left, ok := r.left(res); ok {
		fmt.Fprintf(&b, "  %s left", spoken(left))
	}
	fmt.Fprintf(&b, "  %s", grouped(res.Passed+res.Samples))
	if r.Total > 0 {
		fmt.Fprintf(&b, "/%s", grouped(r.Total))
	}
	return b.String()
}

func (r *report) fetches(res TrainResult) string {
	var b strings.Builder
	last := res.Last()
	for _, f := range r.shown {
		if v, ok := scalar(last, f.at); ok {
			fmt.Fprintf(&b, "  %s %.4f", f.name, v)
		}
	}
	return b.String()
}

// values returns the numbers of a line as a record.
func (r *report) values(res TrainResult) []slog.Attr {
	a := []slog.Attr{slog.String("label", r.Label), slog.Int("steps", res.Steps), slog.Int("examples", res.Samples),
		slog.Float64("examples_per_second", r.rate.mean()), slog.Float64("loss", r.loss.mean())}
	last := res.Last()
	for _, f := range r.shown {
		if v, ok := scalar(last, f.at); ok {
			a = append(a, slog.Float64(f.name, float64(v)))
		}
	}
	if left, ok := r.left(res); ok {
		a = append(a, slog.Duration("left", left))
	}
	return a
}

func scalar(last []*tensor.Dense, at int) (float32, bool) {
	if at >= len(last) {
		return 0, false
	}
	v := last[at].Float32s()
	return v[0], len(v) == 1
}

// left returns the time that the remaining examples will take.
func (r *report) left(res TrainResult) (time.Duration, bool) {
	rate := r.rate.mean()
	left := r.Total - res.Passed - res.Samples
	if r.Total <= 0 || rate <= 0 || left <= 0 {
		return 0, false
	}
	return time.Duration(float64(left) / rate * float64(time.Second)), true
}

// grouped writes 1234567 as 1,234,567.
func grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// spoken rounds a duration for people: 7.3s, 1m20s.
func spoken(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// start begins the report of one loop; it returns nil if p is nil.
func (p *Progress) start(fetch []*Node) *report {
	if p == nil {
		return nil
	}
	r := &report{Progress: *p, style: p.style(os.Getenv("FLEET_PROGRESS"))}
	if r.Out == nil {
		r.Out = os.Stdout
	}
	if r.Every == 0 {
		r.Every = plainInterval
	}
	for i, n := range fetch {
		if product(n.shape) == 1 {
			r.shown = append(r.shown, shownFetch{n.Label(), i})
		}
	}
	r.width = lineWidth(r.Out)
	r.start(time.Now())
	return r
}
