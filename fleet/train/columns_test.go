package train

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/checkpoints"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/store/storetest"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// stays are fields of rows: a format of them, which each case changes.
func stays() dataset.CSV {
	return dataset.CSV{Missing: "0", Derived: []dataset.Derived{
		{Name: "hour", From: []string{"at"}, Part: dataset.Hour, Layout: "2006-01-02 15:04"},
		{Name: "rush", From: []string{"city", "hour"}},
	}, Schema: []dataset.CSVColumn{
		{Column: dataset.Floats("x", 2), Fields: []string{"age", "amount"}, Scale: []dataset.Scaling{{Mean: 40, Std: 10}, {Mean: 500, Std: 200}}},
		{Column: dataset.Ints("C", 2), Fields: []string{"city", "rush"}, Hash: 100},
		{Column: dataset.Varying(dataset.Ints("words")), Separator: "|", Hash: 50},
		{Column: dataset.Floats("y"), Fields: []string{"good"}, Values: []string{"no", "yes"}},
		{Column: dataset.Floats("day")},
	}}
}

// otherColumns are changes of that format, by the option that they change; a text in the error, "" if it is not refused.
var otherColumns = map[string]struct {
	change func(f *dataset.CSV)
	want   string
}{
	"nothing":          {func(*dataset.CSV) {}, ""},
	"order of columns": {func(f *dataset.CSV) { slices.Reverse(f.Schema) }, ""},
	"CSV.Comma":        {func(f *dataset.CSV) { f.Comma = ',' }, ""},
	"CSV.Quote":        {func(f *dataset.CSV) { f.Quote = '\'' }, ""},
	"CSV.Comment":      {func(f *dataset.CSV) { f.Comment = '#' }, ""},
	"CSV.Trim":         {func(f *dataset.CSV) { f.Trim = true }, ""},
	"CSV.Multiline":    {func(f *dataset.CSV) { f.Multiline = true }, ""},
	"CSV.Fields":       {func(f *dataset.CSV) { f.Fields = strings.Split("age,amount,city,at,words,good,day", ",") }, ""},
	"CSV.NA":           {func(f *dataset.CSV) { f.NA = "-" }, ""},
	"CSV.NAs":          {func(f *dataset.CSV) { f.NAs = dataset.UsualNAs() }, ""},
	"CSV.Missing":      {func(f *dataset.CSV) { f.Missing = "-1" }, `column "x" had Missing "0" and has "-1"`},
	"CSV.Derived": {func(f *dataset.CSV) {
		f.Derived = append(f.Derived, dataset.Derived{Name: "z", From: []string{"city", "at"}})
	}, ""},
	"CSV.Schema": {func(f *dataset.CSV) {
		f.Schema = append(f.Schema, dataset.CSVColumn{Column: dataset.Floats("more"), Fields: []string{"age"}})
	}, ""},
	"Derived.Name":   {func(f *dataset.CSV) { f.Derived[1].Name, f.Schema[1].Fields[1] = "peak", "peak" }, `column "C" had Fields [city rush] and has [city peak]`},
	"Derived.From":   {func(f *dataset.CSV) { f.Derived[1].From = []string{"hour", "city"} }, `column "C" had Derived `},
	"Derived.Part":   {func(f *dataset.CSV) { f.Derived[0].Part = dataset.Minute }, `and has [{Name:hour From:[at] Part:minute`},
	"Derived.Layout": {func(f *dataset.CSV) { f.Derived[0].Layout = "2006-02-01 15:04" }, `column "C" had Derived `},
	"Derived.Buckets": {func(f *dataset.CSV) {
		f.Derived[0] = dataset.Derived{Name: "hour", From: []string{"age"}, Buckets: []float64{30}}
	}, `Buckets:[30]}`},
	"Column.Name": {func(f *dataset.CSV) {
		f.Schema[3], f.Schema[4] = f.Schema[4], f.Schema[3]
		f.Schema[3].Name, f.Schema[4].Name, f.Schema[3].Fields = "y", "day", []string{"day"}
	}, `column "y" had Fields [good] and has [day]; column "y" had Values [no yes] and has []`},
	"Column.Type":  {func(f *dataset.CSV) { f.Schema[1].Column = dataset.IDs("C", 2) }, `column "C" had Type int64 and has uint64`},
	"Column.Shape": {func(f *dataset.CSV) { f.Schema[0].Shape = []int{2, 1} }, ""},
	"Column.Varying": {func(f *dataset.CSV) {
		f.Schema[4] = dataset.CSVColumn{Column: dataset.Varying(dataset.Floats("day")), Separator: "|"}
	}, ""},
	"CSVColumn.Fields":      {func(f *dataset.CSV) { slices.Reverse(f.Schema[0].Fields) }, `column "x" had Fields [age amount] and has [amount age]`},
	"CSVColumn.Hash":        {func(f *dataset.CSV) { f.Schema[1].Hash = 99 }, `column "C" had Hash 100 and has 99`},
	"CSVColumn.HashNumbers": {func(f *dataset.CSV) { f.Schema[2].HashNumbers = true }, `column "words" had HashNumbers false and has true`},
	"CSVColumn.Missing":     {func(f *dataset.CSV) { f.Schema[0].Missing = "7" }, `column "x" had Missing "0" and has "7"`},
	"CSVColumn.Scale":       {func(f *dataset.CSV) { f.Schema[0].Scale[1].Mean = 600 }, `column "x" had Scale [`},
	"CSVColumn.Separator":   {func(f *dataset.CSV) { f.Schema[2].Separator = " " }, `column "words" had Separator "|" and has " "`},
	"CSVColumn.Values":      {func(f *dataset.CSV) { slices.Reverse(f.Schema[3].Values) }, `column "y" had Values [no yes] and has [yes no]`},
	"Scaling.Log1p":         {func(f *dataset.CSV) { f.Schema[0].Scale[0].Log1p = true }, `column "x" had Scale [`},
	"Scaling.Mean":          {func(f *dataset.CSV) { f.Schema[0].Scale[0].Mean = 50 }, `column "x" had Scale [`},
	"Scaling.Std":           {func(f *dataset.CSV) { f.Schema[0].Scale = nil }, `column "x" had Scale [`},
	"a little":              {func(f *dataset.CSV) { f.Schema[0].Scale[0] = dataset.Scaling{Mean: 40.9, Std: 10.9} }, ""},
	"none missing":          {func(f *dataset.CSV) { f.Missing = "" }, ""},
	"label's missing":       {func(f *dataset.CSV) { f.Schema[3].Missing = "1" }, ""},
	"a column that no node takes": {func(f *dataset.CSV) {
		f.Schema[4].Fields, f.Schema[4].Hash, f.Schema[4].Column = []string{"age"}, 7, dataset.Ints("day")
	}, ""},
	"no such column": {func(f *dataset.CSV) { f.Schema[0].Name = "numbers" }, `column "x" is missing here`},
}

