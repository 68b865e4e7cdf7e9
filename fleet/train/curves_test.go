package train_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
)

// picture is what an SVG of curves has.
type picture struct {
	Title  string  `xml:"title"`
	Panels []panel `xml:"g"`
}

type panel struct {
	Lines []struct {
		Class  string `xml:"class,attr"`
		Points string `xml:"points,attr"`
	} `xml:"polyline"`
	Circles []struct {
		X float64 `xml:"cx,attr"`
		Y float64 `xml:"cy,attr"`
	} `xml:"circle"`
	Marks []struct {
		Class string `xml:"class,attr"`
		Path  string `xml:"d,attr"`
	} `xml:"path"`
	Grid []struct {
		Dashes string  `xml:"stroke-dasharray,attr"`
		X      float64 `xml:"x1,attr"`
	} `xml:"line"`
	Texts []struct {
		Class string `xml:"class,attr"`
		Text  string `xml:",chardata"`
	} `xml:"text"`
}

// texts are those of a class, with blanks between.
func (p panel) texts(class string) string {
	var all []string
	for _, t := range p.Texts {
		if t.Class == class {
			all = append(all, t.Text)
		}
	}
	return strings.Join(all, " ")
}

// line is that of a class, as x and y by turns.
func (p panel) line(t *testing.T, class string) (x, y []float64) {
	for _, l := range p.Lines {
		if l.Class != class {
			continue
		}
		for i, s := range strings.FieldsFunc(l.Points, func(r rune) bool { return r == ',' || r == ' ' }) {
			v, err := strconv.ParseFloat(s, 64)
			law.Check(t, err)
			if x = append(x, v); i%2 == 1 {
				x, y = x[:len(x)-1], append(y, v)
			}
		}
	}
	return x, y
}

func readPicture(t *testing.T, file string) (p picture) {
	t.Helper()
	data, err := os.ReadFile(file)
	law.Check(t, err)
	if err := xml.Unmarshal(data, &p); err != nil {
		t.Fatalf("%v in\n%s", err, data)
	}
	return p
}

// inside says whether places rise from left to right within the axes.
func inside(x, y []float64) bool {
	return len(x) == len(y) && slices.IsSorted(x) && x[0] >= 58 && x[len(x)-1] <= 420 && slices.Min(y) >= 44 && slices.Max(y) <= 232
}

// TestCurves: what a job leaves has a picture with the loss of each step, and a point for each evaluation of the loss and each metric, where
// the numbers say.
func TestCurves(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	results, _ := play(t, 0, 1, func() train.Job {
		j := job(train.Options{Epochs: 4, Batch: 40, EvalEvery: 5, Out: dir})
		j.Metrics[0].Named(`<AUC & "more">`)
		return j
	})
	p, history := readPicture(t, filepath.Join(dir, "curves.svg")), results[0].History
	if len(p.Panels) != 2 || p.Title != "training curves" {
		t.Fatalf("%d panels, %q", len(p.Panels), p.Title)
	}
	loss, auc := p.Panels[0], p.Panels[1]
	words := []string{loss.texts("title"), loss.texts("legend"), auc.texts("title"), auc.texts("legend"), auc.texts("x")}
	always := history[len(history)-1].Values["constant test loss"]
	if want := []string{fmt.Sprintf("loss (always %.4g)", always), "train test", `<AUC & "more"> (always 0.5)`, "train test", "0 500 1k 1.5k examples, in 4 epochs"}; !slices.Equal(words, want) {
		t.Errorf("words are %q, want %q", words, want)
	}
	trainX, trainY := loss.line(t, "train")
	if len(trainX) != 40 || !inside(trainX, trainY) || trainX[39] != 420 || trainY[0] >= trainY[39] {
		t.Errorf("%d steps: x %v, y %v", len(trainX), trainX, trainY)
	}
	for _, panel := range p.Panels {
		x, y := panel.line(t, "test")
		if len(x) != len(history) || len(panel.Circles) != len(history) || !inside(x, y) {
			t.Fatalf("%d evaluations: x %v, y %v, %d dots", len(history), x, y, len(panel.Circles))
		}
		for i, e := range history {
			if want := 58 + 362*float64(e.Examples)/1600; math.Abs(x[i]-want) > 0.06 || panel.Circles[i].X != x[i] || panel.Circles[i].Y != y[i] {
				t.Errorf("evaluation %d is at %v, its dot at %v, want %v", i, x[i], panel.Circles[i], want)
			}
		}
	}
	for i, name := range []string{train.EvalLoss, `test <AUC & "more">`} {
		best := history[0]
		for _, e := range history {
			if i == 0 && e.Values[name] < best.Values[name] || i == 1 && e.Values[name] > best.Values[name] {
				best = e
			}
		}
		panel, epochs := p.Panels[i], []float64(nil)
		if want := fmt.Sprintf("best %.4g", best.Values[name]); panel.texts("note") != want || len(panel.Marks) != 1 ||
			!strings.HasPrefix(panel.Marks[0].Path, fmt.Sprintf("M%.1f ", 58+362*float64(best.Examples)/1600-7)) {
			t.Errorf("%s: marked is %v, %q, want %q at %d examples", name, panel.Marks, panel.texts("note"), want, best.Examples)
		}
		for _, l := range panel.Grid {
			if l.Dashes != "" {
				epochs = append(epochs, l.X)
			}
		}
		if !slices.Equal(epochs, []float64{148, 239, 329, 420}) {
			t.Errorf("%s: epochs end at %v", name, epochs)
		}
	}
	_, y := loss.line(t, "test")
	for i, e := range history[1:] {
		if (e.Values[train.EvalLoss] < history[i].Values[train.EvalLoss]) != (y[i+1] > y[i]) {
			t.Errorf("loss %v after %v is drawn at %v after %v", e.Values[train.EvalLoss], history[i].Values[train.EvalLoss], y[i+1], y[i])
		}
	}
}

