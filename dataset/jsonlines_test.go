package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// slowJSON reads lines with package encoding/json alone: names as a struct's fields have them, values as it decodes them.
type slowJSON struct {
	JSONLines
	missing texts
}

func (f slowJSON) NewParser() (Parser, error) {
	f.missing = newTexts(f.NAs, "")
	return f, nil
}

func (f slowJSON) ParseLine(line []byte, row Row) error {
	if line = bytes.TrimLeft(line, " \t"); len(line) == 0 || line[0] != '{' {
		return badField("of the line", "a JSON object", line)
	}
	texts, err := f.fieldsOf(line)
	if err != nil {
		return badJSON(line, err)
	}
	for column, c := range f.Schema {
		c = c.filled(f.Missing)
		share := c.Width() / len(c.fields())
		for i, name := range c.fields() {
			u := c.use(name, 0, column, i*share)
			if err := f.set(&u, share, row, texts[name]); err != nil {
				return err
			}
		}
	}
	return nil
}

// fieldsOf are the fields of the schema as they stand in a line: those of their name and, where there is none, by package encoding/json's rules.
func (f slowJSON) fieldsOf(line []byte) (map[string][]byte, error) {
	var members []reflect.StructField
	var names []string
	for _, c := range f.Schema {
		for _, name := range c.fields() {
			members = append(members, reflect.StructField{Name: fmt.Sprintf("F%d", len(names)), Type: reflect.TypeFor[json.RawMessage](),
				Tag: reflect.StructTag(fmt.Sprintf("json:%q", name))})
			names = append(names, name)
		}
	}
	object := reflect.New(reflect.StructOf(members))
	var exact map[string]json.RawMessage
	if err := json.Unmarshal(line, object.Interface()); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(line, &exact); err != nil {
		return nil, err
	}
	texts := map[string][]byte{}
	for i, name := range names {
		texts[name] = object.Elem().Field(i).Bytes()
		if text, ok := exact[name]; ok {
			texts[name] = text
		}
	}
	return texts, nil
}

// set sets the share of a row's values that a field has; a share of 0 is any number.
func (f slowJSON) set(u *fieldUse, share int, row Row, text []byte) error {
	values := make([]json.RawMessage, share)
	if len(text) > 0 && string(text) != "null" {
		var err error
		if values, err = flatten(nil, text); err != nil {
			return badField(u.name, "a number, a text, or an array of them", []byte(err.Error()))
		}
	}
	n := 0
	for _, value := range values {
		quoted := bytes.HasPrefix(value, []byte{'"'})
		if bytes.IndexByte(value, '\\') >= 0 {
			var s string
			if err := json.Unmarshal(value, &s); err != nil {
				return err
			}
			value = json.RawMessage(`"` + s + `"`)
		}
		if quoted {
			value = value[1 : len(value)-1]
		} else if u.hash.Height == 0 {
			value = []byte(strings.NewReplacer("true", "1", "false", "0").Replace(string(value)))
		}
		missing := f.missing.has(value) || !quoted && string(value) == "null"
		at := u.at + n
		if share == 0 {
			if at = appended; missing {
				continue
			}
		} else if n == share {
			return badCount(u.name, share, n+1, "values, not more")
		}
		if err := u.setAt(row, at, value, missing); err != nil {
			return err
		}
		n++
	}
	if share > 0 && n != share {
		return badCount(u.name, share, n, "values")
	}
	return nil
}

// flatten appends the values in arrays of whatever depth.
func flatten(to []json.RawMessage, text []byte) ([]json.RawMessage, error) {
	if text[0] == '{' {
		return nil, errors.New(string(text))
	}
	if text[0] != '[' {
		return append(to, text), nil
	}
	var list []json.RawMessage
	err := json.Unmarshal(text, &list)
	for i := 0; err == nil && i < len(list); i++ {
		to, err = flatten(to, list[i])
	}
	return to, err
}

// jsonSchema has names that differ in case, names that are no ASCII, and every kind of column.
func jsonSchema() JSONLines {
	return JSONLines{NAs: []string{"?", "1e1"}, Missing: "8", Schema: []CSVColumn{
		{Column: Floats("xy", 2), Fields: []string{"x"}, Missing: "-1", Scale: []Scaling{{Mean: 1}, {Std: 2}}}, {Column: Floats("y")},
		{Column: Varying(Ints("n"))}, {Column: Varying(IDs("ids")), Fields: []string{"k"}}, {Column: Ints("who"), Hash: 1 << 32},
		{Column: Varying(Ints("words")), Fields: []string{"X"}, Hash: 1 << 32}, {Column: Ints("é"), Hash: 1 << 32},
	}}
}