// program is one that takes such rows; change changes the job.
type program struct {
	dir    string
	format dataset.Format
	change func(j *Job)
}

func (p program) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var said bytes.Buffer
	o, err := parsed(append([]string{"-epochs=2", "-batch=16", "-mode="}, args...)...)
	law.Check(t, err)
	o.predictions = &said
	err = start(&o, nil, func() (Job, error) {
		j := p.job(o)
		j.Stdout = &said
		return j, nil
	})
	return said.String(), err
}

func (p program) job(o Options) Job {
	g := nn.NewGraph(1)
	words := g.Slot("words")
	x, f := "x", p.format
	if csv, is := f.(dataset.CSV); is && csv.Schema[0].Name == "numbers" {
		x = "numbers"
	}
	ids := nn.Embedding(g.IDs("C", 2), nn.EmbeddingOptions{Name: "cities", Dim: 4})
	pooled := nn.EmbeddingPool(words, nn.PoolSum, nn.EmbeddingOptions{Name: "texts", Dim: 4})
	pred := nn.Linear(nn.Concat(g.Input(x, 2), ids, pooled), 1, nn.LinearOptions{Act: nn.Sigmoid}).Named("chance")
	y := g.Input("y", 1)
	j := Job{Options: o, Rule: optimizer.Adam{LR: 0.1}, Loss: nn.Mean(nn.BinaryCrossEntropy(pred, y)), Metrics: []*nn.Node{nn.AUC(pred, y)},
		Outputs: []*nn.Node{pred}, Files: Files{Format: f, Paths: []string{filepath.Join(p.dir, "rows.csv")}}}
	if p.change != nil {
		p.change(&j)
	}
	return j
}

