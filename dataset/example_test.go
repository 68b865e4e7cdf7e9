package dataset_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"strconv"
	"strings"
	"testing/fstest"

	"github.com/gofleet/gofleet/dataset"
)

func Example() {
	text := "1 0.5 1 11 1 1\n1 0.25 1 12 1 0\n1 2 1 13 1 1\n1 1 1 14 1 0\n1 0 1 15 1 1\n"
	format := dataset.MultiSlot{Slots: []dataset.SlotColumn{
		{Column: dataset.Floats("x")}, {Column: dataset.Ints("id")}, {Column: dataset.Floats("label")},
	}}
	rows, err := dataset.FromReader(strings.NewReader(text), "example", format).Load(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for epoch := range 2 {
		for batch, err := range rows.Shuffle(1).Epoch(epoch).Batches(3) {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println(epoch, batch["x"].Shape(), batch["id"].Data(), batch["label"].Data())
		}
	}
	// Output:
	// 0 (3, 1) [11 12 15] [1 0 1]
	// 0 (2, 1) [13 14] [1 0]
	// 1 (3, 1) [13 11 12] [1 1 0]
	// 1 (2, 1) [14 15] [0 1]
}

func ExampleFromColumns() {
	rows := dataset.FromColumns(
		dataset.FloatValues("xy", []float32{0, 0, 0, 1, 1, 0, 1, 1}, 2),
		dataset.IntValues("xor", []int64{0, 1, 1, 0}))
	for batch := range rows.Batches(3) {
		fmt.Println(batch["xy"].Shape(), batch["xor"].Data())
	}
	// Output:
	// (3, 2) [0 1 1]
	// (1, 2) [0]
}

// Rows in hand, such as those of a request, become the feeds that their fields' tags name.
func ExampleFromStructs() {
	type Flight struct {
		Distance float32 `feed:"dense"`
		Temp     float64 `feed:"dense"`
		Carrier  string  `feed:"C,hash=1000"`
		Late     bool    `feed:"late"`
	}
	feed, err := dataset.FromStructs([]Flight{{100, 21.5, "AA", true}, {2500, 3, "UA", false}}).Batch(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(feed["dense"].Shape(), feed["dense"].Data())
	fmt.Println(feed["C"].Data(), feed["late"].Data())
	// Output:
	// (2, 2) [100 21.5 2500 3]
	// [273 92] [1 0]
}

// One struct says how rows are read from a file, and what a request of a service is.
func ExampleSchema() {
	type Flight struct {
		Distance float32 `feed:"dense,field=distance"`
		Carrier  string  `feed:"C,hash=1000,field=carrier"`
	}
	schema, err := dataset.Schema[Flight]()
	if err != nil {
		log.Fatal(err)
	}
	rows := dataset.FromReader(strings.NewReader("carrier,distance\nAA,100\n"), "flights.csv", dataset.CSV{Schema: schema})
	for _, d := range []*dataset.Dataset{rows, dataset.FromStructs([]Flight{{100, "AA"}})} {
		feed, err := d.Batch(context.Background())
		fmt.Println(feed["dense"].Data(), feed["C"].Data(), err)
	}
	// Output:
	// [100] [937] <nil>
	// [100] [937] <nil>
}

// A sample generator: how many samples there are shows when it ends.
func ExampleFromSeq() {
	type Sample struct {
		Words []int64 `feed:"words"`
		Click bool    `feed:"click"`
	}
	reader := func(yield func(Sample, error) bool) {
		for line := range strings.Lines("7 9 click\n3\n") {
			var s Sample
			for _, word := range strings.Fields(line) {
				if id, err := strconv.ParseInt(word, 10, 64); err == nil {
					s.Words = append(s.Words, id)
				} else {
					s.Click = true
				}
			}
			if !yield(s, nil) {
				return
			}
		}
	}
	for batch, err := range dataset.FromSeq(reader).Batches(2) {
		fmt.Println(batch["words"].Data(), batch["words.offsets"].Data(), batch["click"].Data(), err)
	}
	// Output: [7 9 3] [0 2 3] [1 0] <nil>
}

func ExampleGenerate() {
	squares := dataset.Generate(5, func(i int, row dataset.Row) error {
		row.Floats(0)[0] = float32(i)
		row.Floats(1)[0] = float32(i * i)
		return nil
	}, dataset.Floats("x"), dataset.Floats("y"))
	for batch := range squares.Skip(2).Batches(10) {
		fmt.Println(batch["x"].Data(), batch["y"].Data())
	}
	// Output: [2 3 4] [4 9 16]
}

// Columns get the names of feeds, and values that the file has not.
func ExampleDataset_MapRows() {
	text := "hour;delay\n23;40\n0;-5\n"
	rows := dataset.FromReader(strings.NewReader(text), "flights.csv", dataset.CSV{Comma: ';', Schema: []dataset.CSVColumn{
		{Column: dataset.Floats("hour")}, {Column: dataset.Floats("delay")},
	}})
	late := rows.MapRows(func(from, to dataset.Row) error {
		hour, delay := from.Floats(0)[0], from.Floats(1)[0]
		to.Floats(0)[0] = hour / 24
		if delay > 15 {
			to.Floats(1)[0] = 1
		}
		return nil
	}, dataset.Floats("dense"), dataset.Floats("late"))
	for batch, err := range late.Rename("late", "label").Batches(10) {
		fmt.Println(batch["dense"].Data(), batch["label"].Data(), err)
	}
	// Output: [0.9583333 0] [1 0] <nil>
}

// Numbers become of mean 0 and deviation 1, and where they are missing 0: in training, and wherever a model that was saved with the format
// (nn.Inference(…).WithFormat(format)) scores such lines.
func ExampleCSVColumn_Standardize() {
	ctx := context.Background()
	text := "age,income,label\n20,0,0\n40,,1\n60,1000000,1\n"
	format := dataset.CSV{Schema: []dataset.CSVColumn{
		{Column: dataset.Floats("dense_input", 2), Fields: []string{"age", "income"}, Missing: "NaN", Scale: []dataset.Scaling{{}, {Log1p: true}}},
		{Column: dataset.Floats("label")},
	}}
	moments, err := dataset.FromReader(strings.NewReader(text), "train.csv", format).Moments(ctx, "dense_input")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d ages from %v to %v\n", moments[0].Count, moments[0].Min, moments[0].Max)
	if format.Schema[0], err = format.Schema[0].Standardize(moments); err != nil {
		log.Fatal(err)
	}
	format.Schema[0].Missing = "0"
	for batch, err := range dataset.FromReader(strings.NewReader(text), "train.csv", format).Batches(10) {
		fmt.Println(batch["dense_input"].Data(), err)
	}
	// Output:
	// 3 ages from 20 to 60
	// [-1.2247449 -1 0 0 1.2247449 1] <nil>
}

func ExampleDataset_Shard() {
	rows := dataset.Generate(10, func(i int, row dataset.Row) error { row.Ints(0)[0] = int64(i); return nil }, dataset.Ints("i"))
	for worker := range 2 {
		for batch := range rows.Shuffle(7).Shard(worker, 2).Batches(10) {
			fmt.Println("worker", worker, "has", batch["i"].Data())
		}
	}
	// Output:
	// worker 0 has [3 1 4 5 6]
	// worker 1 has [2 0 8 9 7]
}

func ExampleFromReader() {
	text := "x,label\n0.5,1\noops,0\n0.25,0\n"
	rows := dataset.FromReader(strings.NewReader(text), "clicks.csv", dataset.CSV{Schema: []dataset.CSVColumn{
		{Column: dataset.Floats("x")}, {Column: dataset.Floats("label")},
	}})
	for _, err := range rows.Batches(10) {
		fmt.Println(err)
	}
	// Output: dataset: bad line: clicks.csv:3: field x: want a number, got "oops" (Values makes numbers of texts, and Hash ids)
}

func ExampleFiles() {
	clicks := &dataset.Files{
		Paths:   []string{"part-0", "part-1"},
		FS:      fstest.MapFS{"part-0": {Data: []byte("0.5,1\noops,0\n")}, "part-1": {Data: []byte("0.25,0\n")}},
		Format:  dataset.CSV{Fields: []string{"x", "label"}, Schema: []dataset.CSVColumn{{Column: dataset.Floats("x")}}},
		SkipBad: 10,
		OnBad:   func(e *dataset.LineError) { fmt.Println("passed over", e) },
	}
	for batch, err := range dataset.New(clicks).Batches(10) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(batch["x"].Data())
	}
	// Output:
	// passed over part-0:2: field x: want a number, got "oops" (Values makes numbers of texts, and Hash ids)
	// [0.5 0.25]
}

// Any CSV: semicolons, comments, and whatever spelling of a missing value.
func ExampleCSV() {
	text := "# exported by hand\ndistance; carrier; late\n100; AA; 1\nN/A; 'UA; cargo'; 0\n"
	rows := dataset.FromReader(strings.NewReader(text), "flights.csv", dataset.CSV{
		Comma: ';', Quote: '\'', Comment: '#', Trim: true, NAs: dataset.UsualNAs(), Missing: "-1",
		Schema: []dataset.CSVColumn{
			{Column: dataset.Floats("dense"), Fields: []string{"distance"}},
			{Column: dataset.Ints("C"), Fields: []string{"carrier"}, Hash: 1000},
			{Column: dataset.Floats("late")},
		}})
	for batch, err := range rows.Batches(10) {
		fmt.Println(batch["dense"].Data(), batch["C"].Data(), batch["late"].Data(), err)
	}
	// Output: [100 -1] [937 769] [1 0] <nil>
}

func ExampleJSONLines() {
	text := `{"user": "ann", "words": [7, 9], "click": true}` + "\n" + `{"user": "bob", "words": 3}`
	rows := dataset.FromReader(strings.NewReader(text), "clicks.json", dataset.JSONLines{Missing: "0", Schema: []dataset.CSVColumn{
		{Column: dataset.Ints("user"), Hash: 1000},
		{Column: dataset.Varying(dataset.Ints("words"))},
		{Column: dataset.Floats("click")},
	}})
	for batch, err := range rows.Batches(10) {
		fmt.Println(batch["user"].Data(), batch["words"].Data(), batch["words.offsets"].Data(), batch["click"].Data(), err)
	}
	// Output: [737 10] [7 9 3] [0 2 3] [1 0] <nil>
}

func ExampleLibSVM() {
	rows := dataset.FromReader(strings.NewReader("+1 1:0.5 3:2\n-1 2:1\n"), "a9a", dataset.LibSVM{Features: 3, Binary: true})
	for batch, err := range rows.Batches(10) {
		fmt.Println(batch["x"].Data(), batch["label"].Data(), err)
	}
	// Output: [0.5 0 2 0 1 0] [1 0] <nil>
}

// A varying column comes as its values end to end, and where each row's begin.
func ExampleVarying() {
	rows := dataset.FromReader(bytes.NewReader([]byte("3 10 11 12\n1 20\n")), "example",
		dataset.MultiSlot{Slots: []dataset.SlotColumn{{Column: dataset.Varying(dataset.Ints("words"))}}})
	for batch := range rows.Batches(2) {
		fmt.Println(batch["words"].Data(), batch["words.offsets"].Data())
	}
	// Output: [10 11 12 20] [0 3 4]
}

func ExampleFileShard() {
	for worker := range 2 {
		files, err := dataset.FileShard([]string{"a", "b", "c", "d", "e"}, worker, 2)
		fmt.Println(files, err)
	}
	// Output:
	// [a b c] <nil>
	// [d e] <nil>
}

func ExampleInMemoryDataset() {
	train := &dataset.InMemoryDataset{Format: dataset.CriteoSlots(), BatchSize: 32}
	train.SetFileList("testdata/criteo_sample_80.slots.txt")
	if err := train.LoadIntoMemory(context.Background()); err != nil {
		log.Fatal(err)
	}
	if err := train.LocalShuffle(1); err != nil {
		log.Fatal(err)
	}
	for batch, err := range train.Batches() {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(batch["dense_input"].Shape(), batch["C"].Shape(), batch["label"].Shape())
	}
	fmt.Println(train.MemoryDataSize(), "rows")
	// Output:
	// (32, 13) (32, 26) (32, 1)
	// (32, 13) (32, 26) (32, 1)
	// (16, 13) (16, 26) (16, 1)
	// 80 rows
}
