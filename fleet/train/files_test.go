package train_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn/serve"
)

// TestFiles: rows come from files and directories, parted at random or in files of their own; what can't be trained on is refused by name.
func TestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"full/a": strings.Repeat("x:1\n", 400), "full/b": strings.Repeat("x:2\n", 600), "full/.c": "?",
		"full/sub/d": "x:4\n", "hidden/.c": "x:5\n", "empty": "", "bad": "y\n", "one": "x:7\n",
		"noted/README.md": "# Rows", "noted/README": "rows", "noted/about.MD": "?", "noted/_SUCCESS": "?", "noted/part-0": "x:1\n"} {
		file := filepath.Join(dir, name)
		law.Check(t, os.MkdirAll(filepath.Dir(file), 0o700))
		law.Check(t, os.WriteFile(file, []byte(text), 0o600))
	}
	for link, to := range map[string]string{"links/dir": "noted", "links/file": "one", "links/.hidden": "full", "loop/x/back": "loop"} {
		law.Check(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, link)), 0o700))
		if err := os.Symlink(filepath.Join(dir, to), filepath.Join(dir, link)); err != nil {
			t.Skip("links can't be made here: ", err)
		}
	}
	format := dataset.SlotText{Slots: []dataset.SlotColumn{{Column: dataset.Ints("x", 1)}}}
	of := func(paths ...string) []string {
		for i, p := range paths {
			paths[i] = filepath.Join(dir, p)
		}
		return paths
	}
	count := func(rows *dataset.Dataset) int {
		if rows == nil {
			return -1
		}
		n, _ := rows.Len()
		return n
	}
	whole := train.Files{Format: format, Paths: of("full")}
	for _, c := range []struct {
		name        string
		change      func(f *train.Files)
		train, test int // about, in rows
	}{
		{"none", func(*train.Files) {}, 800, 200},
		{"Format", func(f *train.Files) { f.Format = nil }, 0, 0},
		{"Paths", func(f *train.Files) { f.Paths = of("full/b", "one") }, 480, 121},
		{"Paths", func(f *train.Files) { f.Paths = of("fu*/[ab]") }, 800, 200},
		{"Paths", func(f *train.Files) { f.Paths = of("full", "noted") }, 801, 200},
		{"Test", func(f *train.Files) { f.Test = of("one", "full/a") }, 1000, 401},
		{"HeldOut", func(f *train.Files) { f.HeldOut = 0.5 }, 500, 500},
		{"HeldOut", func(f *train.Files) { f.HeldOut = -1 }, 1000, -1},
		{"Take", func(f *train.Files) { f.Take = 100 }, 80, 20},
		{"Seed", func(f *train.Files) { f.Seed = 3 }, 800, 200},
	} {
		f := whole
		c.change(&f)
		rows, test, err := f.Load(t.Context())
		a, b := count(rows), count(test)
		if off := max(a-c.train, c.train-a, b-c.test, c.test-b); err == nil && off > 40 || (err != nil) != (c.name == "Format") {
			t.Errorf("%s: %d and %d rows, want about %d and %d; error %v", c.name, a, b, c.train, c.test, err)
		}
	}
	for path, want := range map[string]int{"full": 1001, "links": 2} { // of directories and links to them too
		if rows, _, err := (train.Files{Format: format, Paths: of(path), HeldOut: -1}).Load(t.Context()); count(rows) != want {
			t.Errorf("%s: %d rows, want %d: %v", path, count(rows), want, err)
		}
	}
	first, _, _ := whole.Load(t.Context())
	whole.Seed = 3
	other, _, _ := whole.Load(t.Context())
	if count(first) == count(other) {
		t.Errorf("%d rows with either seed", count(first))
	}
	for path, want := range map[string]string{"empty": "empty is empty", "full/*.csv": "no file matches the pattern", "hidden": "holds no files", "loop": "the link " + dir + "/loop/x/back leads to a directory that it is in", "none": "none", "bad": "read as dataset.SlotText"} {
		if _, _, err := (train.Files{Format: format, Paths: of(path)}).Load(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", path, err, want)
		}
	}
}

// TestTestRowsThatAreTrainedOn: a file that is among the training rows and the test rows is logged once, under whatever name.
func TestTestRowsThatAreTrainedOn(t *testing.T) {
	// Serial: it takes over the process's log.
	file, format := coins(t, 10)
	other, _ := coins(t, 10)
	link := filepath.Join(filepath.Dir(file), "link.csv")
	law.Check(t, os.Symlink(file, link))
	var log bytes.Buffer
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	here, err := os.Getwd()
	law.Check(t, err)
	relative, err := filepath.Rel(here, file)
	law.Check(t, err)
	for test, warns := range map[string]int{file: 1, relative: 1, link: 1, filepath.Dir(file): 1, other: 0} {
		log.Reset()
		if _, _, err := (train.Files{Format: format, Paths: []string{file}, Test: []string{test}}).Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(log.String(), "trained on and tested on"); n != warns {
			t.Errorf("%s: %d warnings, want %d", test, n, warns)
		}
	}
}