// rowsIn writes such rows into a directory.
func rowsIn(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	text := "age,amount,city,at,words,good,day\n"
	for i := range 200 {
		text += fmt.Sprintf("%d,%d,c%d,2026-01-%02d %02d:30,w%d|v%d,%s,%d\n", 20+i%50, i*7%900, i%9, i%12+1, i%12+1, i%5, i%4, []string{"no", "yes"}[i%50/25], i)
	}
	law.Check(t, os.WriteFile(filepath.Join(dir, "rows.csv"), []byte(text), 0o600))
	return dir
}

// TestOtherColumns: -eval, a job that goes on and, but for the label, -load refuse columns that have another meaning than those that were
// trained, and say what differs and what to do; each option of the formats counts or is one of reading.
func TestOtherColumns(t *testing.T) {
	t.Parallel()
	dir := rowsIn(t)
	places := []string{dir, storetest.Mount(t, storetest.NewMemory())}
	for _, at := range places {
		if said, err := (program{dir: dir, format: stays()}).run(t, "-out="+at+"/out", "-checkpoint="+at+"/checkpoints"); err != nil {
			t.Fatal(said, err)
		}
	}
	for of, format := range map[string]any{"CSV": dataset.CSV{}, "JSONLines": dataset.JSONLines{}, "Derived": dataset.Derived{}, "Column": dataset.Column{},
		"CSVColumn": dataset.CSVColumn{}, "Scaling": dataset.Scaling{}} {
		for _, field := range reflect.VisibleFields(reflect.TypeOf(format)) {
			name := strings.Replace(of, "JSONLines", "CSV", 1) + "." + field.Name
			if _, is := otherColumns[name]; !is && !field.Anonymous && len(field.Index) == 1 && field.IsExported() {
				t.Errorf("%s decides values of a saved model or is an option of reading: meaning.counts, and a case here", name)
			}
		}
	}
	labelless := filepath.Join(dir, "labelless.csv")
	law.Check(t, os.WriteFile(labelless, []byte("amount,at,city,words,age\n7,2026-01-01 10:30,c1,w1|v2,33\n"), 0o600))
	var predicted string
	for name, c := range otherColumns {
		f := stays()
		c.change(&f)
		at := places[0]
		if name == "nothing" || name == "CSVColumn.Fields" || name == "CSVColumn.Values" {
			at = places[1] // a store
		}
		said, err := program{dir: dir, format: f}.run(t, "-predict="+labelless, "-out="+dir+"/out")
		if predicted == "" {
			predicted = said
		}
		if err != nil || !strings.HasPrefix(said, "chance\n0.") || said != predicted {
			t.Errorf("%s: predictions, which take the model's own columns, are %q, of another program %q, error %v", name, said, predicted, err)
		}
		rows := "-eval=" + filepath.Join(dir, "rows.csv")
		for _, way := range []struct {
			args []string
			do   string // what the error says to do
		}{
			{[]string{rows, "-out=" + at + "/out"}, "train a model anew, with another -out"},
			{[]string{rows, "-load=" + at + "/out/checkpoint"}, "train a model anew, with another -out"},
			{[]string{"-load=" + at + "/out/model"}, "begin anew, without -load"},
			{[]string{"-load=" + at + "/out/checkpoint"}, "begin anew, without -load"},
			{[]string{"-checkpoint=" + at + "/checkpoints"}, "begin anew, with another -checkpoint"},
		} {
			_, err := program{dir: dir, format: f}.run(t, way.args...)
			refused := err != nil && strings.Contains(err.Error(), "was saved with other columns than this program has: ")
			label := strings.HasPrefix(c.want, `column "y"`) && strings.HasSuffix(way.do, "-load")
			if want := c.want != "" && !label; refused != want || want && !strings.Contains(err.Error(), c.want) || want && !strings.HasSuffix(err.Error(), way.do) {
				t.Errorf("%s, %s: error %v, want %q", name, way.args, err, c.want)
			}
		}
	}
}

// TestPredictionsOfAnotherProgram: -predict warns of a model that was saved with other columns than the program's, its label among them.
func TestPredictionsOfAnotherProgram(t *testing.T) {
	// Serial: it changes the log of the process.
	dir, before := rowsIn(t), slog.Default()
	defer slog.SetDefault(before)
	if said, err := (program{dir: dir, format: stays()}).run(t, "-out="+dir+"/out"); err != nil {
		t.Fatal(said, err)
	}
	for name, want := range map[string]bool{"nothing": false, "CSVColumn.Fields": true, "CSVColumn.Values": true, "CSV.Trim": false} {
		f, log := stays(), new(bytes.Buffer)
		otherColumns[name].change(&f)
		slog.SetDefault(slog.New(slog.NewTextHandler(log, nil)))
		_, err := program{dir: dir, format: f}.run(t, "-predict="+filepath.Join(dir, "rows.csv"), "-out="+dir+"/out")
		if warned := strings.Contains(log.String(), "these are that one's outputs"); err != nil || warned != want {
			t.Errorf("%s: it warns: %t, %v\n%s", name, warned, err, log)
		}
	}
}

