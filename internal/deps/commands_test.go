package deps_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// command is a "go test" of a document: a package, and what is to run there.
var command = regexp.MustCompile(`go test (?:-\S+ )*(\./[\w/]+)(?: -run (\w+))?(?: -bench '?([\w|]+))?`)

// TestCommandsOfDocuments: what documents tell a reader to run, so that he sees the figures that stand there, is there to run.
func TestCommandsOfDocuments(t *testing.T) {
	seen := 0
	for _, document := range []string{"README.md", "ARCHITECTURE.md", "BENCHMARKS.md", "RECOVERY.md", "CONTRIBUTING.md"} {
		text, err := os.ReadFile("../../" + document)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range command.FindAllStringSubmatch(string(text), -1) {
			seen++
			names := strings.Split(c[3], "|")
			kind := "Benchmark"
			if c[3] == "" {
				kind, names = "Test", []string{c[2]}
			}
			for _, name := range names {
				if !has(t, c[1], "func "+kind+name) {
					t.Errorf("%s: %q: %s has no %s%s", document, c[0], c[1], kind, name)
				}
			}
		}
	}
	if seen < 6 {
		t.Errorf("%d commands found: the test does not see the documents", seen)
	}
}

// texts are those of the files of a package, read once.
var texts = map[string][]string{}

// has says whether a file of a package has a text.
func has(t *testing.T, pkg, text string) bool {
	if _, read := texts[pkg]; !read {
		files, err := filepath.Glob("../../" + pkg + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		texts[pkg] = []string{}
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			texts[pkg] = append(texts[pkg], string(src))
		}
	}
	return slices.ContainsFunc(texts[pkg], func(src string) bool { return strings.Contains(src, text) })
}
