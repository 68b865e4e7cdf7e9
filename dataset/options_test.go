package dataset

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"

	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/internal/law"
)

// results are exported structs that say what was, so that setting their fields means nothing.
var results = map[string]bool{"IDX": true, "LineError": true, "Moments": true}

// outcome is all that a loop sees of a dataset: columns, batches, and how it ends.
func outcome(d *Dataset) string {
	var out strings.Builder
	fmt.Fprintln(&out, d.Columns())
	for batch, err := range d.Batches(3) {
		if err != nil {
			fmt.Fprintln(&out, err)
			break
		}
		fmt.Fprintln(&out, rowText(batch))
	}
	return out.String()
}

var lawFS = fstest.MapFS{"a": {Data: []byte("1\n2\n3\n")}, "bad": {Data: []byte("1\nz\n3\n")}}

func lawFiles(set func(f *Files)) string {
	f := &Files{FS: lawFS, Paths: []string{"a"}, Format: xFormat{}}
	set(f)
	return outcome(New(f))
}

func lawCSV(text string, set func(f *CSV)) string {
	f := CSV{Fields: []string{"x", "y"}, Schema: []CSVColumn{{Column: Floats("x")}, {Column: Ints("y")}}}
	set(&f)
	return outcome(FromReader(strings.NewReader(text), "text", f))
}

func lawScaling(s Scaling) string {
	return lawCSV("1,2\n", func(f *CSV) { f.Schema[0].Scale = []Scaling{s} })
}

// lawText is lawCSV with a second field of text.
func lawText(text string, set func(f *CSV)) string {
	return lawCSV(text, func(f *CSV) { f.Schema[1].Hash = 1000; set(f) })
}

func lawParted(separator string) string {
	c := CSVColumn{Column: Varying(Ints("x")), Hash: 1000, Separator: separator}
	return outcome(FromReader(strings.NewReader("a|b;c\n"), "text", CSV{Fields: []string{"x"}, Schema: []CSVColumn{c}}))
}

func lawJSON(set func(f *JSONLines)) string {
	f := JSONLines{Schema: []CSVColumn{{Column: Ints("word"), Hash: 1000}, {Column: Floats("x")}}}
	set(&f)
	return outcome(FromReader(strings.NewReader(`{"word":"-"}`), "text", f))
}

func lawLibSVM(set func(f *LibSVM)) string {
	f := LibSVM{}
	set(&f)
	return outcome(FromReader(strings.NewReader("-1 2:0.5\n"), "text", f))
}

func lawSlots(text string, set func(c *SlotColumn)) string {
	c := SlotColumn{Column: Ints("x")}
	set(&c)
	return outcome(FromReader(strings.NewReader(text), "text", SlotText{Slots: []SlotColumn{c}}))
}

func lawCriteo(set func(f *Criteo)) string {
	f := Criteo{}
	set(&f)
	text := criteoLine("1", []string{"7", "8"}, []string{"05db9164"}) + "\n"
	return outcome(FromReader(strings.NewReader(text), "text", f))
}

func lawOrder(set func(f *MultiSlot)) string {
	f := MultiSlot{Slots: []SlotColumn{{Column: Ints("a")}, {Column: Ints("b")}}}
	set(&f)
	return outcome(FromReader(strings.NewReader("1 5 1 6\n"), "text", f))
}

func lawGenerator(emitted Slot) string {
	var out strings.Builder
	g := MultiSlotDataGenerator{Generate: func(_ string, emit func(...Slot) error) error {
		return emit(Slot{Name: "s", Ints: []int64{1}}, emitted)
	}}
	err := g.Run(strings.NewReader("x\ny\n"), &out)
	return fmt.Sprintln(out.String(), err)
}

// lawLists is both datasets of files, read after the field was set, whichever of them has it.
func lawLists(t *testing.T, set func(memory *InMemoryDataset, queue *QueueDataset)) (memory, queue string) {
	paths := onDisk(t, "1\n2\n3\n")
	m, q := &InMemoryDataset{FileList: paths, Format: xFormat{}}, &QueueDataset{FileList: paths, Format: xFormat{}}
	set(m, q)
	read := func(batches func() (n int, out string)) string { n, out := batches(); return fmt.Sprintln(n, out) }
	all := func(each func(yield func(Batch, error) bool)) func() (int, string) {
		return func() (n int, out string) {
			for batch, err := range each {
				if err != nil {
					return n, out + strings.ReplaceAll(err.Error(), paths[0], "path")
				}
				n, out = n+1, out+rowText(batch)
			}
			return n, out
		}
	}
	err := m.LoadIntoMemory(t.Context())
	return fmt.Sprintln(read(all(m.Batches())), err != nil), read(all(q.Batches()))
}