// ownRows are rows of a user's own type, whose options may be of any kind.
type ownRows struct{ Option int }

func (ownRows) Columns() ([]dataset.Column, error) {
	return []dataset.Column{dataset.Floats("x", 2), dataset.Floats("label")}, nil
}

func (ownRows) NewParser() (dataset.Parser, error) { return nil, errors.New("no lines") }

// TestOtherFormats: -load compares what can be known of each type of format, and passes over what can't.
func TestOtherFormats(t *testing.T) {
	t.Parallel()
	law.Check(t, dataset.RegisterFormat[ownRows]("columns_test own rows"))
	label := dataset.SlotColumn{Column: dataset.Floats("label"), Slots: []string{"click"}}
	slots := func(names ...string) []dataset.SlotColumn {
		return []dataset.SlotColumn{{Column: dataset.Floats("x", 2), Slots: names}, label}
	}
	schema := func(fields ...string) []dataset.CSVColumn {
		return []dataset.CSVColumn{{Column: dataset.Floats("x", 2), Fields: fields}, {Column: dataset.Floats("label"), Fields: []string{"click"}}}
	}
	for i, c := range []struct {
		then, now dataset.Format
		want      string
	}{
		{dataset.CSV{Schema: schema("a", "b")}, dataset.JSONLines{Schema: schema("a", "b"), NAs: []string{"-"}}, ""},
		{dataset.JSONLines{Schema: schema("a", "b")}, dataset.CSV{Schema: schema("b", "a")}, `column "x" had Fields [a b] and has [b a]`},
		{dataset.CSV{Schema: schema("a", "b")}, &dataset.CSV{Schema: schema("b", "a")}, `column "x" had Fields [a b] and has [b a]`},
		{dataset.CSV{Schema: schema("a", "b")}, ownRows{}, ""},
		{ownRows{1}, ownRows{2}, ""},
		{dataset.SlotText{Slots: slots("a", "b")}, dataset.SlotText{Slots: slots("a", "b"), Pad: true}, ""},
		{dataset.SlotText{Slots: slots("a", "b")}, dataset.MultiSlot{Slots: slots("b", "a")}, `column "x" had Fields [a b] and has [b a]`},
		{dataset.MultiSlot{Slots: slots("a", "b")}, dataset.MultiSlot{Slots: slots("a", "b"), Order: []string{"click", "b", "a"}}, ""},
		{dataset.LibSVM{Features: 2}, dataset.LibSVM{Features: 2}, ""},
		{dataset.LibSVM{Features: 2}, dataset.LibSVM{Features: 2, ZeroBased: true}, `column "x" had Format "{Features:2 ZeroBased:false Binary:false Groups:false}" and has "{Features:2 ZeroBased:true Binary:false Groups:false}"`},
		{dataset.Criteo{}, dataset.Criteo{Height: 1_000_001}, ""},
		{dataset.Criteo{}, dataset.Criteo{Height: 1000}, `column "C" had Format "{Dense:`},
		{dataset.Criteo{}, dataset.Criteo{Dense: dataset.Log1p}, `column "dense_input" had Format "{Dense:`},
	} {
		out := t.TempDir()
		run := func(f dataset.Format, args ...string) error {
			_, err := program{format: f, change: func(j *Job) { overColumns(t, j) }}.run(t, args...)
			return err
		}
		if err := run(c.then, "-out="+out); err != nil {
			t.Fatal(i, err)
		}
		err := run(c.now, "-load="+filepath.Join(out, "model"))
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d, of %+v, by %+v: error %v, want %q", i, c.then, c.now, err, c.want)
		}
	}
}

