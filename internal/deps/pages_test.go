package deps_test

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pageBudgets are the most words of pages, and of all pages together.
var pageBudgets = map[string]int{"RECOVERY.md": 3000, "ARCHITECTURE.md": 3500, "MACHINES.md": 3200, "all": 17000}

// measured are the tables that internal/bench writes into pages.
var measured = regexp.MustCompile(`(?s)<!-- bench \w+ -->.*?<!-- end -->`)

// TestPagesAreShort counts the words that people have written, without the bars of tables. Who needs more takes something out, or changes a number.
func TestPagesAreShort(t *testing.T) {
	words := map[string]int{}
	err := eachFile(tree, func(file string) error {
		text, err := fs.ReadFile(tree, file)
		text = measured.ReplaceAll(text, nil)
		bars := func(word string) bool { return strings.Trim(word, "|-") == "" }
		words[file] = len(slices.DeleteFunc(strings.Fields(string(text)), bars))
		words["all"] += words[file]
		return err
	}, ".md")
	if err != nil {
		t.Fatal(err)
	}
	for page, most := range pageBudgets {
		if n := words[page]; n > most || n < most/2 {
			t.Errorf("%s has %d words, want at most %d, and no less than half of that", page, n, most)
		}
	}
}
