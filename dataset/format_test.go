package dataset

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/internal/tokens"
)

// readAll is all rows of a text, each column as "name=values", joined by blanks; and the first error.
func readAll(format Format, text string) ([]string, error) {
	var out []string
	for batch, err := range FromReader(strings.NewReader(text), "text", format).MayBeEmpty().Batches(1) {
		if err != nil {
			return out, err
		}
		columns, _ := format.Columns()
		var row []string
		for _, c := range columns {
			row = append(row, fmt.Sprintf("%s=%v", c.Name, batch[c.Name].Data()))
		}
		out = append(out, strings.Join(row, " "))
	}
	return out, nil
}

// criteoLine is a line with these counts, tokens and label; what isn't given is empty.
func criteoLine(label string, counts []string, tokens []string) string {
	fields := make([]string, 1+criteoCounts+criteoTokens)
	fields[0] = label
	copy(fields[1:], counts)
	copy(fields[1+criteoCounts:], tokens)
	return strings.Join(fields, "\t") + "\n"
}

func TestCriteo(t *testing.T) {
	text := criteoLine("1", []string{"10", "-3", "", "25", "128000"}, []string{"68fd1e64", "80e26c9b"})
	for _, c := range []struct {
		name   string
		format Criteo
		dense  []float32
	}{
		{"min max", Criteo{}, []float32{0.5, 0, 0, 0.5, 2}},
		{"log", Criteo{Dense: Log1p}, []float32{2.3978953, 0, 0, 3.2580965, 11.759793}},
	} {
		batches := 0
		for batch, err := range FromReader(strings.NewReader(text), "text", c.format).Batches(4) {
			law.Check(t, err)
			batches++
			want := append(c.dense, make([]float32, criteoCounts-len(c.dense))...)
			if diff := cmp.Diff(want, batch["dense_input"].Data()); diff != "" {
				t.Errorf("%s: %s", c.name, diff)
			}
			ids := batch["C"].Data().([]int64)
			// As zlib.crc32(b"0:68fd1e64") % 1000001 and so on; a missing token is the text "25:".
			if ids[0] != 296067 || ids[1] != 468837 || ids[25] != 809677 {
				t.Errorf("%s: ids %v", c.name, ids)
			}
			if y := batch["label"].Data(); !cmp.Equal(y, []float32{1}) {
				t.Errorf("%s: label %v", c.name, y)
			}
		}
		if batches != 1 {
			t.Errorf("%s: %d batches", c.name, batches)
		}
	}
}

func TestHashID(t *testing.T) {
	for _, c := range []struct {
		field, token string
		height, want int64
	}{
		{"0", "68fd1e64", 1_000_001, 296067},
		{"25", "49d68486", 1_000_001, 349219},
		{"25", "", 1_000_001, 809677},
		{"25", "49d68486", 1, 0},
	} {
		if got := HashID(c.field, c.token, c.height); got != c.want {
			t.Errorf("HashID(%q, %q, %d) = %d, want %d", c.field, c.token, c.height, got, c.want)
		}
	}
}

// TestHashesInParts: what parsers make of a token is its HashID, whatever its length and the height.
func TestHashesInParts(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	heights := []int64{1, 2, 3, 10, 1000, 1 << 20, criteoHeight, 1<<31 - 1, 1<<32 - 1, 1 << 32, 1<<32 + 1, 1 << 40, math.MaxInt64}
	for n := range 2000 {
		token := make([]byte, n%40)
		for i := range token {
			token[i] = byte(random.Uint32())
		}
		height := heights[n%len(heights)]
		if n >= 1000 {
			height = 1 + random.Int64N(1<<32)
		}
		h := tokens.NewHasher("field", height)
		if got, want := h.ID(token), HashID("field", string(token), height); got != want {
			t.Fatalf("%q below %d is %d, want %d", token, height, got, want)
		}
	}
}