// overColumns makes a job of rows in memory that have the columns of its format.
func overColumns(t *testing.T, j *Job) {
	columns, err := j.Files.Format.Columns()
	law.Check(t, err)
	const n = 20
	g := nn.NewGraph(1)
	var in []*nn.Node
	var rows []dataset.Values
	for _, c := range columns {
		switch {
		case c.Name == "label":
		case c.Type == tensor.Float32:
			in = append(in, g.Input(c.Name, c.Width()))
		default:
			in = append(in, nn.Embedding(g.IDs(c.Name, c.Width()), nn.EmbeddingOptions{Name: "table", Dim: 2}))
		}
		if c.Type == tensor.Float32 {
			rows = append(rows, dataset.FloatValues(c.Name, make([]float32, n*c.Width()), c.Shape...))
		} else {
			rows = append(rows, dataset.IntValues(c.Name, make([]int64, n*c.Width()), c.Shape...))
		}
	}
	pred := nn.Linear(nn.Concat(in...), 1, nn.LinearOptions{Act: nn.Sigmoid})
	j.Loss = nn.Mean(nn.BinaryCrossEntropy(pred, g.Input("label", 1)))
	j.Metrics, j.Outputs = nil, []*nn.Node{pred}
	j.Data = func(context.Context) (train, test *dataset.Dataset, err error) {
		return dataset.FromColumns(rows...), nil, nil
	}
}

// TestOtherColumnsInAJob: every worker of a job of each kind refuses to go on with other columns, what is in the checkpoint stays, and the
// program that had saved it goes on, with another number of workers too.
func TestOtherColumnsInAJob(t *testing.T) {
	t.Parallel()
	law.Slow(t)
	data := rowsIn(t)
	type size struct{ servers, workers int }
	type kind struct {
		mode     string
		of       [3]size // that trains, that is refused, that goes on
		sharded  bool
		outputs  bool
		elsewise func(worker int, f *dataset.CSV) // other columns
		want     string
	}
	swapped := func(_ int, f *dataset.CSV) { slices.Reverse(f.Schema[0].Fields) }
	one := func(worker int, f *dataset.CSV) {
		if worker == 1 {
			f.Schema[0].Scale = nil
		}
	}
	kinds := []kind{
		{"", [3]size{{0, 2}, {0, 3}, {0, 1}}, false, true, swapped, "Fields"},
		{"", [3]size{{0, 1}, {1, 1}, {0, 2}}, false, false, swapped, "Fields"},
		{"sync", [3]size{{2, 2}, {2, 2}, {1, 1}}, true, true, one, "Scale"},
		{"sync", [3]size{{1, 2}, {1, 2}, {1, 2}}, true, false, one, "Scale"},
		{"async", [3]size{{1, 2}, {}, {1, 2}}, true, true, one, ""},
	}
	for _, mode := range strategy.Modes() {
		kinds = append(kinds, kind{string(mode), [3]size{{1, 2}, {2, 1}, {1, 3}}, false, true, swapped, "Fields"})
	}
	for _, k := range kinds {
		dir := t.TempDir()
		run := func(life, epochs int, change func(int, *dataset.CSV)) (map[string]error, string) {
			var mu sync.Mutex
			var all strings.Builder
			errs := fleettest.Cluster{Servers: k.of[life].servers, Workers: k.of[life].workers}.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
				format := stays()
				if change != nil && f.IsWorker() {
					change(f.WorkerIndex(), &format)
				}
				j := program{dir: data, format: format}.job(Options{Mode: k.mode, Epochs: epochs, Batch: 16, Checkpoint: dir})
				if j.Sharded = k.sharded; !k.outputs {
					j.Outputs = nil
				}
				if k.mode == "geo" {
					j.Rule = optimizer.SGD{LR: 0.1}
				}
				var said bytes.Buffer
				j.Stdout = &said
				_, err := j.Run(ctx, f)
				mu.Lock()
				defer mu.Unlock()
				all.WriteString(said.String())
				return err
			})
			return errs, all.String()
		}
		name := fmt.Sprintf("%s %v, sharded %t", k.mode, k.of, k.sharded)
		first, lives := k.elsewise, 0 // where workers read their rows by different formats, nothing is known
		if k.want != "" {
			first, lives = nil, 2
		}
		if errs, said := run(0, 2, first); ended(errs) != nil {
			t.Fatalf("%s: %v\n%s", name, errs, said)
		}
		held := func() checkpoints.Info {
			last, err := checkpoints.Latest(dir)
			if err != nil {
				t.Fatal(name, err)
			}
			return last
		}
		before := held()
		for range lives {
			errs, said := run(1, 3, k.elsewise)
			for w := range k.of[1].workers {
				if err := errs[fmt.Sprintf("worker %d", w)]; err == nil || !strings.Contains(err.Error(), `column "x" had `+k.want) {
					t.Errorf("%s: worker %d ends with %v\n%s", name, w, err, said)
				}
			}
			for role, err := range errs {
				if strings.HasPrefix(role, "server") && err != nil {
					t.Errorf("%s: %s ends with %v", name, role, err)
				}
			}
		}
		if after := held(); after.Step != before.Step || !reflect.DeepEqual(after.Progress, before.Progress) {
			t.Errorf("%s: the checkpoint was %+v, is %+v", name, before, after)
		}
		if errs, said := run(2, 3, nil); ended(errs) != nil || !strings.Contains(said, "worker 0 goes on after epoch 2/3") || !strings.Contains(said, "epoch 3/3: train loss") {
			t.Errorf("%s: %v\n%s", name, errs, said)
		}
	}
}

