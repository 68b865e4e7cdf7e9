package dataset

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// fourColumns are rows of every type, as they lie in memory and as they stream by.
func fourColumns(t *testing.T) map[string]*Dataset {
	t.Helper()
	paths := onDisk(t, "x:1 y:2 y:3 v:7 v:8 id:4\nx:10 y:20 y:30 v:9 id:18446744073709551615\nx:100 y:200 y:300 v:5 v:6 v:7 id:0\n")
	stream := FromFiles(SlotText{Slots: []SlotColumn{{Column: Floats("x")}, {Column: Ints("y", 2)}, {Column: Varying(Ints("v"))}, {Column: IDs("id")}}}, paths...)
	loaded, err := stream.Load(t.Context())
	law.Check(t, err)
	return map[string]*Dataset{"streaming": stream, "loaded": loaded}
}

// text is all rows of a dataset, a batch of two at a time.
func text(d *Dataset) string {
	var out []string
	for batch, err := range d.Batches(2) {
		if err != nil {
			return err.Error()
		}
		out = append(out, rowText(batch))
	}
	return strings.Join(out, " | ")
}

// TestColumnsChange: columns are renamed, chosen and mapped, rows made of rows and left out, alike in memory and streaming, before and after
// what chooses rows.
func TestColumnsChange(t *testing.T) {
	for name, d := range fourColumns(t) {
		for what, c := range map[string]struct {
			d    *Dataset
			want string
		}{
			"rename":          {d.Select("x").Rename("x", "dense"), "dense[1 10] | dense[100]"},
			"select":          {d.Select("v", "x"), "v[7 8 9] v.offsets[0 2 3] x[1 10] | v[5 6 7] v.offsets[0 3] x[100]"},
			"select ids":      {d.Select("id"), "id[4 18446744073709551615] | id[0]"},
			"floats":          {d.Select("x").MapFloats("x", func(x float32) float32 { return -x }), "x[-1 -10] | x[-100]"},
			"ints":            {d.MapInts("y", func(y int64) int64 { return y + 1 }).Select("y"), "y[3 4 21 31] | y[201 301]"},
			"varying":         {d.MapInts("v", func(v int64) int64 { return v * 2 }).Select("v"), "v[14 16 18] v.offsets[0 2 3] | v[10 12 14] v.offsets[0 3]"},
			"filter":          {d.Filter(func(r Row) bool { return r.Floats(0)[0] != 10 }).Select("x", "v"), "v[7 8 5 6 7] v.offsets[0 2 5] x[1 100]"},
			"filter and skip": {d.Filter(func(r Row) bool { return len(r.Ints(2)) > 1 }).Skip(1).Select("v"), "v[5 6 7] v.offsets[0 3]"},
			"shard":           {d.MapFloats("x", func(x float32) float32 { return x / 2 }).Shard(1, 2).Select("x"), "x[5]"},
			"after take":      {d.Take(1).Rename("x", "z").Select("z"), "z[1]"},
			"rows": {d.MapRows(func(from, to Row) error {
				to.Floats(0)[0], to.Floats(0)[1] = from.Floats(0)[0], float32(from.Ints(1)[1])
				for _, v := range from.Ints(2) {
					to.AppendID(1, from.IDs(3)[0]-uint64(v))
				}
				return nil
			}, Floats("both", 2), Varying(IDs("less"))).MapFloats("both", func(x float32) float32 { return 2 * x }),
				"both[2 6 20 60] less[18446744073709551613 18446744073709551612 18446744073709551606] less.offsets[0 2 3] | " +
					"both[200 600] less[18446744073709551611 18446744073709551610 18446744073709551609] less.offsets[0 3]"},
		} {
			if got := text(c.d); got != c.want {
				t.Errorf("%s, %s: %s, want %s", name, what, got, c.want)
			}
			loaded, err := c.d.Load(t.Context())
			if err != nil || text(loaded) != c.want {
				t.Errorf("%s, %s, loaded: %v, %s", name, what, err, text(loaded))
			}
		}
		again, err := d.MapInts("y", func(y int64) int64 { return y + 1 }).Load(t.Context())
		if err != nil || !slices.Equal(tableOf(again).Ints(1), []int64{3, 4, 21, 31, 201, 301}) || text(d.Select("y")) != "y[2 3 20 30] | y[200 300]" {
			t.Errorf("%s: mapped twice, or the rows that it was made of", name)
		}
	}
}