// counting counts the lines that it parses.
type counting struct {
	xFormat
	lines *atomic.Int64
}

func (c counting) NewParser() (Parser, error) { return c, nil }
func (c counting) ParseLine(line []byte, row Row) error {
	c.lines.Add(1)
	return c.xFormat.ParseLine(line, row)
}

// linesAhead is how many lines a queue has parsed when its loop has its first batch and everything else waits.
func linesAhead(t *testing.T, capacity int) (lines string) {
	path := onDisk(t, strings.Repeat("1\n", 50))
	synctest.Test(t, func(t *testing.T) {
		f := counting{lines: new(atomic.Int64)}
		for range (&QueueDataset{FileList: path, Format: f, Capacity: capacity}).Batches() {
			synctest.Wait()
			lines = fmt.Sprint(f.lines.Load())
			break
		}
	})
	return lines
}

// linesParsed is how many lines are parsed of a file when its loop has its first row and everything else waits.
func linesParsed(t *testing.T, threads int) (lines string) {
	path := onDisk(t, strings.Repeat("1\n", 50))
	synctest.Test(t, func(t *testing.T) {
		f := counting{lines: new(atomic.Int64)}
		for range New(&Files{Paths: path, Format: f, Threads: threads}).Batches(1) {
			synctest.Wait()
			lines = fmt.Sprint(f.lines.Load())
			break
		}
	})
	return lines
}

// lawDerived is a row of a derived field.
func lawDerived(d Derived) string {
	if d.Name == "" {
		d.Name = "d"
	}
	text := "x,y\n1709508600000,1709508600\n"
	return outcome(FromReader(strings.NewReader(text), "text", CSV{Derived: []Derived{d}, Schema: []CSVColumn{{Column: Ints("d"), Hash: 1000}}}))
}

