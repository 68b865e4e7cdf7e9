package dataset

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

type base struct {
	Late bool `feed:"late"`
}

type sample struct {
	base
	Distance float32       `feed:"dense"`
	Temp     float64       `feed:"dense"`
	Hours    [2]int        `feed:"dense,float"`
	Carrier  string        `feed:"C,hash=1000"`
	Dest     string        `feed:"C,hash=1000,field=destination"`
	Class    uint8         `feed:"class"`
	Day      int16         `feed:""`
	Words    []uint32      `feed:"words"`
	Pixels   []uint8       `feed:"image,float,shape=1x2x2"`
	Grid     [2][3]float32 `feed:"grid"`
	Note     string
	Ignored  string `feed:"-"`
}

var someSamples = []sample{
	{base{true}, 1, 2, [2]int{3, 4}, "AA", "JFK", 255, -7, []uint32{1, 2}, []uint8{1, 2, 3, 255}, [2][3]float32{{1, 2, 3}, {4, 5, 6}}, "x", "y"},
	{Words: []uint32{3}, Pixels: make([]uint8, 4)},
}

// TestFromStructs: every kind of field becomes the feed that its tag names, with the values that it holds.
func TestFromStructs(t *testing.T) {
	d := FromStructs(someSamples)
	want := []Column{Floats("late"), Floats("dense", 4), Ints("C", 2), IDs("class"), Ints("Day"), Varying(IDs("words")), Floats("image", 1, 2, 2), Floats("grid", 2, 3)}
	if got := fmt.Sprint(d.Columns()); got != fmt.Sprint(want) || d.Err() != nil {
		t.Fatalf("columns %v, want %v; %v", got, want, d.Err())
	}
	feed, err := d.Batch(t.Context())
	law.Check(t, err)
	id := func(field, text string) int64 { return HashID(field, text, 1000) }
	for name, want := range map[string]any{
		"late": []float32{1, 0}, "dense": []float32{1, 2, 3, 4, 0, 0, 0, 0},
		"C":     []int64{id("Carrier", "AA"), id("destination", "JFK"), id("Carrier", ""), id("destination", "")},
		"class": []uint64{255, 0}, "Day": []int64{-7, 0}, "words": []uint64{1, 2, 3}, "words.offsets": []int64{0, 2, 3},
		"image": []float32{1, 2, 3, 255, 0, 0, 0, 0}, "grid": []float32{1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0, 0},
	} {
		if got := fmt.Sprint(feed[name].Data()); got != fmt.Sprint(want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if rows, known := d.Shuffle(1).Split(0.5, 1); rows.Err() != nil || known == nil {
		t.Error("rows of structs can't be shuffled and split")
	}
}

// TestStructsRefused: what can't be a feed is told by field, with its tag or its row.
func TestStructsRefused(t *testing.T) {
	for _, c := range []struct {
		rows *Dataset
		want string
	}{
		{FromStructs([]int{1}), "rows are int: want a struct"},
		{FromStructs([]struct{ X float32 }{}), "has a tag"},
		{FromStructs([]struct {
			x float32 `feed:"x"`
		}{}), `field x of struct`},
		{FromStructs([]struct {
			X string `feed:"x"`
		}{}), `a field of text wants hash=N`},
		{FromStructs([]struct {
			X float32 `feed:"x,hash=3"`
		}{}), `others want none`},
		{FromStructs([]struct {
			X string `feed:"x,hash=0"`
		}{}), `hash is "0"`},
		{FromStructs([]struct {
			X map[string]int `feed:"x"`
		}{}), `no feed holds map[string]int`},
		{FromStructs([]struct {
			X [][]int `feed:"x"`
		}{}), `slices of slices`},
		{FromStructs([]struct {
			X int `feed:"x,flat"`
		}{}), `unknown option "flat"`},
		{FromStructs([]struct {
			X []int `feed:"x,shape=3x0"`
		}{}), `shape is "3x0"`},
		{FromStructs([]struct {
			X [3]int `feed:"x,shape=3"`
		}{}), `a shape is for a slice`},
		{FromStructs([]struct {
			X int     `feed:"x"`
			Y float32 `feed:"x"`
		}{}), `field Y of struct`},
		{FromStructs([]struct {
			X []int `feed:"x"`
			Y int   `feed:"x"`
		}{}), `can't stand beside`},
		{FromStructs([]struct {
			X []int `feed:"x,shape=2"`
		}{{[]int{1, 2}}, {[]int{1}}}), "dataset: row 1: field X has 1 values, want 2"},
		{FromStructs([]struct {
			X []int `feed:"x,shape=2"`
		}{{[]int{1, 2, 3}}}), "dataset: row 0: field X has 3 values, want 2"},
		{FromStructs([]struct {
			X float64 `feed:"x"`
		}{{math.Inf(1)}, {-1e39}}), "dataset: row 1: field X is -1e+39: want a number in the range of float32"},
		{FromStructs([]struct {
			*sample
		}{{}}), "field Late"},
	} {
		if err := c.rows.Err(); err == nil || !strings.HasPrefix(err.Error(), "dataset: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

type number1 struct {
	I int `feed:"i"`
}

// upTo yields 0, 1, … n−1, and then the error, if there is one. Begun and ended count its passes.
func upTo(n int, err error, begun, ended *int) iter.Seq2[number1, error] {
	return func(yield func(number1, error) bool) {
		*begun++
		defer func() { *ended++ }()
		for i := range n {
			if !yield(number1{i}, nil) {
				return
			}
		}
		if err != nil {
			yield(number1{}, err)
		}
	}
}

// TestFromSeq: samples that a function makes come as they are made, in as many passes as are asked for, and the function ends when the loop does.
func TestFromSeq(t *testing.T) {
	var begun, ended int
	d := FromSeq(upTo(10, nil, &begun, &ended))
	want := intsOf(t, numbers(10))
	for range 2 {
		if got := intsOf(t, d); !slices.Equal(got, want) {
			t.Errorf("got %v", got)
		}
	}
	for range d.Prefetch(3).Batches(2) {
		break
	}
	if begun != 3 || ended != 3 {
		t.Errorf("%d passes began, %d ended", begun, ended)
	}
	if got, want := intsOf(t, d.Shard(1, 3)), []int64{1, 4, 7}; !slices.Equal(got, want) {
		t.Errorf("a shard has %v", got)
	}
	bad := errors.New("no more")
	_, err := FromSeq(upTo(7, bad, &begun, &ended)).Load(t.Context())
	if !errors.Is(err, bad) || err.Error() != "dataset: sample 7: no more" {
		t.Errorf("got %v", err)
	}
	if _, err := FromSeq(upTo(0, nil, &begun, &ended)).Batch(t.Context()); !errors.Is(err, ErrNoRows) {
		t.Errorf("a batch of no rows: %v", err)
	}
	if err := FromSeq(func(func(int, error) bool) {}).Err(); !errors.Is(err, ErrColumn) {
		t.Errorf("samples without tags: %v", err)
	}
}

// intsOf is the first column of all rows.
func intsOf(t *testing.T, d *Dataset) []int64 {
	t.Helper()
	rows, err := d.Table(t.Context())
	law.Check(t, err)
	return rows.Ints(0)
}

// TestBatchIsTheCallers: one batch has all rows, maps act on it, and it stays as it is.
func TestBatchIsTheCallers(t *testing.T) {
	d := numbers(3).Map(func(b Batch) error { b["x"].Data().([]int64)[0] += 40; return nil })
	first, err := d.Batch(t.Context())
	law.Check(t, err)
	second, err := d.Batch(t.Context())
	if got := rowText(first); err != nil || got != rowText(second) || !strings.Contains(got, "40 1 2") {
		t.Errorf("got %s and %s, %v", got, rowText(second), err)
	}
	if _, err := d.Map(func(Batch) error { return ErrOption }).Batch(t.Context()); !errors.Is(err, ErrOption) {
		t.Errorf("a map's error: %v", err)
	}
}

// TestSchema: rows from a file, by the schema of a struct, are the rows of such structs in hand.
func TestSchema(t *testing.T) {
	type flight struct {
		Distance float32 `feed:"dense,field=distance"`
		Hour     int     `feed:"dense,float,field=hour"`
		Carrier  string  `feed:"C,hash=1000,field=carrier"`
		Dest     string  `feed:"C,hash=1000"`
		Late     bool    `feed:"late,field=late"`
	}
	schema, err := Schema[flight]()
	law.Check(t, err)
	inHand := text(FromStructs([]flight{{1.5, 7, "AA", "JFK", true}, {2, 0, "", "LAX", false}}))
	for name, d := range map[string]*Dataset{
		"csv":  FromReader(strings.NewReader("Dest,late,carrier,hour,distance\nJFK,1,AA,7,1.5\nLAX,0,,0,2\n"), "text", CSV{Schema: schema}),
		"json": FromReader(strings.NewReader(`{"Dest":"JFK","late":true,"carrier":"AA","hour":7,"distance":1.5}`+"\n"+`{"Dest":"LAX","late":false,"hour":0,"distance":2}`), "text", JSONLines{Schema: schema}),
	} {
		if got := text(d); got != inHand {
			t.Errorf("%s: %s, in hand %s", name, got, inHand)
		}
	}
	type list struct {
		Words []int      `feed:"words"`
		Image [2]float64 `feed:"image"`
	}
	lists, err := Schema[list]()
	law.Check(t, err)
	if got, want := text(FromReader(strings.NewReader(`{"Words":[1,2],"Image":[3,4]}`), "text", JSONLines{Schema: lists})), text(FromStructs([]list{{[]int{1, 2}, [2]float64{3, 4}}})); got != want {
		t.Errorf("lists: %s, want %s", got, want)
	}
	_, none := Schema[int]()
	_, sizes := Schema[struct {
		A [2]int `feed:"a"`
		B int    `feed:"a"`
	}]()
	_, hashes := Schema[struct {
		A string `feed:"a,hash=10"`
		B string `feed:"a,hash=20"`
	}]()
	for name, err := range map[string]error{"no struct": none, "sizes": sizes, "hashes": hashes} {
		if !errors.Is(err, ErrColumn) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
