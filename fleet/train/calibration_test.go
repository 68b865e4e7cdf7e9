package train_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
)

// still is a job whose weights stay as they are, with a picture of what it predicts below dir.
func still(dir string, epochs int) train.Job {
	j := job(train.Options{Epochs: epochs, Batch: 20, Mode: "sync", Out: dir, Checkpoint: dir + "/checkpoints"})
	j.Rule, j.Data = optimizer.SGD{LR: 1e-30}, data(400, 101)
	return j
}

// TestCalibrationIsOfAllWorkers: the picture of several workers, with servers and without, is that of one which has all test rows, and that of
// a job that was started again.
func TestCalibrationIsOfAllWorkers(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	picture := func(dir string) []byte {
		text, err := os.ReadFile(filepath.Join(dir, "calibration.svg"))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	alone := t.TempDir()
	play(t, 0, 1, func() train.Job { return still(alone, 2) })
	want := picture(alone)
	for _, c := range []struct{ servers, workers int }{{1, 3}, {0, 2}} {
		dir := t.TempDir()
		play(t, c.servers, c.workers, func() train.Job { return still(dir, 1) })
		play(t, c.servers, c.workers, func() train.Job { return still(dir, 2) }) // goes on
		if got := picture(dir); !bytes.Equal(got, want) {
			t.Errorf("%d servers and %d workers draw\n%s\nwant\n%s", c.servers, c.workers, got, want)
		}
	}
	p := readPicture(t, filepath.Join(alone, "calibration.svg"))
	if len(p.Panels) != 1 || p.Title != "calibration" {
		t.Fatalf("%d panels, %q", len(p.Panels), p.Title)
	}
	if under := p.Panels[0].texts("x"); !strings.HasSuffix(under, "predicted, epoch 2/2") {
		t.Errorf("below it stands %q", under)
	}
	x, y := p.Panels[0].line(t, "test")
	if len(x) != 10 || !inside(x, y) {
		t.Errorf("points are at %v and %v", x, y)
	}
	if note := p.Panels[0].texts("note"); !strings.HasPrefix(note, "error 0.") || !strings.HasSuffix(note, ", 101 rows in 10 points") {
		t.Errorf("the note is %q", note)
	}
}

// TestCalibrationOfNothing: without test rows, or with a loss of numbers, there is no such picture, nor that of an earlier job.
func TestCalibrationOfNothing(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*train.Job){
		"no test rows": func(j *train.Job) { j.Data = data(400, 0) },
		"numbers": func(j *train.Job) {
			g := j.Loss.Graph()
			j.Loss, j.Metrics = nn.Mean(nn.SquareError(j.Outputs[0], g.Inputs()[0])), nil
		},
	} {
		dir := t.TempDir()
		play(t, 0, 1, func() train.Job { return still(dir, 1) })
		if err := os.RemoveAll(filepath.Join(dir, "checkpoints")); err != nil { // the next begins anew
			t.Fatal(err)
		}
		play(t, 0, 1, func() train.Job {
			j := still(dir, 1)
			change(&j)
			return j
		})
		if _, err := os.Stat(filepath.Join(dir, "calibration.svg")); err == nil {
			t.Errorf("%s: there is a picture", name)
		}
		if _, err := os.Stat(filepath.Join(dir, "curves.svg")); err != nil {
			t.Error(fmt.Errorf("%s: %w", name, err))
		}
	}
}