// fieldCases has for every field what is seen with its default and with another value.
func fieldCases(t *testing.T) map[string][2]string {
	cases := map[string][2]string{
		"Files.Paths":       {lawFiles(func(*Files) {}), lawFiles(func(f *Files) { f.Paths = []string{"a", "a"} })},
		"Files.Format":      {lawFiles(func(*Files) {}), lawFiles(func(f *Files) { f.Format = CSV{Fields: []string{"n"}, Schema: []CSVColumn{{Column: Ints("n")}}} })},
		"Files.FS":          {lawFiles(func(*Files) {}), lawFiles(func(f *Files) { f.FS = fstest.MapFS{"a": {Data: []byte("9\n")}} })},
		"Files.PipeCommand": {lawFiles(func(*Files) {}), lawFiles(func(f *Files) { f.PipeCommand = "tail -n 1" })},
		"Files.SkipBad":     {lawFiles(func(f *Files) { f.Paths[0] = "bad" }), lawFiles(func(f *Files) { f.Paths[0], f.SkipBad = "bad", 1 })},
		"CSV.Comma":         {lawCSV("1,2\n", func(*CSV) {}), lawCSV("1,2\n", func(f *CSV) { f.Comma = ';' })},
		"CSV.Fields":        {lawCSV("1,2\n", func(*CSV) {}), lawCSV("1,2\n", func(f *CSV) { f.Fields = []string{"y", "x"} })},
		"CSV.NA":            {lawCSV("NA,2\n", func(f *CSV) { f.Schema[0].Missing = "5" }), lawCSV("NA,2\n", func(f *CSV) { f.Schema[0].Missing, f.NA = "5", "NA" })},
		"CSV.Quote":         {lawCSV("'1',2\n", func(*CSV) {}), lawCSV("'1',2\n", func(f *CSV) { f.Quote = '\'' })},
		"CSV.Comment":       {lawCSV("#\n1,2\n", func(*CSV) {}), lawCSV("#\n1,2\n", func(f *CSV) { f.Comment = '#' })},
		"CSV.Trim":          {lawCSV(" 1, 2\n", func(*CSV) {}), lawCSV(" 1, 2\n", func(f *CSV) { f.Trim = true })},
		"CSV.Multiline":     {lawText("1,\"a\nb\"\n", func(*CSV) {}), lawText("1,\"a\nb\"\n", func(f *CSV) { f.Multiline = true })},
		"CSV.NAs":           {lawCSV("-,2\n", func(f *CSV) { f.Missing = "5" }), lawCSV("-,2\n", func(f *CSV) { f.Missing, f.NAs = "5", []string{"-"} })},
		"CSV.Missing":       {lawCSV(",2\n", func(*CSV) {}), lawCSV(",2\n", func(f *CSV) { f.Missing = "5" })},
		"CSV.Schema":        {lawCSV("1,2\n", func(*CSV) {}), lawCSV("1,2\n", func(f *CSV) { f.Schema = f.Schema[:1] })},
		"CSVColumn.Column":  {lawCSV("1,2\n", func(*CSV) {}), lawCSV("1,2\n", func(f *CSV) { f.Schema[1].Column = Floats("y") })},
		"CSVColumn.Fields":  {lawCSV("1,2\n", func(*CSV) {}), lawCSV("1,2\n", func(f *CSV) { f.Schema[1].Fields = []string{"x"} })},
		"CSVColumn.Hash":    {lawCSV("1,2\n", func(*CSV) {}), lawCSV("1,2\n", func(f *CSV) { f.Schema[1].Hash = 1000 })},
		"CSVColumn.HashNumbers": {lawCSV("1,2.0\n", func(f *CSV) { f.Schema[1].Hash = 1000 }),
			lawCSV("1,2.0\n", func(f *CSV) { f.Schema[1].Hash, f.Schema[1].HashNumbers = 1000, true })},
		"CSVColumn.Missing":   {lawCSV(",2\n", func(*CSV) {}), lawCSV(",2\n", func(f *CSV) { f.Schema[0].Missing = "5" })},
		"CSVColumn.Scale":     {lawCSV("1,2\n", func(*CSV) {}), lawScaling(Scaling{Mean: 2})},
		"CSVColumn.Values":    {lawCSV("1,2\n", func(*CSV) {}), lawCSV("1,2\n", func(f *CSV) { f.Schema[1].Values = []string{"1", "2"} })},
		"CSVColumn.Separator": {lawParted("|"), lawParted(";")},
		"Scaling.Log1p":       {lawScaling(Scaling{Mean: 2}), lawScaling(Scaling{Mean: 2, Log1p: true})},
		"Scaling.Mean":        {lawScaling(Scaling{}), lawScaling(Scaling{Mean: 2})},
		"Scaling.Std":         {lawScaling(Scaling{}), lawScaling(Scaling{Std: 2})},
		"Column.Name":         {lawSlots("x:1 y:2\n", func(*SlotColumn) {}), lawSlots("x:1 y:2\n", func(c *SlotColumn) { c.Name = "y" })},
		"Column.Type":         {lawSlots("x:1\n", func(*SlotColumn) {}), lawSlots("x:1\n", func(c *SlotColumn) { c.Type = tensor.Float32 })},
		"Column.Shape":        {lawSlots("x:1 x:2\n", func(*SlotColumn) {}), lawSlots("x:1 x:2\n", func(c *SlotColumn) { c.Shape = []int{2} })},
		"Column.Varying":      {lawSlots("x:1 x:2\n", func(*SlotColumn) {}), lawSlots("x:1 x:2\n", func(c *SlotColumn) { c.Varying = true })},
		"SlotColumn.Column":   {lawSlots("x:1\n", func(*SlotColumn) {}), lawSlots("x:1\n", func(c *SlotColumn) { c.Column = Floats("x") })},
		"SlotColumn.Slots":    {lawSlots("x:1 y:2\n", func(*SlotColumn) {}), lawSlots("x:1 y:2\n", func(c *SlotColumn) { c.Slots = []string{"y"} })},
		"Criteo.Dense":        {lawCriteo(func(*Criteo) {}), lawCriteo(func(f *Criteo) { f.Dense = Log1p })},
		"Criteo.Height":       {lawCriteo(func(*Criteo) {}), lawCriteo(func(f *Criteo) { f.Height = 10 })},
		"MultiSlot.Order":     {lawOrder(func(*MultiSlot) {}), lawOrder(func(f *MultiSlot) { f.Order = []string{"b", "a"} })},
		"MultiSlot.Slots":     {lawOrder(func(*MultiSlot) {}), lawOrder(func(f *MultiSlot) { f.Slots = f.Slots[:1] })},
		"JSONLines.NAs":       {lawJSON(func(f *JSONLines) { f.Missing = "5" }), lawJSON(func(f *JSONLines) { f.Missing, f.NAs = "5", []string{"-"} })},
		"JSONLines.Missing":   {lawJSON(func(*JSONLines) {}), lawJSON(func(f *JSONLines) { f.Missing = "5" })},
		"JSONLines.Schema":    {lawJSON(func(*JSONLines) {}), lawJSON(func(f *JSONLines) { f.Schema = f.Schema[:1] })},
		"CSV.Derived":         {lawCSV("1,2\n", func(*CSV) {}), lawCSV("1,2\n", func(f *CSV) { f.Derived = []Derived{{Name: "y", From: []string{"x"}, Buckets: []float64{5}}} })},
		"JSONLines.Derived": {lawJSON(func(f *JSONLines) { f.Missing = "5" }), lawJSON(func(f *JSONLines) {
			f.Missing, f.Derived = "5", []Derived{{Name: "word", From: []string{"x", "word"}}}
		})},
		"Derived.Name":     {lawDerived(Derived{From: []string{"x", "y"}}), lawDerived(Derived{Name: "e", From: []string{"x", "y"}})},
		"Derived.From":     {lawDerived(Derived{From: []string{"x", "y"}}), lawDerived(Derived{From: []string{"y", "x"}})},
		"Derived.Part":     {lawDerived(Derived{From: []string{"y"}, Part: Hour}), lawDerived(Derived{From: []string{"y"}, Part: Day})},
		"Derived.Layout":   {lawDerived(Derived{From: []string{"x"}, Part: Hour}), lawDerived(Derived{From: []string{"x"}, Part: Hour, Layout: "ms"})},
		"Derived.Buckets":  {lawDerived(Derived{From: []string{"y"}, Part: Hour}), lawDerived(Derived{From: []string{"y"}, Buckets: []float64{5}})},
		"LibSVM.Features":  {lawLibSVM(func(*LibSVM) {}), lawLibSVM(func(f *LibSVM) { f.Features = 4 })},
		"LibSVM.ZeroBased": {lawLibSVM(func(f *LibSVM) { f.Features = 4 }), lawLibSVM(func(f *LibSVM) { f.Features, f.ZeroBased = 4, true })},
		"LibSVM.Groups":    {lawLibSVM(func(*LibSVM) {}), lawLibSVM(func(f *LibSVM) { f.Groups = true })},
		"LibSVM.Binary":    {lawLibSVM(func(*LibSVM) {}), lawLibSVM(func(f *LibSVM) { f.Binary = true })},
		"Slot.Name":        {lawGenerator(Slot{Name: "t", Ints: []int64{2}}), lawGenerator(Slot{Name: fmt.Sprint(t.Name()), IDs: nil})},
		"Slot.Ints":        {lawGenerator(Slot{Name: "t", Ints: []int64{2}}), lawGenerator(Slot{Name: "t", Ints: []int64{3}})},
		"Slot.IDs":         {lawGenerator(Slot{Name: "t", IDs: []uint64{2}}), lawGenerator(Slot{Name: "t", IDs: []uint64{biggest}})},
		"Slot.Floats":      {lawGenerator(Slot{Name: "t", Floats: []float32{2}}), lawGenerator(Slot{Name: "t", Floats: []float32{.5}})},
	}
	var told []string
	lawFiles(func(f *Files) {
		f.Paths[0], f.SkipBad, f.OnBad = "bad", 1, func(e *LineError) { told = append(told, e.Got) }
	})
	cases["Files.OnBad"] = [2]string{"[]", fmt.Sprint(told)}
	pad := func(pad bool) string {
		return outcome(FromReader(strings.NewReader("y:1\n"), "text", SlotText{Slots: []SlotColumn{{Column: Ints("x")}}, Pad: pad}))
	}
	slots := func(names ...SlotColumn) string {
		return outcome(FromReader(strings.NewReader("x:1 y:2\n"), "text", SlotText{Slots: names}))
	}
	cases["SlotText.Pad"] = [2]string{pad(false), pad(true)}
	cases["SlotText.Slots"] = [2]string{slots(SlotColumn{Column: Ints("x")}), slots(SlotColumn{Column: Ints("x")}, SlotColumn{Column: Ints("y")})}
	cases["MultiSlotDataGenerator.Generate"] = [2]string{fmt.Sprint(MultiSlotDataGenerator{}.Run(strings.NewReader("x\n"), io.Discard)), lawGenerator(Slot{Name: "t", Ints: []int64{2}})}
	cases["Files.Threads"] = [2]string{linesParsed(t, 1), linesParsed(t, 2)}
	cases["QueueDataset.Capacity"] = [2]string{linesAhead(t, 0), linesAhead(t, 9)}
	bad := onDisk(t, "1\nz\n3\n")
	for name, c := range map[string]struct {
		before func(m *InMemoryDataset, q *QueueDataset)
		set    func(m *InMemoryDataset, q *QueueDataset)
	}{
		"FileList": {nil, func(m *InMemoryDataset, q *QueueDataset) { m.FileList, q.FileList = bad[:0], bad[:0] }},
		"FS": {func(m *InMemoryDataset, q *QueueDataset) { m.FileList, q.FileList = []string{"f"}, []string{"f"} }, func(m *InMemoryDataset, q *QueueDataset) {
			m.FS = fstest.MapFS{"f": {Data: []byte("7\n")}}
			q.FS = m.FS
		}},
		"Format":      {nil, func(m *InMemoryDataset, q *QueueDataset) { m.Format, q.Format = CriteoSlots(), CriteoSlots() }},
		"BatchSize":   {nil, func(m *InMemoryDataset, q *QueueDataset) { m.BatchSize, q.BatchSize = 2, 2 }},
		"PipeCommand": {nil, func(m *InMemoryDataset, q *QueueDataset) { m.PipeCommand, q.PipeCommand = "tail -n 1", "tail -n 1" }},
		"SkipBad":     {func(m *InMemoryDataset, q *QueueDataset) { m.FileList, q.FileList = bad, bad }, func(m *InMemoryDataset, q *QueueDataset) { m.SkipBad, q.SkipBad = 1, 1 }},
		"MayBeEmpty":  {func(m *InMemoryDataset, q *QueueDataset) { m.FileList, q.FileList = nil, nil }, func(m *InMemoryDataset, q *QueueDataset) { m.MayBeEmpty, q.MayBeEmpty = true, true }},
	} {
		if c.before == nil {
			c.before = func(*InMemoryDataset, *QueueDataset) {}
		}
		memory, queue := lawLists(t, c.before)
		memorySet, queueSet := lawLists(t, func(m *InMemoryDataset, q *QueueDataset) { c.before(m, q); c.set(m, q) })
		cases["InMemoryDataset."+name], cases["QueueDataset."+name] = [2]string{memory, memorySet}, [2]string{queue, queueSet}
	}
	return cases
}