// TestTestRowsThatAreTheTrainingRows: that rows are both is said once of all workers, also where a copy of the file has
// another name, and not of rows that are others, or that were told by their file.
func TestTestRowsThatAreTheTrainingRows(t *testing.T) {
	// Serial: it takes over the process's log.
	dir, text := t.TempDir(), "x,y\n"+strings.Repeat("0.5,1\n-0.5,0\n-0.7,0\n", 20)
	file, copied := filepath.Join(dir, "rows.csv"), filepath.Join(dir, "copied.csv")
	law.Check(t, errors.Join(os.WriteFile(file, []byte(text), 0o600), os.WriteFile(copied, []byte(text), 0o600)))
	format := dataset.CSV{Schema: []dataset.CSVColumn{{Column: dataset.Floats("x")}, {Column: dataset.Floats("y")}}}
	rows := points(40)
	both := func(rows, test *dataset.Dataset) func(context.Context) (_, _ *dataset.Dataset, err error) {
		return func(context.Context) (_, _ *dataset.Dataset, err error) { return rows, test, nil }
	}
	for name, c := range map[string]struct {
		of   func(j *train.Job)
		want int
	}{
		"the file": {func(j *train.Job) { j.Files = train.Files{Format: format, Paths: []string{file}, Test: []string{file}} }, 0},
		"a copy": {func(j *train.Job) {
			j.Files = train.Files{Format: format, Paths: []string{file}, Test: []string{copied}}
		}, 1},
		"a part":     {func(j *train.Job) { j.Files = train.Files{Format: format, Paths: []string{file}} }, 0},
		"one set":    {func(j *train.Job) { j.Data = both(rows, rows) }, 1},
		"others":     {func(j *train.Job) { j.Data = both(rows.Take(25), rows.Skip(25)) }, 0},
		"of workers": {func(j *train.Job) { j.Data, j.Sharded = both(rows, rows), true }, 1},
	} {
		said := logged(t, func() {
			play(t, 0, 2, func() train.Job {
				j := job(train.Options{Batch: 4})
				j.Data = nil
				c.of(&j)
				return j
			})
		})
		if n := strings.Count(said, "the test rows are the rows to train on"); n != c.want {
			t.Errorf("%s: %d warnings, want %d: %s", name, n, c.want, said)
		}
	}
}

// TestAModelCarriesItsFormat: a job with files saves a model that scores raw lines.
func TestAModelCarriesItsFormat(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "rows.csv")
	law.Check(t, os.WriteFile(file, []byte("y,x\n"+strings.Repeat("1,0.5\n0,-0.5\n", 300)), 0o600))
	format := dataset.CSV{Schema: []dataset.CSVColumn{{Column: dataset.Floats("x")}, {Column: dataset.Floats("y")}}}
	results, _ := play(t, 1, 2, func() train.Job {
		j := job(train.Options{Mode: "sync", Batch: 8, Out: dir})
		j.Data, j.Files = nil, train.Files{Format: format, Paths: []string{file}}
		return j
	})
	if auc := results[0].Last.Values["test AUC"]; auc != 1 {
		t.Errorf("test AUC %v", auc)
	}
	s, err := serve.OpenScorer(filepath.Join(dir, "model"), serve.ScorerOptions{})
	law.Check(t, err)
	scores, err := s.ScoreLines(context.Background(), []byte("x\n0.5\n-0.5\n"))
	if err != nil || len(scores.Values[0]) != 2 || scores.Values[0][0] < 0.6 || scores.Values[0][1] > 0.4 {
		t.Errorf("scores are %v, error %v", scores, err)
	}
	agree(t, filepath.Join(dir, "model"), scores)
}

// agree predicts the rows of the scores from a file that has no labels.
func agree(t *testing.T, model string, scores serve.Scores) {
	t.Helper()
	m, err := serve.Load(model)
	law.Check(t, err)
	file := filepath.Join(t.TempDir(), "tomorrow.csv")
	law.Check(t, os.WriteFile(file, []byte("x\n0.5\n-0.5\n"), 0o600))
	rows, err := m.Rows(file)
	law.Check(t, err)
	f, err := fleet.Init(nil)
	law.Check(t, err)
	var got strings.Builder
	_, err = train.Predict(t.Context(), f, rows, &got, m.Outputs...)
	if want := fmt.Sprintf("%v\n%v\n", scores.Values[0][0], scores.Values[0][1]); err != nil || !strings.HasSuffix(got.String(), "\n"+want) {
		t.Errorf("predictions are %q, error %v; scores are %q", got.String(), err, want)
	}
}