// ended are the errors of roles as one.
func ended(errs map[string]error) error { return errors.Join(slices.Collect(maps.Values(errs))...) }

// TestOtherColumnsOfALateWorker: a worker that is started again alone, by a program with other columns, ends alone; the others train on,
// and a right one joins them.
func TestOtherColumnsOfALateWorker(t *testing.T) {
	t.Parallel()
	data := rowsIn(t)
	network, refused, enough := transport.NewMemory(), make(chan struct{}), errors.New("enough")
	play := func(role rolemaker.UserDefined, f dataset.CSV, step func(nn.TrainResult) error) error {
		role.WorkerNum, role.ServerEndpoints = 2, []string{"server-0:1"}
		at, err := fleet.New(t.Context(), role, fleet.Options{Transport: network})
		if err != nil {
			return err
		}
		j := program{dir: data, format: f}.job(Options{Mode: "async", Epochs: 3, Batch: 16})
		j.Stdout = io.Discard
		j.Hooks = []Hooks{{Step: func(_ context.Context, r *Run, so nn.TrainResult) error { return step(so) }}}
		_, err = j.Run(t.Context(), at)
		return err
	}
	goes := func(nn.TrainResult) error { return nil }
	var all sync.WaitGroup
	all.Go(func() {
		if err := play(rolemaker.UserDefined{Role: rolemaker.Server}, stays(), goes); err != nil {
			t.Error("the server:", err)
		}
	})
	all.Go(func() {
		if err := play(rolemaker.UserDefined{Role: rolemaker.Worker}, stays(), func(nn.TrainResult) error {
			<-refused
			return nil
		}); err != nil {
			t.Error("worker 0:", err)
		}
	})
	late := rolemaker.UserDefined{Role: rolemaker.Worker, CurrentID: 1}
	if err := play(late, stays(), func(nn.TrainResult) error { return enough }); !errors.Is(err, enough) {
		t.Error("worker 1:", err)
	}
	other := stays()
	slices.Reverse(other.Schema[0].Fields)
	if err := play(late, other, goes); err == nil || !strings.Contains(err.Error(), `column "x" had Fields`) {
		t.Error("worker 1 with other columns:", err)
	}
	close(refused)
	if err := play(late, stays(), goes); err != nil {
		t.Error("worker 1 again:", err)
	}
	all.Wait()
}

// TestLongFormats: the checkpoint of a job with more columns than it has room for has none of them, and the job goes on.
func TestLongFormats(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := stays()
	for i := range 700 {
		f.Schema = append(f.Schema, dataset.CSVColumn{Column: dataset.Floats(fmt.Sprint("column ", i)), Scale: []dataset.Scaling{{Mean: 1 / 3., Std: 1 / 7.}}})
	}
	for epochs := 1; epochs <= 2; epochs++ {
		at, err := fleet.New(t.Context(), rolemaker.Local{}, fleet.Options{})
		law.Check(t, err)
		j := program{dir: rowsIn(t), format: f}.job(Options{Epochs: epochs, Batch: 16, Checkpoint: dir})
		j.Stdout = io.Discard
		j.Data = Files{Format: stays(), Paths: j.Files.Paths}.Load
		if _, err := j.Run(t.Context(), at); err != nil {
			t.Error(err)
		}
		slices.Reverse(f.Schema[0].Fields)
	}
	last, err := checkpoints.Latest(dir)
	if err != nil || last.Progress.Epoch != 2 || len(last.Progress.User) > 4<<10 {
		t.Errorf("the checkpoint is of epoch %d, with %d bytes, error %v", last.Progress.Epoch, len(last.Progress.User), err)
	}
}