// exportedFields lists Type.Field for every exported field of every exported struct in the package's files.
func exportedFields(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %d files", err, len(files))
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, fieldsOf(file)...)
	}
	return names
}

// fieldsOf lists the exported fields of a file's exported structs.
func fieldsOf(file *ast.File) (names []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || !spec.Name.IsExported() || results[spec.Name.Name] {
			return true
		}
		if s, ok := spec.Type.(*ast.StructType); ok {
			for _, f := range s.Fields.List {
				for _, name := range f.Names {
					if name.IsExported() {
						names = append(names, spec.Name.Name+"."+name.Name)
					}
				}
				if inner, ok := f.Type.(*ast.Ident); ok && f.Names == nil && inner.IsExported() {
					names = append(names, spec.Name.Name+"."+inner.Name)
				}
			}
		}
		return true
	})
	return names
}

// TestEveryFieldActs: every exported field, set to a value that is not its default, changes what a loop sees. A field without a case fails.
//
// Promise: [G10] every option of role makers, transports and datasets acts
// Also: TestEveryFieldActs (rolemaker, transport), TestEveryMethodActs
func TestEveryFieldActs(t *testing.T) {
	law.Slow(t)
	needShell(t)
	cases, fields := fieldCases(t), exportedFields(t)
	if len(fields) < 35 {
		t.Errorf("only %d fields found: the test does not see the package", len(fields))
	}
	for _, name := range fields {
		c, ok := cases[name]
		if name == "Values.Column" { // what the constructors make
			c, ok = [2]string{outcome(FromColumns(IntValues("x", []int64{1, 2}))), outcome(FromColumns(IntValues("x", []int64{1, 2}, 2)))}, true
		}
		if !ok {
			t.Errorf("no case shows that %s acts", name)
		}
		if c[0] == c[1] {
			t.Errorf("%s changes nothing: %s", name, c[0])
		}
		delete(cases, name)
	}
	for name := range cases {
		t.Errorf("the case %s is of no field", name)
	}
}