// TestColumnsKeepOrders: rows in memory stay so, with their number and their orders; places go with rows.
func TestColumnsKeepOrders(t *testing.T) {
	d := numbers(50)
	changed := d.Rename("x", "z").MapInts("z", func(z int64) int64 { return z }).Select("z").MapRows(func(from, to Row) error {
		to.Ints(0)[0] = from.Ints(0)[0]
		return nil
	}, Ints("x"))
	if n, known := changed.Len(); n != 50 || !known {
		t.Errorf("%d rows, known %v", n, known)
	}
	if got, want := intsOf(t, changed.Shuffle(3)), intsOf(t, d.Shuffle(3)); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	paths := placed(t)
	for name, d := range map[string]*Dataset{"streaming": FromFiles(placedFormat, paths...), "loaded": first(FromFiles(placedFormat, paths...).Split(1, 1))} {
		if name == "loaded" {
			loaded, err := d.Load(t.Context())
			law.Check(t, err)
			d = loaded.Shuffle(1)
		}
		d = d.Select("v", "x").Rename("v", "w").MapRows(func(from, to Row) error {
			to.Ints(0)[0] = from.Ints(1)[0]
			return nil
		}, Ints("x")).Filter(func(r Row) bool { return r.Ints(0)[0]%3 > 0 })
		checkPlaces(t, name, d, paths, false)
	}
}

// TestSelectAsksForNoMore: lines of files need not have what only columns that are not selected are made of.
func TestSelectAsksForNoMore(t *testing.T) {
	schema := []CSVColumn{{Column: Floats("x")}, {Column: Ints("id")}, {Column: Floats("late")}}
	for name, d := range map[string]*Dataset{
		"csv":  FromReader(strings.NewReader("id,x\n7,1\n8,2\n"), "csv", CSV{Schema: schema}),
		"json": FromReader(strings.NewReader(`{"x":1,"id":7}`+"\n"+`{"id":8,"x":2,"late":"?"}`), "json", JSONLines{Schema: schema}),
		"slots": FromReader(strings.NewReader("x:1 id:7\nid:8 x:2\n"), "slots",
			SlotText{Slots: []SlotColumn{{Column: Floats("x")}, {Column: Ints("id")}, {Column: Floats("late")}}}),
	} {
		b, err := d.Select("id", "x").Batch(t.Context())
		if err != nil || !slices.Equal(b["id"].Int64s(), []int64{7, 8}) || !slices.Equal(b["x"].Float32s(), []float32{1, 2}) || len(b) != 2 {
			t.Errorf("%s: %v, %v", name, b, err)
		}
	}
	if err := FromReader(strings.NewReader(""), "csv", CSV{Schema: schema}).Select("y").Err(); err == nil {
		t.Error("a column that is none")
	}
}

// TestColumnsRefused: what is no column, and what fails on the way, is told with its names.
func TestColumnsRefused(t *testing.T) {
	bad := errors.New("no such word")
	paths := placed(t)
	failing := func(from, _ Row) error {
		if from.Ints(0)[0] == 117 {
			return bad
		}
		return nil
	}
	d := numbers(5)
	for _, c := range []struct {
		d    *Dataset
		want string
	}{
		{d.Rename("z", "y"), `Rename("z"): unknown column; want one of "x", "pair"`},
		{d.Rename("x", "pair"), `"pair": two columns have that name`},
		{d.Rename("x", ""), `it has no name`},
		{d.Select("x", "z"), `Select("z")`},
		{d.Select("x", "x"), `two columns`},
		{d.Select(), `no columns given`},
		{d.MapFloats("x", nil), `MapFloats("x"): the column holds int64`},
		{d.MapInts("pair", nil), `MapInts("pair"): the column holds float32`},
		{d.MapRows(failing), `dataset: column: no columns given`},
		{d.Filter(func(Row) bool { return false }), `Filter leaves none of 5 rows`},
		{d.Take(-1).Rename("z", "y"), `Take(-1)`},
		{FromFiles(placedFormat, paths...).MapRows(failing, Ints("x")), "MapRows: " + paths[1] + ":17: no such word"},
		{FromFiles(nil).Select("x"), "Files.Format"},
	} {
		_, err := c.d.Load(t.Context())
		if err == nil {
			_, err = c.d.Batch(t.Context())
		}
		if err == nil || !strings.HasPrefix(err.Error(), "dataset: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	endless := FromSeq(func(yield func(number1, error) bool) {
		for i := 0; yield(number1{i}, nil); i++ {
			if i == 1000 {
				cancel(bad)
			}
		}
	}).Filter(func(Row) bool { return false })
	for _, err := range endless.BatchesContext(ctx, 10) {
		if !errors.Is(err, bad) {
			t.Errorf("a filter without end: %v", err)
		}
	}
}