var jsonTexts = []string{
	`{"x": [1, "2.5"], "Y":true, "n":[[3],[null, "", -4]], "who":"a\"\u00e9\\","k":18446744073709551615}`,
	`{"X":[1,2],"x":[3,4],"\u0078":[5,6],"É":"\ud83d\ude00\ud83d","WHO":1e5,"\u212A":7}`, `{"y":"\u0031","y":null,"n":[],"X":["a","é"]} `,
	"{\"who\":\"\xff\",\"\xff\":1,\"\xe9\":2}", `{"é":"\/\b\f\n\r\t\u0000"}`, `{"x":[[],[[1]],2,"?"],"y":1e1,"n":"1e1"}`,
	`{"x":01}`, `{"x":1.}`, `{"x":.5}`, `{"x":-}`, `{"x":+1}`, `{"x":1e}`, `{"x":0x1}`, `{"x":NaN}`, `{"x":-0.0e-0}`, `{"x":1}x`, `{"x":1}{}`,
	"{\"x\":\"\t\"}", "{\"x\":\"\x00\"}", `{"x":"\x"}`, `{"x":"\u12g4"}`, `{"x":"\u+123"}`, `{"x":"\`, `{"x":"`, `{"x`, `{"x":`, `{"x":1`, `{"x":1,`,
	`{,}`, `{"x":1,}`, `{x:1}`, `{"x" 1}`, `{"x":[1,]}`, `{"x":[,1]}`, `{"x":[1 2]}`, `{"x":{"x":1,}}`, `{"other":{"x":[{}]}}`, `{"x":tru}`, `{"x":nulll}`,
	`{"x":[1,2,3]}`, `{"y":[1,2]}`, `{"y":[]}`, `{"y":{}}`, `{"y":[{"x":1}]}`, `{"n":1.5}`, "{\"x\"\r:\v1}", " \t{ \"y\"\t: 1\r, \"x\" :null } \r", `{"x":1}` + "\x00",
	`{"other":` + strings.Repeat("[", 9999) + strings.Repeat("]", 9999) + `}`, `{"other":` + strings.Repeat("[", 10000) + strings.Repeat("]", 10000) + `}`,
	`{"a":` + strings.Repeat(`{"":[`, 5000) + strings.Repeat("]}", 5000) + `}`, `[{"x":1}]`, `{}`, `{"x":1,"X":2}`, `{"X":2,"x":1}`, `{"x":"` + strings.Repeat("1", 100) + `"}`,
}

// TestJSONLinesAsEncodingJSON: lines are rows, or are refused, as package encoding/json has it, with the same message, also behind lines with
// other names in another order.
//
// Promise: [G13] lines of JSON are rows, or are refused, as package encoding/json reads them
// Also: FuzzJSONLinesAsEncodingJSON
func TestJSONLinesAsEncodingJSON(t *testing.T) {
	fast, err := jsonSchema().NewParser()
	law.Check(t, err)
	for _, text := range append(jsonTexts, jsonTexts...) {
		sameJSON(t, fast, text)
	}
}

// FuzzJSONLinesAsEncodingJSON is that of any text, behind a line that is as long as it.
func FuzzJSONLinesAsEncodingJSON(f *testing.F) {
	for i, text := range jsonTexts {
		f.Add(jsonTexts[i/2], text)
	}
	f.Fuzz(func(t *testing.T, before, text string) {
		fast, err := jsonSchema().NewParser()
		law.Check(t, err)
		sameJSON(t, fast, before)
		sameJSON(t, fast, text)
	})
}

func sameJSON(t *testing.T, fast Parser, line string) {
	t.Helper()
	columns, err := jsonSchema().Columns()
	law.Check(t, err)
	slow, _ := slowJSON{JSONLines: jsonSchema()}.NewParser()
	var rows [2]string
	var errs [2]error
	for i, p := range []Parser{fast, slow} {
		table := newTable(columns)
		errs[i] = table.Add(func(row Row) error { return p.ParseLine([]byte(line), row) })
		for c := range columns {
			rows[i] += fmt.Sprint(table.Floats(c), table.Ints(c), table.IDs(c))
		}
	}
	if fmt.Sprint(errs[0]) != fmt.Sprint(errs[1]) || rows[0] != rows[1] {
		t.Errorf("%.200q:\n%s, %v\nencoding/json: %s, %v", line, rows[0], errs[0], rows[1], errs[1])
	}
}

// TestJSONNames: a field may have any name, and one that differs in case counts only in lines without the field's own.
func TestJSONNames(t *testing.T) {
	var fields, pairs []string
	for _, name := range []string{"", "-", "a,b", "a,omitempty", `"quoted"`, `back\slash`, "price (€)", "`", "'", "\x00", "日本"} {
		quoted, err := json.Marshal(name)
		law.Check(t, err)
		fields = append(fields, name)
		pairs = append(pairs, fmt.Sprintf("%s:%d", quoted, len(pairs)))
	}
	f := JSONLines{Schema: []CSVColumn{{Column: Floats("x", len(fields)), Fields: fields}}}
	rows, err := FromReader(strings.NewReader("{"+strings.Join(pairs, ",")+"}\n"), "text", f).Table(t.Context())
	law.Check(t, err)
	for i, x := range rows.Floats(0) {
		if x != float32(i) {
			t.Errorf("%q is %v", fields[i], x)
		}
	}
	lines := `{"Id":1,"id":3}` + "\n" + `{"id":3,"Id":1}` + "\n" + `{"id":3,"ID":4}` + "\n"
	rows, err = FromReader(strings.NewReader(lines), "text", JSONLines{Schema: []CSVColumn{{Column: Ints("Id")}}}).Table(t.Context())
	if got := fmt.Sprint(rows.Ints(0)); err != nil || got != "[1 1 4]" {
		t.Errorf("Id is %s, %v, want [1 1 4]", got, err)
	}
}