// methodCases has for every method that makes a dataset of another what it makes of ten rows.
var methodCases = map[string]func(d *Dataset) *Dataset{
	"Filter":        func(d *Dataset) *Dataset { return d.Filter(func(r Row) bool { return r.Ints(0)[0] > 5 }) },
	"MapFloats":     func(d *Dataset) *Dataset { return d.MapFloats("pair", func(x float32) float32 { return x + 1 }) },
	"MapInts":       func(d *Dataset) *Dataset { return d.MapInts("x", func(x int64) int64 { return x + 1 }) },
	"MapRows":       func(d *Dataset) *Dataset { return d.MapRows(func(Row, Row) error { return nil }, Ints("zero")) },
	"Rename":        func(d *Dataset) *Dataset { return d.Rename("x", "y") },
	"Select":        func(d *Dataset) *Dataset { return d.Select("pair") },
	"DropLast":      func(d *Dataset) *Dataset { return d.DropLast() },
	"Epoch":         func(d *Dataset) *Dataset { return d.Shuffle(1).Epoch(1) },
	"Map":           func(d *Dataset) *Dataset { return d.Map(func(b Batch) error { b["z"] = b["x"]; return nil }) },
	"MayBeEmpty":    func(d *Dataset) *Dataset { return d.Take(0).MayBeEmpty() },
	"Prefetch":      func(d *Dataset) *Dataset { return d.Prefetch(-1) }, // TestPrefetchIsAhead has the rest
	"RandomShard":   func(d *Dataset) *Dataset { return d.RandomShard(1, 0, 2) },
	"Shard":         func(d *Dataset) *Dataset { return d.Shard(0, 2) },
	"ShardRows":     func(d *Dataset) *Dataset { return d.ShardRows(0, 2) },
	"Shuffle":       func(d *Dataset) *Dataset { return d.Shuffle(1) },
	"ShuffleGroups": func(d *Dataset) *Dataset { return d.ShuffleGroups("x", 1, 2) },
	"ShuffleWindow": func(d *Dataset) *Dataset { return d.ShuffleWindow(5, 1) },
	"Skip":          func(d *Dataset) *Dataset { return d.Skip(1) },
	"Split":         func(d *Dataset) *Dataset { first, _ := d.Split(0.5, 1); return first },
	"SplitGroups":   func(d *Dataset) *Dataset { first, _ := d.SplitGroups("x", 0.5, 1); return first },
	"SplitLast":     func(d *Dataset) *Dataset { first, _ := d.SplitLast("x", 0.5); return first },
	"Take":          func(d *Dataset) *Dataset { return d.Take(1) },
}

