package deps_test

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestArrowsAreUsed keeps the tables exact: each arrow that they allow is an import of some file, those of the tables of tests of some
// test file whose package's own row does not allow it already.
func TestArrowsAreUsed(t *testing.T) {
	all, err := arrows(tree)
	if err != nil {
		t.Fatal(err)
	}
	for name, table := range map[string]struct {
		rows  map[string][]string
		tests bool
	}{"house": {house, false}, "houseTests": {houseTests, true}, "outside": {outside, false}, "outsideTestsOf": {outsideTestsOf, true}} {
		for _, unused := range all.unused(table.rows, table.tests) {
			t.Errorf("%s: %s, and no file does", name, unused)
		}
	}
	for _, unused := range all.unused(map[string][]string{"...": outsideTests}, true) {
		t.Errorf("outsideTests: %s, and no file does", unused)
	}
	for pkg, names := range houseTests {
		for _, name := range names {
			if allowed(pkg+"/a.go", module+name) {
				t.Errorf("houseTests: %s may import %s in all its files", pkg, name)
			}
		}
	}
}

// TestUnusedArrowsAreSeen shows the check one arrow that is used and others that are not.
func TestUnusedArrowsAreSeen(t *testing.T) {
	src := func(name string) *fstest.MapFile {
		return &fstest.MapFile{Data: fmt.Appendf(nil, "package a\n\nimport _ %q\n", name)}
	}
	all, err := arrows(fstest.MapFS{"nn/a.go": src(module + "optimizer"), "nn/a_test.go": src(module + "fleet"), "examples/x/y/a.go": src("example.org/m/v2/sub")})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		row, name string
		tests     bool
		used      bool
	}{
		{"nn", "optimizer", false, true}, {"nn", "fleet", false, false}, {"nn", "fleet", true, true}, {"nn", "optimizer", true, false},
		{"fleet", "optimizer", false, false}, {"nn", "opti...", false, true},
		{"examples/...", "example.org/m", false, true}, {"examples/x", "example.org/m", false, false}, {"...", "fleet", true, true},
	} {
		if got := len(all.unused(map[string][]string{c.row: {c.name}}, c.tests)) == 0; got != c.used {
			t.Errorf("%s → %s, of tests %t: used %t, want %t", c.row, c.name, c.tests, got, c.used)
		}
	}
}

// arrow is an import of a file.
type arrow struct {
	pkg, name string
	test      bool // the file is a test
}

type arrowList []arrow

// arrows are the imports of all Go files below the root.
func arrows(root fs.FS) (all arrowList, err error) {
	err = eachFile(root, func(file string) error {
		imports, err := importsOf(root, file)
		for _, name := range imports {
			all = append(all, arrow{path.Dir(file), strings.TrimPrefix(name, module), strings.HasSuffix(file, "_test.go")})
		}
		return err
	}, ".go")
	return all, err
}

// unused says what rows allow and no file, or no test, imports.
func (all arrowList) unused(rows map[string][]string, tests bool) (bad []string) {
	for row, allowed := range rows {
		top, below := strings.CutSuffix(row, "...")
		for _, name := range allowed {
			if !slices.ContainsFunc(all, func(a arrow) bool {
				return a.test == tests && (a.pkg == row || below && strings.HasPrefix(a.pkg, top)) && (names([]string{name}, a.name) || within([]string{name}, a.name))
			}) {
				bad = append(bad, fmt.Sprintf("%s may import %s", row, name))
			}
		}
	}
	return bad
}
