package deps_test

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// part is what a document has below a heading, as far as the next of its kind.
func part(t *testing.T, document, heading string) string {
	t.Helper()
	text, err := os.ReadFile("../../" + document)
	if err != nil {
		t.Fatal(err)
	}
	_, below, found := strings.Cut(string(text), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("%s has no part %q", document, heading)
	}
	below, _, _ = strings.Cut(below, "\n## ")
	return below
}

// drawing are the indented lines of a text, without their indentation.
func drawing(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if line, ok := strings.CutPrefix(line, "    "); ok {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// TestFloorPlan: the house as ARCHITECTURE.md draws it has every package once, above all that it imports, and the drawing of a step's
// way names files that there are.
func TestFloorPlan(t *testing.T) {
	floors := map[string]int{}
	for floor, line := range drawing(part(t, "ARCHITECTURE.md", "The house")) {
		names, _, _ := strings.Cut(line, "   ")
		for name := range strings.SplitSeq(names, ", ") {
			if _, twice := floors[name]; twice {
				t.Errorf("the drawing has %s twice", name)
			}
			floors[name] = floor
		}
	}
	for pkg, imports := range house {
		if strings.HasPrefix(pkg, "examples/") || strings.HasSuffix(pkg, "test") && pkg != "fleet/fleettest" || strings.HasPrefix(pkg, "fleet/internal/") {
			continue // exams, and what fleet's tests train
		}
		floor, drawn := floors[pkg]
		if !drawn {
			t.Errorf("the drawing lacks %s", pkg)
		}
		for _, name := range imports {
			if below, ok := floors[name]; !ok || below <= floor {
				t.Errorf("%s imports %s, which the drawing does not have below it", pkg, name)
			}
		}
	}
	for name := range floors {
		if name != "examples/…" && !isDir(name) {
			t.Errorf("the drawing has %s, which does not exist", name)
		}
	}
}

// onTheWay is a line of the drawing of a step's way: a package, and files of it.
var onTheWay = regexp.MustCompile(`^([a-z][a-z/]*) +((?:\w+\.go(?: · )?)+)`)

func TestFilesOnTheWay(t *testing.T) {
	seen := 0
	for _, line := range drawing(part(t, "ARCHITECTURE.md", "One training step")) {
		m := onTheWay.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		for file := range strings.SplitSeq(strings.TrimSpace(m[2]), " · ") {
			seen++
			if _, err := os.Stat(path.Join("../..", m[1], file)); err != nil {
				t.Errorf("a step's way goes through %s/%s, which does not exist", m[1], file)
			}
		}
	}
	if seen < 30 {
		t.Errorf("%d files found: the test does not see the drawing", seen)
	}
}