// TestEveryMethodActs: every method that returns a dataset, and each of its arguments, changes what a loop sees.
func TestEveryMethodActs(t *testing.T) {
	d := numbers(10)
	with := map[string]*Dataset{"Epoch": d.Shuffle(1), "MayBeEmpty": d.Take(0)}
	arguments := map[string]*Dataset{
		"RandomShard": d.RandomShard(2, 0, 2), "RandomShard ": d.RandomShard(1, 1, 2), "RandomShard  ": d.RandomShard(1, 0, 3),
		"Shard": d.Shard(1, 2), "Shard ": d.Shard(0, 3), "ShardRows": d.ShardRows(1, 2), "ShardRows ": d.ShardRows(0, 3),
		"Shuffle": d.Shuffle(2), "ShuffleGroups": d.ShuffleGroups("x", 2, 2), "ShuffleGroups ": d.ShuffleGroups("x", 1, 3),
		"ShuffleGroups  ": d.ShuffleGroups("pair", 1, 2), "ShuffleWindow": d.ShuffleWindow(4, 1), "ShuffleWindow ": d.ShuffleWindow(5, 2),
		"Rename": d.Rename("x", "z"), "Rename ": d.Rename("pair", "y"), "Select": d.Select("x"), "MapRows": d.MapRows(func(Row, Row) error { return nil }, Ints("nought")),
		"Skip": d.Skip(2), "Take": d.Take(2), "Epoch": d.Shuffle(1).Epoch(2),
	}
	first, second := d.Split(0.5, 2)
	arguments["Split"], arguments["Split "] = first, second
	other, _ := d.Split(0.9, 1)
	arguments["Split  "] = other
	for i, seed := range []uint64{2, 1} {
		arguments["SplitGroups"+strings.Repeat(" ", i)], _ = d.SplitGroups("x", 0.5+0.4*float64(i), seed)
	}
	arguments["SplitGroups  "], _ = d.SplitGroups("pair", 0.5, 1)
	arguments["SplitLast"], _ = d.SplitLast("x", 0.7)
	arguments["SplitLast "], _ = d.SplitLast("pair", 0.5) // which is refused
	of := reflect.TypeFor[*Dataset]()
	for m := range of.NumMethod() {
		method := of.Method(m)
		if method.Type.NumOut() == 0 || method.Type.Out(0) != of || method.Name == "Load" {
			continue
		}
		make, ok := methodCases[method.Name]
		if !ok {
			t.Errorf("no case shows that %s acts", method.Name)
			continue
		}
		from := with[method.Name]
		if from == nil {
			from = d
		}
		made := outcome(make(d))
		if made == outcome(from) {
			t.Errorf("%s changes nothing", method.Name)
		}
		for name, o := range arguments {
			if strings.TrimSpace(name) == method.Name && outcome(o) == made {
				t.Errorf("an argument of %s changes nothing", method.Name)
			}
		}
	}
}

