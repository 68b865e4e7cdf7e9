package train_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
)

// slicedDay are a day's rows by value of the field "channel", of which there are 24, one empty.
func slicedDay(t *testing.T, dir string, first, n int) map[string][]string {
	r, rows := rand.New(rand.NewPCG(7, uint64(first))), map[string][]string{}
	law.Check(t, os.MkdirAll(dir, 0o777))
	var files [5]strings.Builder
	for i := range n {
		channel := fmt.Sprintf("%c", 'a'+int(24*r.Float64()*r.Float64()))
		if channel == "c" {
			channel = ""
		}
		line := fmt.Sprintf("%d,%v,%d,%s\n", r.IntN(2), float32(r.IntN(20))/10-0.95, first+i, channel)
		files[i%len(files)].WriteString(line)
		rows[channel] = append(rows[channel], line)
	}
	for i := range files {
		law.Check(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("part-%d", i)), []byte(files[i].String()), 0o666))
	}
	law.Check(t, os.WriteFile(filepath.Join(dir, "_SUCCESS"), nil, 0o666))
	return rows
}

// TestDaysBySlice: a day's evaluation before training has the rows of each of the 20 commonest values of a field, and of all others, with
// what another evaluation of these rows alone has, in each kind of job; a job that ends within the day and goes on marks it with these.
func TestDaysBySlice(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode             string
		servers, workers int
	}{{"", 0, 1}, {"collective", 0, 2}, {"sync", 2, 2}, {"async", 1, 2}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			slicedDay(t, filepath.Join(dir, "logs", "0411"), 0, 60)
			rows := slicedDay(t, filepath.Join(dir, "logs", "0412"), 60, 300)
			format := dayFormat
			format.Fields = append(slices.Clone(format.Fields), "channel")
			job := func(last string) train.Job {
				j := dayJob(dir, c.mode, train.Days{Last: last, By: "channel", Publish: train.Publish{Dir: filepath.Join(dir, "serving")}})
				j.Files.Format = format
				return j
			}
			play(t, c.servers, c.workers, func() train.Job { return job("0411") })
			law.Check(t, os.CopyFS(filepath.Join(dir, "before", "out", "checkpoint"), os.DirFS(filepath.Join(dir, "out", "checkpoint"))))
			if c.workers == 1 { // it evaluates the day, and ends in it
				_, said, err := plays(t, dir, *job("0412").Days, func(j *train.Job) { j.Files.Format = format }, cut(1, 3))
				if !errors.Is(err, errPower) || !strings.Contains(said, "channel  rows  test loss  test AUC  predicted y  observed y") ||
					!strings.Contains(said, " others ") {
					t.Errorf("it ended with %v:\n%s", err, said)
				}
			}
			want := bySlice(t, dir, job(""), rows)
			play(t, c.servers, c.workers, func() train.Job { return job("0412") })
			m, err := markOf(filepath.Join(dir, "serving"), "0412")
			law.Check(t, err)
			if len(m.Slices) != 21 || !m.Slices[20].Others {
				t.Fatalf("%d slices: %+v", len(m.Slices), m)
			}
			for i, s := range m.Slices {
				w := want[i]
				got := map[string]float64{"test loss": w.loss, "test AUC": w.auc, "predicted y": w.predicted, "observed y": w.observed}
				for name, v := range got {
					if is, measured := s.Values[name]; math.Abs(is-v) > 1e-5 || measured == math.IsNaN(v) {
						t.Errorf("%s of slice %d, %q, is %v, want %v", name, i, s.Value, is, v)
					}
				}
				if s.Value != w.value || s.Rows != w.rows {
					t.Errorf("slice %d is %q with %d rows, want %q with %d", i, s.Value, s.Rows, w.value, w.rows)
				}
			}
		})
	}
}

// forwarded counts the examples that pass it.
type forwarded struct{}

var passedBy atomic.Int64

func (forwarded) Shape(in [][]int) ([]int, error) { return in[0], nil }

func (forwarded) Forward(c *nn.OpCall) {
	clear(c.Out.Value)
	passedBy.Add(int64(len(c.Out.Value)))
}

func (forwarded) Backward(*nn.OpCall) {}

// TestSlicesAreEvaluatedOnce: with slices, too, a day's rows are computed once before training and once in it.
func TestSlicesAreEvaluatedOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeDay(t, filepath.Join(dir, "logs", "0412"), 0, 40, 60)
	passedBy.Store(0)
	_, said, err := plays(t, dir, train.Days{Last: "0412", By: "sample"}, func(j *train.Job) {
		j.Loss = nn.Add(j.Loss, nn.Mean(nn.Custom(forwarded{}, j.Loss.Graph().Node("x"))))
	})
	law.Check(t, err)
	if n := passedBy.Load(); n != 200 || !strings.Contains(said, "others") {
		t.Errorf("%d examples were computed of 100 rows:\n%s", n, said)
	}
}

// TestSlicesByNoField: a Days.By that no file has is no damage of files, and its error names the fields that there are.
func TestSlicesByNoField(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	day := filepath.Join(dir, "logs", "0412")
	law.Check(t, os.MkdirAll(day, 0o777))
	for _, name := range []string{"a", "b", "_SUCCESS"} {
		law.Check(t, os.WriteFile(filepath.Join(day, name), []byte("y,x,sample,channel\n1,0.5,1,c\n"), 0o666))
	}
	for by, want := range map[string]string{"chanel": `"channel"`, "channel": "<nil>"} {
		_, _, err := plays(t, t.TempDir(), train.Days{Dir: filepath.Join(dir, "logs"), Last: "0412", By: by, BadFiles: 5}, func(j *train.Job) {
			j.Files.Format = dataset.CSV{Schema: dayFormat.Schema}
		})
		if !strings.Contains(fmt.Sprint(err), want) || err != nil && !strings.Contains(err.Error(), `Days.By, or -by, names a field that a file of day 0412 lacks`) {
			t.Errorf("by %s: %v", by, err)
		}
	}
}

// evaluated is what an evaluation of the rows with one value alone has.
type evaluated struct {
	value                          string
	rows                           int
	loss, auc, predicted, observed float64
}

// bySlice evaluates rows by what a job has left behind the day before.
func bySlice(t *testing.T, dir string, j train.Job, rows map[string][]string) (all []evaluated) {
	f := leftOf(t, filepath.Join(dir, "before"), j)
	defer f.Close()
	common := slices.SortedFunc(maps.Keys(rows), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(rows[b]), len(rows[a])), cmp.Compare(a, b))
	})
	var others []string
	for _, value := range common[20:] {
		others = append(others, rows[value]...)
	}
	for i, value := range append(common[:20:20], "") {
		e := evaluated{value: value, rows: len(rows[value])}
		lines := rows[value]
		if i == 20 {
			lines, e.rows = others, len(others)
		}
		file := filepath.Join(t.TempDir(), "rows")
		law.Check(t, os.WriteFile(file, []byte(strings.Join(lines, "")), 0o666))
		some := dataset.New(&dataset.Files{Paths: []string{file}, Format: j.Files.Format})
		values, err := train.Evaluate(t.Context(), f, some, j.Loss, j.Metrics[0], nn.Mean(j.Outputs[0]))
		law.Check(t, err)
		e.loss, e.auc, e.predicted = values[0], values[1], values[2]
		for _, line := range lines {
			if line[0] == '1' {
				e.observed += 1 / float64(len(lines))
			}
		}
		all = append(all, e)
	}
	return all
}