// two slots of two ids, one varying, a label.
var (
	someSlots = []SlotColumn{
		{Column: Ints("pair", 2), Slots: []string{"a", "b"}},
		{Column: Floats("xs", 3)},
		{Column: Varying(Ints("many"))},
	}
	someCSV = CSV{Fields: []string{"name", "x", "skipped", "n"}, NA: "NA", Schema: []CSVColumn{
		{Column: Floats("x"), Missing: "-1.5"},
		{Column: Ints("n")},
		{Column: Ints("name", 2), Fields: []string{"name", "skipped"}, Hash: 1000},
	}}
)

var someJSON = JSONLines{NAs: []string{"?"}, Missing: "8", Schema: []CSVColumn{
	{Column: Floats("xy", 2), Fields: []string{"x"}, Missing: "-1"}, {Column: Floats("y")}, {Column: Varying(Ints("n"))}, {Column: IDs("who"), Hash: 1000},
}}

// who is the end of a row of someJSON.
func who(text string) string { return fmt.Sprintf("who=[%d]", HashID("who", text, 1000)) }

func TestFormats(t *testing.T) {
	for _, c := range []struct {
		name   string
		format Format
		text   string
		want   []string
	}{
		{"slot text", SlotText{Slots: someSlots}, "a:1 b:2 xs:0.5 xs:1 xs:-2e3 many:7 many:8\nmany:9 xs:1 other:z xs:2\txs:3  b:4 a:3\n",
			[]string{"pair=[1 2] xs=[0.5 1 -2000] many=[7 8]", "pair=[3 4] xs=[1 2 3] many=[9]"}},
		{"padded", SlotText{Slots: someSlots, Pad: true}, "b:2 xs:0.5\n", []string{"pair=[0 2] xs=[0.5 0 0] many=[0]"}},
		{"multi-slot", MultiSlot{Slots: someSlots}, "1 4 1 5 3 1 2 3 2 7 8\n1 -4 1 +5  3 1 .5 3. 1 9223372036854775807 \r\n",
			[]string{"pair=[4 5] xs=[1 2 3] many=[7 8]", "pair=[-4 5] xs=[1 0.5 3] many=[9223372036854775807]"}},
		{"multi-slot in order", MultiSlot{Order: []string{"many", "?", "b", "a", "xs"}, Slots: someSlots}, "2 7 8 1 0.001 1 5 1 4 3 1 2 3",
			[]string{"pair=[4 5] xs=[1 2 3] many=[7 8]"}},
		{"csv", someCSV, "\n\nann,1,z,2\r\n\"a,\"\"n\",NA,,-3\n,,,4",
			[]string{"x=[1] n=[2] " + names("ann", "z"), "x=[-1.5] n=[-3] " + names(`a,"n`, ""), "x=[-1.5] n=[4] " + names("", "")}},
		{"csv with a header", CSV{Schema: []CSVColumn{{Column: Floats("y")}, {Column: Ints("x")}}}, "\xef\xbb\xbfx,\"y\",z\n1,2,3\n",
			[]string{"y=[2] x=[1]"}},
		{"tsv", CSV{Comma: '\t', Fields: []string{"a", "b"}, Schema: []CSVColumn{{Column: Floats("ab", 2), Fields: []string{"b", "a"}}}}, "1\t2\n",
			[]string{"ab=[2 1]"}},
		{"json", someJSON, `{"x": [1, "2.5"], "Y":true, "n":[[3],[null, "", -4]], "other":{"x":[9]}, "who":"a\"\u00e9\\"}` + "\r\n" + ` {"who":17,"x":["?",2],"x":[7,"?"],"n":[1]}` + "\n" + `{"y":"?","x":null,"who":false,"n":5}`,
			[]string{"xy=[1 2.5] y=[1] n=[3 -4] " + who("a\"é\\"), "xy=[7 -1] y=[8] n=[1] " + who("17"), "xy=[-1 -1] y=[8] n=[5] " + who("false")}},
		{"libsvm", LibSVM{Features: 3}, "# made by hand\n \t# indented\n  \n-1 3:0.5 1:2e1 # 2:7\n+1\n2.5  qid:8\t2:1", []string{"x=[20 0 0.5] label=[-1]", "x=[0 0 0] label=[1]", "x=[0 1 0] label=[2.5]"}},
		{"libsvm from 0", LibSVM{Features: 3, ZeroBased: true, Binary: true}, "-1 2:0.5 0:1\n0 1:3\n1 1:4", []string{"x=[1 0 0.5] label=[0]", "x=[0 3 0] label=[0]", "x=[0 4 0] label=[1]"}},
		{"libsvm of groups", LibSVM{Features: 3, Groups: true}, "1 qid:-7 3:1\n0 3:2 qid:9223372036854775807 # of no other", []string{"x=[0 0 1] label=[1] qid=[-7]", "x=[0 0 2] label=[0] qid=[9223372036854775807]"}},
		{"libsvm of groups and any index", LibSVM{Groups: true}, "1 qid:7 3:1", []string{"ids=[3] values=[1] label=[1] qid=[7]"}},
		{"libsvm of any index", LibSVM{}, "1 900000000000:0.5 0:1\n0 7:3", []string{"ids=[900000000000 0] values=[0.5 1] label=[1]", "ids=[7] values=[3] label=[0]"}},
		{"a header alone", CSV{Schema: []CSVColumn{{Column: Floats("y")}}}, "y\n", nil},
		{"nothing", CSV{Schema: []CSVColumn{{Column: Floats("y")}}}, "", nil},
	} {
		got, err := readAll(c.format, c.text)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func names(name, skipped string) string {
	return fmt.Sprintf("name=[%d %d]", HashID("name", name, 1000), HashID("skipped", skipped, 1000))
}

// What is wrong with a line is told with its place, what was wanted and what stood there.
func TestBadLines(t *testing.T) {
	good := criteoLine("0", nil, nil)
	for _, c := range []struct {
		name   string
		format Format
		text   string
		want   string
	}{
		{"criteo label", Criteo{}, good + good + criteoLine("2", nil, nil), `text:3: field label: want 0 or 1, got "2"`},
		{"criteo no label", Criteo{}, criteoLine("", nil, nil), `text:1: field label: want 0 or 1, got ""`},
		{"criteo count", Criteo{}, good + "\n" + criteoLine("1", []string{"1", "2", "x"}, nil), `text:3: field I3: want a number, or nothing, got "x"`},
		{"criteo fields", Criteo{}, "1\t2\n", `text:1: field count: want 40 fields between tabs, got 2`},
		{"criteo not a number", Criteo{}, criteoLine("1", []string{"NaN"}, nil), `field I1: want a number, or nothing, got "NaN"`},
		{"slot pair", SlotText{Slots: someSlots}, "a:1 b2", `text:1: field of slots: want slot:value, got "b2"`},
		{"slot no name", SlotText{Slots: someSlots}, "a:1 :2", `want slot:value, got ":2"`},
		{"slot value", SlotText{Slots: someSlots}, "a:1.5", `field a: want an integer, got "1.5"`},
		{"slot float", SlotText{Slots: someSlots}, "xs:", `field xs: want a number, got ""`},
		{"slot missing", SlotText{Slots: someSlots}, "a:1", `field b: want 1 values, got 0`},
		{"slot too few", SlotText{Slots: someSlots}, "a:1 b:2 xs:1 xs:2", `field xs: want 3 values, got 2`},
		{"slot too many", SlotText{Slots: someSlots, Pad: true}, "a:1 a:2", `field a: want 1 values, not more, got 2`},
		{"slot empty", SlotText{Slots: someSlots}, "a:1 b:2 xs:1 xs:2 xs:3", `field many: want 1 values, got 0`},
		{"multi-slot count", MultiSlot{Slots: someSlots}, "x", `field a: want the number of its values, 1 or more (pad an empty slot), got "x"`},
		{"multi-slot zero", MultiSlot{Slots: someSlots}, "1 4 0", `field b: want the number of its values, 1 or more (pad an empty slot), got "0"`},
		{"multi-slot end", MultiSlot{Slots: someSlots}, "1 4", `field b: want the number of its values, 1 or more (pad an empty slot), got ""`},
		{"multi-slot values", MultiSlot{Slots: someSlots}, "1 4 1 5 3 1 2", `field xs: want 3 values, got 2`},
		{"multi-slot width", MultiSlot{Slots: someSlots}, "1 4 1 5 2 1 2 1 7", `field xs: want 3 values, got 2`},
		{"multi-slot huge", MultiSlot{Slots: someSlots}, "9223372036854775807 1 2", `field a: want 1 values, not more, got 2`},
		{"multi-slot cut off", MultiSlot{Slots: someSlots}, "9223372036854775807 1", `field a: want 9223372036854775807 values, got 1`},
		{"multi-slot rest", MultiSlot{Slots: someSlots}, "1 4 1 5 3 1 2 3 1 7 8", `field after the last: want the end of the line after 4 slots, got "8"`},
		{"json broken", someJSON, `{"x":[1,2]`, `field of the line: want a JSON object (unexpected end of JSON input), got "{\"x\":[1,2]"`},
		{"json array", someJSON, `[1,2]`, `field of the line: want a JSON object, got "[1,2]"`},
		{"json object", someJSON, `{"x":{"a":1}}`, `field x: want a number, a text, or an array of them, got "{\"a\":1}"`},
		{"json few", someJSON, `{"x":[1]}`, `field x: want 2 values, got 1`},
		{"json many", someJSON, `{"x":[1,2,3]}`, `field x: want 2 values, not more, got 3`},
		{"json none", someJSON, `{"x":[]}`, `field x: want 2 values, got 0`},
		{"json text", someJSON, `{"x":[1,"two"]}`, `field x: want a number, got "two"`},
		{"json fraction", someJSON, `{"n":1.5}`, `field n: want an integer, got "1.5"`},
		{"json missing", JSONLines{Schema: []CSVColumn{{Column: Floats("x")}}}, `{}`,
			`text:1: field x: want a number, or a Missing of its column to take for one, got nothing: the line has no such field`},
		{"json null", JSONLines{Schema: []CSVColumn{{Column: Floats("x", 2), Fields: []string{"x"}}}}, `{"x":[1,null]}`,
			`field x: want a number, or a Missing of its column to take for one, got null`},
		{"json no text", JSONLines{Schema: []CSVColumn{{Column: Floats("x")}}}, `{"x":""}`, `field x: want a number, or a Missing of its column to take for one, got ""`},
		{"json of Python", someJSON, `{"carrier":"a name that is long enough to fill a quote","x":[1,NaN],"who":"another that is not short"}`,
			`looking for beginning of value; JSON has no NaN and no Infinity: write null, a missing value), ` +
				`got …"ill a quote\",\"x\":[1,NaN],\"who\":\"another "… (bytes 44 to 83 of 102)`},
		{"json infinite", someJSON, `{"x":[-Infinity,1]}`, `write null, a missing value), got "{\"x\":[-Infinity,1]}"`},
		{"libsvm label", LibSVM{}, `x 1:2`, `field label: want a number, got "x"`},
		{"libsvm class", LibSVM{Binary: true}, `2 1:2`, `field label: want -1, 0 or 1, got "2"`},
		{"libsvm without a group", LibSVM{Groups: true}, `1 1:1`, `field qid: want qid:N, the group of the row, got ""`},
		{"libsvm group", LibSVM{Groups: true}, `1 qid:x 1:1`, `field qid: want an integer, got "x"`},
		{"libsvm pair", LibSVM{}, `1 1`, `field of features: want index:value, got "1"`},
		{"libsvm negative", LibSVM{}, `1 -1:2`, `field of features: want index:value, got "-1:2"`},
		{"libsvm value", LibSVM{}, `1 3:x`, `field 3: want a number, got "x"`},
		{"libsvm index", LibSVM{Features: 3}, `1 4:1`, `field of features: want an index from 1 to 3, got "4"`},
		{"libsvm index 0", LibSVM{Features: 3}, `1 0:1`, `field of features: want an index from 1 to 3, got "0"`},
		{"libsvm index above", LibSVM{Features: 3, ZeroBased: true}, `1 3:1`, `field of features: want an index from 0 to 2, got "3"`},
		{"csv range", someCSV, "ann,-1e39,z,2", `field x: want a number in the range of float32, at most 3.4028235e+38 in size, got "-1e39"`},
		{"csv hexadecimal", someCSV, "ann,0x1p999,z,2", `field x: want a number, got "0x1p999"`},
		{"slot range", SlotText{Slots: someSlots}, "xs:340282356779733661637539395458142568448", `field xs: want a number in the range of float32`},
		{"multi-slot range", MultiSlot{Slots: someSlots}, "1 9223372036854775808", `field a: want an integer in the range of int64`},
		{"json range", someJSON, `{"x":[1,1e39]}`, `field x: want a number in the range of float32`},
		{"json integer range", someJSON, `{"n":-9223372036854775809}`, `field n: want an integer in the range of int64`},
		{"criteo range", Criteo{}, criteoLine("1", []string{"1e39"}, nil), `field I1: want a number in the range of float32, at most 3.4028235e+38 in size, or nothing, got "1e39"`},
		{"libsvm label range", LibSVM{}, `1e39 1:2`, `field label: want a number in the range of float32`},
		{"libsvm range", LibSVM{}, `1 3:-1e39`, `field 3: want a number in the range of float32`},
		{"libsvm index range", LibSVM{}, `1 9223372036854775808:1`, `field of features: want an index in the range of int64, up to 9223372036854775807, got "9223372036854775808"`},
		{"libsvm no index", LibSVM{}, `1 :1`, `field of features: want index:value, got ":1"`},
		{"scaled far", JSONLines{Schema: []CSVColumn{{Column: Floats("x"), Scale: []Scaling{{Std: 1e-30}}}}}, `{"x":-1e9}`,
			`field x: want a number that its Scale leaves in the range of float32, got "-1e9"`},
		{"csv number", someCSV, "ann,one,z,2", `field x: want a number, got "one"`},
		{"csv missing", someCSV, "ann,1,z,NA", `field n: want an integer, or a Missing of its column to take for one, got "NA"`},
		{"csv fields", someCSV, "ann,1,z", `field count: want 4 fields, got 3`},
		{"csv quote", someCSV, `ann,"1,z,2`, `field 2: want a closing quote on the same line, got "1,z,2" (Multiline reads texts of several lines)`},
		{"csv after quote", someCSV, `ann,"1"x,z,2`, `field 2: want the separator after a closing quote, got "x,z,2"`},
		{"csv header", CSV{Schema: []CSVColumn{{Column: Floats("y")}}}, "a,b\n", `text:1: field "y": want a field of that name, got only ["a" "b"]`},
		{"csv thousands", someCSV, `ann,"1,234.50",z,2`, `field x: want a number, got "1,234.50" (write 1234.5 for $1,234.50, 1.234,5 or 1 234.5)`},
		{"csv comma", someCSV, `ann,"3,14",z,2`, `got "3,14" (write 1234.5 for`},
		{"csv currency", someCSV, "ann,$5,z,2", `got "$5" (write 1234.5 for`},
		{"csv percent", someCSV, "ann,12%,z,2", `got "12%" (write 0.12 for 12%)`},
		{"csv yes", someCSV, "ann,1,z,yes", `field n: want an integer, got "yes" (Values makes numbers of texts, and Hash ids)`},
		{"csv false", someCSV, "ann,FALSE,z,2", `got "FALSE" (Values makes numbers of texts`},
		{"csv coded", someCSV, "ann,0x21,z,2", `got "0x21" (write 33 for 0x21 and 1000 for 1_000)`},
		{"csv underscore", someCSV, "ann,1_000,z,2", `got "1_000" (write 33 for 0x21`},
		{"csv dash", someCSV, "ann,-,z,2", `got "-" (if it means a missing value: NAs names it, and Missing has its number)`},
		{"csv question", someCSV, "ann,1,z,?", `got "?" (if it means a missing value`},
		{"csv date", someCSV, "ann,19.01.2021,z,2", `got "19.01.2021" (a date: Derived makes numbers of it, with Layout "02.01.2006")`},
		{"csv range", someCSV, "ann,1e400,z,2", `at most 3.4028235e+38 in size, got "1e400"END`},
		{"csv fraction", someCSV, "ann,1,z,1.5", `want an integer, got "1.5"END`},
		{"csv comment", someCSV, "# by hand", `want 4 fields, got 1 (a comment? CSV.Comment passes over lines that begin with it)`},
		{"csv comment above", CSV{Schema: someCSV.Schema}, "# by hand\n", `(a comment? CSV.Comment passes over lines that begin with it)`},
		{"csv of JSON", CSV{Schema: someCSV.Schema}, `{"who":"ann","x":1,"w":"z","n":2}` + "\n", `(lines of JSON: JSONLines reads them)`},
		{"csv of JSON, indented", CSV{Schema: someCSV.Schema}, `[{"who":"ann","x":1,"w":"z","n":2},` + strings.Repeat(`{"who":"ben","x":1,"w":"z","n":2},`, 9) + "\n",
			`(an array of JSON? JSONLines reads objects, each on a line of its own)`},
		{"csv cut off", someCSV, "ann,1", `want 4 fields, got 2 (is the file cut off, or the line no row? Files.SkipBad passes over some)`},
		{"csv ended", someCSV, "ann,1,z,2,", `want 4 fields, got 5 (a separator ends the line: `},
		{"csv within", someCSV, "'ann, maria',1,z,2", `want 4 fields, got 5 (a separator within a text? Texts that have one stand in double quotes`},
		{"csv of HTML", CSV{Schema: someCSV.Schema}, "<!DOCTYPE html>\n", `(a page of HTML? Look at what was downloaded)`},
		{"csv of sep", CSV{Schema: someCSV.Schema}, "sep=,\n", `(a spreadsheet's own line: remove it)`},
		{"csv of many fields", CSV{Schema: someCSV.Schema}, strings.Repeat("a,", 100) + "b\n", `got only [` + strings.Repeat(`"a" `, 99) + `"a"END`},
		{"csv of one line", CSV{Schema: someCSV.Schema}, "w,x,n\rann,1,2\r", `(lines that end with \r alone: write \n`},
		{"csv long", someCSV, "ann," + strings.Repeat("y", 50) + ",z,2", `got "` + strings.Repeat("y", 40) + `"… (50 bytes)`},
	} {
		_, err := readAll(c.format, c.text)
		if err == nil || !strings.Contains(err.Error()+"END", c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
		if !errors.Is(err, ErrBadLine) || !strings.HasPrefix(err.Error(), "dataset: ") {
			t.Errorf("%s: %q is no ErrBadLine of this package", c.name, err)
		}
	}
}

func TestWrongFormats(t *testing.T) {
	for name, c := range map[string]struct {
		format Format
		want   error
	}{
		"criteo height":     {Criteo{Height: -1}, ErrOption},
		"criteo wide":       {Criteo{Height: 1<<32 + 1}, ErrOption},
		"csv wide hash":     {CSV{Schema: []CSVColumn{{Column: Ints("a"), Hash: 1<<32 + 1}}}, ErrColumn},
		"json wide hash":    {JSONLines{Schema: []CSVColumn{{Column: IDs("a"), Hash: 1<<32 + 1}}}, ErrColumn},
		"criteo dense":      {Criteo{Dense: 2}, ErrOption},
		"no slots":          {SlotText{}, ErrColumn},
		"slot twice":        {SlotText{Slots: []SlotColumn{{Column: Ints("a")}, {Column: Ints("b"), Slots: []string{"a"}}}}, ErrColumn},
		"uneven share":      {SlotText{Slots: []SlotColumn{{Column: Ints("a", 3), Slots: []string{"x", "y"}}}}, ErrColumn},
		"empty share":       {SlotText{Slots: []SlotColumn{{Column: Ints("a", 3), Slots: []string{}}}}, ErrColumn},
		"varying share":     {MultiSlot{Slots: []SlotColumn{{Column: Varying(Ints("a")), Slots: []string{"x", "y"}}}}, ErrColumn},
		"not in order":      {MultiSlot{Order: []string{"b"}, Slots: []SlotColumn{{Column: Ints("a")}}}, ErrOption},
		"json fields":       {JSONLines{Schema: []CSVColumn{{Column: Ints("a", 3), Fields: []string{"a", "b"}}}}, ErrColumn},
		"json varying":      {JSONLines{Schema: []CSVColumn{{Column: Varying(Ints("a")), Fields: []string{"a", "b"}}}}, ErrColumn},
		"json hashed float": {JSONLines{Schema: []CSVColumn{{Column: Floats("a"), Hash: 5}}}, ErrColumn},
		"json missing":      {JSONLines{Missing: "x", Schema: []CSVColumn{{Column: Floats("a")}}}, ErrColumn},
		"libsvm features":   {LibSVM{Features: -1}, ErrOption},
		"libsvm zero based": {LibSVM{ZeroBased: true}, ErrOption},
		"no schema":         {CSV{}, ErrColumn},
		"comma":             {CSV{Comma: '"', Schema: []CSVColumn{{Column: Ints("a")}}}, ErrOption},
		"csv width":         {CSV{Schema: []CSVColumn{{Column: Ints("a", 2)}}}, ErrColumn},
		"csv varying":       {CSV{Schema: []CSVColumn{{Column: Varying(Ints("a"))}}}, ErrColumn},
		"csv hashed float":  {CSV{Schema: []CSVColumn{{Column: Floats("a"), Hash: 5}}}, ErrColumn},
		"csv negative hash": {CSV{Schema: []CSVColumn{{Column: Ints("a"), Hash: -5}}}, ErrColumn},
		"csv unknown field": {CSV{Fields: []string{"b"}, Schema: []CSVColumn{{Column: Ints("a")}}}, ErrColumn},
		"csv missing":       {CSV{Schema: []CSVColumn{{Column: Ints("a"), Missing: "1.5"}}}, ErrColumn},
		"csv type":          {CSV{Schema: []CSVColumn{{Column: Column{Name: "a"}}}}, ErrColumn},
	} {
		if _, err := c.format.NewParser(); !errors.Is(err, c.want) {
			t.Errorf("%s: NewParser gave %v", name, err)
		}
		d := FromFiles(c.format, "nowhere")
		if !errors.Is(d.Err(), c.want) {
			t.Errorf("%s: the dataset's error is %v", name, d.Err())
		}
	}
}

// careless is a program's own format, whose parser does not look at how many fields a line has.
type careless struct{}

func (careless) Columns() ([]Column, error)   { return []Column{Floats("x", 2)}, nil }
func (c careless) NewParser() (Parser, error) { return c, nil }
func (careless) Linewise() bool               { return true }
func (careless) ParseLine(b []byte, r Row) error {
	for i, field := range strings.Fields(string(b)) {
		r.Floats(0)[i] = float32(len(field))
	}
	return nil
}

// TestAParserPanics: the panic of a program's own parser is an error that names the line, and the line of the parser, in a pass, in a load by several
// goroutines, and of a request.
func TestAParserPanics(t *testing.T) {
	const text, want = "a bb\nc d e\nf g\n", ":2: the parser dataset.careless panicked: runtime error: index out of range [2] with length 2"
	file := filepath.Join(t.TempDir(), "rows")
	law.Check(t, os.WriteFile(file, []byte(text), 0o600))
	_, passed := readAll(careless{}, text)
	_, loaded := FromFiles(careless{}, file).Load(t.Context())
	d, err := NewDecoder(careless{})
	law.Check(t, err)
	_, asked := d.Decode([]byte(text))
	for what, err := range map[string]error{"a pass": passed, "a load": loaded, "a request": asked} {
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "careless.ParseLine, format_test.go:") {
			t.Errorf("%s: %v does not say %q", what, err, want)
		}
	}
	if b, err := d.Decode([]byte("a bb\n")); err != nil || b["x"].Float32s()[1] != 2 {
		t.Errorf("the next request: %v, %v", b, err)
	}
}