// TestDefaults: what a field's comment says of its zero is what it does.
func TestDefaults(t *testing.T) {
	memory, queue := lawLists(t, func(*InMemoryDataset, *QueueDataset) {})
	memoryOne, queueOne := lawLists(t, func(m *InMemoryDataset, q *QueueDataset) { m.BatchSize, q.BatchSize = 1, 1 })
	for name, c := range map[string][2]string{
		"QueueDataset.Capacity":     {linesAhead(t, 0), linesAhead(t, 4)},
		"QueueDataset.BatchSize":    {queue, queueOne},
		"InMemoryDataset.BatchSize": {memory, memoryOne},
		"Criteo.Height":             {lawCriteo(func(*Criteo) {}), lawCriteo(func(f *Criteo) { f.Height = 1_000_001 })},
		"Criteo.Dense":              {lawCriteo(func(*Criteo) {}), lawCriteo(func(f *Criteo) { f.Dense = MinMax })},
		"CSV.Quote":                 {lawCSV("\"1\",2\n", func(*CSV) {}), lawCSV("\"1\",2\n", func(f *CSV) { f.Quote = '"' })},
		"Files.Threads":             {linesParsed(t, 0), linesParsed(t, 1)},
		"CSV.Comma":                 {lawCSV("1,2\n", func(*CSV) {}), lawCSV("1,2\n", func(f *CSV) { f.Comma = ',' })},
		"Column.Shape":              {lawSlots("x:1\n", func(*SlotColumn) {}), lawSlots("x:1\n", func(c *SlotColumn) { c.Shape = []int{} })},
		"SlotColumn.Slots":          {lawSlots("x:1\n", func(*SlotColumn) {}), lawSlots("x:1\n", func(c *SlotColumn) { c.Slots = []string{"x"} })},
		"CSVColumn.Fields":          {lawCSV("1,2\n", func(*CSV) {}), lawCSV("1,2\n", func(f *CSV) { f.Schema[1].Fields = []string{"y"} })},
		"MultiSlot.Order":           {lawOrder(func(*MultiSlot) {}), lawOrder(func(f *MultiSlot) { f.Order = []string{"a", "b"} })},
	} {
		if c[0] != c[1] {
			t.Errorf("%s: its default is not what it says: %s, want %s", name, c[0], c[1])
		}
	}
}