// TestFirstPointsSqueezeNothing: a first value far from all others does not make the axis long, and any other value does.
func TestFirstPointsSqueezeNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []float32
		high   float64 // at most a twentieth of the axis below its end
	}{{[]float32{1000, 3, 2, 1}, 3}, {[]float32{4, 3, 2, 1}, 4}, {[]float32{2, 3, 1000, 1}, 1000}, {[]float32{1000, 1}, 1000}, {[]float32{5}, 5}} {
		if low, high := train.Axis(c.values...); high < c.high || high > c.high+max((high-low)/10, 1) {
			t.Errorf("%v: from %v to %v, want to %v", c.values, low, high, c.high)
		}
	}
}

// TestCurvesOfManySteps: a picture does not grow with the job.
func TestCurvesOfManySteps(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pictures", "curves.svg")
	play(t, 0, 1, func() train.Job {
		j := job(train.Options{Epochs: 4, Batch: 2})
		j.Hooks = []train.Hooks{train.Curves(file)}
		return j
	})
	x, y := readPicture(t, file).Panels[0].line(t, "train")
	if len(x) < 128 || len(x) > 256 || !inside(x, y) || x[len(x)-1] < 415 { // of 800 steps
		t.Errorf("%d points, from %v to %v", len(x), x[0], x[len(x)-1])
	}
}

// TestCurvesGoOn: a job that is started again draws the picture, to the last byte, of one that was not disturbed, and marks where that was.
func TestCurvesGoOn(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	dir, enough := t.TempDir(), errors.New("enough")
	make := func(out string, h ...train.Hooks) train.Job {
		j := job(train.Options{Mode: "sync", Epochs: 3, Batch: 2, Checkpoint: filepath.Join(dir, "checkpoints", out), Out: filepath.Join(dir, out)})
		j.Hooks = h
		return j
	}
	play(t, 0, 1, func() train.Job { return make("whole") })
	fleettest.Cluster{Workers: 1}.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
		j := make("torn", train.Hooks{Step: func(_ context.Context, r *train.Run, so nn.TrainResult) error {
			if r.Epoch == 1 && so.Steps == 70 {
				return enough
			}
			return nil
		}})
		j.Stdout = io.Discard
		_, err := j.Run(ctx, f)
		return err
	})
	if _, said := play(t, 0, 1, func() train.Job { return make("torn") }); !strings.Contains(said, "goes on after epoch 1/3") {
		t.Errorf("the job that was torn said\n%s", said)
	}
	whole, err := os.ReadFile(filepath.Join(dir, "whole", "curves.svg"))
	torn, err2 := os.ReadFile(filepath.Join(dir, "torn", "curves.svg"))
	marks := regexp.MustCompile(`\n<line class="again".*x1="(\d+)".*<title>started again</title></line>\n`)
	if at := marks.FindAllSubmatch(torn, -1); len(at) != 2 || string(at[0][1]) != "178" || marks.Match(whole) {
		t.Errorf("marks are %q", at)
	}
	torn = marks.ReplaceAll(torn, nil)
	if err != nil || err2 != nil || !bytes.Equal(whole, torn) {
		t.Errorf("%v, %v, %d and %d bytes", err, err2, len(whole), len(torn))
	}
}

// uphill is a rate that goes back where it came from behind ten updates.
type uphill struct{}

func (uphill) Rate(n int64) float64 { return 0.5 - float64(n/10) }

// TestTheBestWasEarlier: a job whose last evaluation is not its best says so, and what leaves the best model; another says nothing of it.
func TestTheBestWasEarlier(t *testing.T) {
	t.Parallel()
	for rule, worse := range map[optimizer.Rule]bool{optimizer.SGD{Schedule: uphill{}}: true, optimizer.SGD{LR: 0.5}: false} {
		_, said := play(t, 0, 1, func() train.Job {
			j := job(train.Options{Epochs: 2, Batch: 40, Out: t.TempDir()})
			j.Rule = rule
			return j
		})
		if got := strings.Contains(said, "\nthe best evaluation was in epoch 1: train loss 0."); got != worse || strings.Contains(said, "-patience leaves") != worse ||
			strings.Contains(said, "\nthe best evaluation was the last, in epoch 2: train loss 0.") == worse {
			t.Errorf("rule %v: it said\n%s", rule, said)
		}
	}
}
