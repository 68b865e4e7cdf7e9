package files

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestCompactIsJSONs compares compact with json.Compact, on texts whose strings have quotes, escapes and spaces.
func TestCompactIsJSONs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.StringOfN(rapid.RuneFrom([]rune("\"\\ \n\tü{},:1")), 0, 12, -1))
		all := map[string]any{"a": words.Draw(t, "words"), strings.Join(words.Draw(t, "name"), ""): []any{1.5, nil, true}}
		text, err := json.MarshalIndent(all, " \t", "\r\n  ")
		if err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		if err := json.Compact(&want, text); err != nil {
			t.Fatal(err)
		}
		if got := compact(text); !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%s, want %s", got, want.Bytes())
		}
	})
}

// TestCompactOfCutTexts: a text that ends within a string is no reason to panic.
func TestCompactOfCutTexts(t *testing.T) {
	whole := `{"a": "b\"c"}`
	for n := range len(whole) {
		compact([]byte(whole[:n]))
	}
}
