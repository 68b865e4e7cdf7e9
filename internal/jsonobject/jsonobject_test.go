package jsonobject

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// texts are good JSON and bad.
var texts = []string{
	`{"a":1,"b":[1,{"a":2}],"a":"x\ud83d\ude00\ud83d\n"}`, `{"B" : null , "A":true,"\u0061":false}`, "{\"\xff\":\"\xff\"}", "\t{ }\r\n", `{"a":-0.5e+10}`,
	`{"a":01}`, `{"a":1}}`, `{"a":1,}`, "{\"a\":\"\x1f\"}", `{"a":"\u00"}`, `null`, `[1]`, ``, `{"a":"12345678` + "\x01" + `"}`, `{"12345678":"12345678\"", "1234567":"1234567\\"}`,
}

// FuzzRead: a text is an object where package encoding/json reads one, with the same members, of which those by name are the last, and refused
// with the same message where it is none.
//
// Promise: [G7] no JSON panics its reader, or makes it allocate more than its bound
func FuzzRead(f *testing.F) {
	for _, text := range texts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		wanted := []string{"a", "b", "", "\ufffd", "12345678"}
		r := NewReader(wanted, false)
		for range 2 { // the second time all names are known
			err := r.Read([]byte(text))
			var object map[string]json.RawMessage
			wantErr := json.Unmarshal([]byte(text), &object)
			if wantErr == nil && object == nil {
				wantErr = fmt.Errorf("null is not an object") // but null
			}
			if fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Fatalf("%q: %v, want %v", text, err, wantErr)
			}
			if err != nil {
				return
			}
			for i, name := range wanted {
				sameValue(t, r.Value(i), object[name])
				delete(object, name)
			}
			name, v := r.Other()
			if v.Kind == Absent != (len(object) == 0) {
				t.Fatalf("%q: the first other is %q, want one of %v", text, name, object)
			}
			if _, ok := object[string(Unescape(nil, name))]; v.Kind != Absent && !ok {
				t.Fatalf("%q: there is no member %q", text, name)
			}
		}
	})
}

// sameValue says whether a value stands for what its text does.
func sameValue(t *testing.T, v Value, text json.RawMessage) {
	t.Helper()
	want := map[Kind]string{Absent: "", True: "true", False: "false", Null: "null"}
	switch v.Kind {
	case Number, Nested:
		if string(v.Bytes) != string(text) || End(text) != len(text) {
			t.Fatalf("%q, want %q", v.Bytes, text)
		}
	case Text, Escaped:
		var s string
		if err := json.Unmarshal(text, &s); err != nil || string(Unescape(nil, v.Bytes)) != s {
			t.Fatalf("%q, want %q, %v", v.Bytes, text, err)
		}
		if strings.ContainsRune(string(v.Bytes), '\\') != (v.Kind == Escaped) {
			t.Fatalf("%q is of kind %d", v.Bytes, v.Kind)
		}
	default:
		if string(text) != want[v.Kind] {
			t.Fatalf("kind %d, want %q", v.Kind, text)
		}
	}
}

// TestCase: with anyCase a name counts for the first that differs in case alone, if none is the same.
func TestCase(t *testing.T) {
	r := NewReader([]string{"key", "KEY", "größe"}, true)
	for text, want := range map[string]string{
		`{"key":1,"KEY":2,"GRÖẞE":3}`: "1 2 3", `{"Key":1,"GRÖSSE":2}`: "1  ", `{"\u212aey":1}`: "1  ", `{"gRÖße":3,"kEY":4}`: "4  3", `{"Key":1,"key":null}`: "null  ", `{"key":1,"Key":2}`: "1  ", `{"Key":3,"kEY":4}`: "4  ",
	} {
		law.Check(t, r.Read([]byte(text)))
		got := fmt.Sprintf("%s %s %s", r.Value(0).Bytes, r.Value(1).Bytes, r.Value(2).Bytes)
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestManyNames: objects with ever new names take bounded memory, and their members are found all the same.
func TestManyNames(t *testing.T) {
	r := NewReader([]string{"a"}, true)
	for i := range 3 * mostMet {
		law.Check(t, r.Read(fmt.Appendf(nil, `{"%d":1,"a":%d,"%s":2}`, i, i, strings.Repeat("x", longestMet))))
		if got := string(r.Value(0).Bytes); got != fmt.Sprint(i) {
			t.Fatalf("object %d has %s", i, got)
		}
	}
	if len(r.names.met) > mostMet || len(r.names.byText) > mostMet {
		t.Errorf("%d names are remembered", len(r.names.met))
	}
}

// TestNext: values of arrays come one by one, whatever the arrays lie in; an object comes as it is.
func TestNext(t *testing.T) {
	var got []string
	for v, rest := Next([]byte(` [1, [[ ], "a]", -2.5e3],null ,{"x":[3]},true] `)); v.Kind != Absent; v, rest = Next(rest) {
		got = append(got, fmt.Sprintf("%d:%s", v.Kind, v.Bytes))
	}
	want := fmt.Sprintf("%d:1 %d:a] %d:-2.5e3 %d:null %d:{\"x\":[3]} %d:true", Number, Text, Number, Null, Nested, True)
	if text := strings.Join(got, " "); text != want {
		t.Errorf("got %s, want %s", text, want)
	}
}

// TestElements: arrays have their values one by one, as they stand there.
func TestElements(t *testing.T) {
	for array, want := range map[string]string{"[]": "[]", "[ ]": "[]", "[1]": `["1"]`, "[ [2,[3]] ,{\"a\" : [4]},\n\"]\" ]": `["[2,[3]]" "{\"a\" : [4]}" "\"]\""]`} {
		var got []string
		for element := range Elements([]byte(array)) {
			got = append(got, string(element))
		}
		if text := fmt.Sprintf("%q", got); text != want {
			t.Errorf("%s: %s, want %s", array, text, want)
		}
	}
	for range Elements([]byte("[1,2]")) {
		break
	}
}
