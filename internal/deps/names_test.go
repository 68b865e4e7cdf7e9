package deps_test

import (
	"go/ast"
	"go/parser"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// testName is how a text names a test, or shows a reader one of its own.
var testName = regexp.MustCompile(`(func )?\b(?:Test|Fuzz)[A-Z]\w+`)

// namesIn are the tests that a text names.
func namesIn(text string) (names []string) {
	for _, name := range testName.FindAllString(text, -1) {
		if !strings.HasPrefix(name, "func ") {
			names = append(names, name)
		}
	}
	return names
}

// TestNamedTestsExist: a test that a document or a comment names is there.
func TestNamedTestsExist(t *testing.T) {
	law.Slow(t)
	named, exist, err := namedTests(tree)
	if err != nil {
		t.Fatal(err)
	}
	if page := named["CONTRIBUTING.md"]; len(exist) < 500 || len(page) < 20 {
		t.Fatalf("%d tests found, %d of them named in CONTRIBUTING.md: the test does not see the module", len(exist), len(page))
	}
	for file, names := range named {
		for _, name := range names {
			if !exist[name] {
				t.Errorf("%s names %s, which does not exist", file, name)
			}
		}
	}
}

func TestNamesIn(t *testing.T) {
	text := "as `TestThis` and FuzzThat (a room) do; in yours, func TestMine(t *testing.T); Tests, and a Tester"
	if got := strings.Join(namesIn(text), " "); got != "TestThis FuzzThat" {
		t.Errorf("the text names %s", got)
	}
}

// namedTests are the tests that texts name, by file, and those that exist.
func namedTests(root fs.FS) (named map[string][]string, exist map[string]bool, err error) {
	named, exist = map[string][]string{}, map[string]bool{}
	err = eachFile(root, func(file string) error {
		if path.Ext(file) == ".go" {
			return readTests(root, file, named, exist)
		}
		src, err := fs.ReadFile(root, file)
		named[file] = namesIn(string(src))
		return err
	}, ".go", ".md")
	return named, exist, err
}

// readTests notes a file's tests, and those that its comments name.
func readTests(root fs.FS, file string, named map[string][]string, exist map[string]bool) error {
	parsed, err := parse(root, file, parser.ParseComments)
	if err != nil {
		return err
	}
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && strings.HasSuffix(file, "_test.go") {
			exist[f.Name.Name] = true
		}
	}
	for _, c := range parsed.Comments {
		named[file] = append(named[file], namesIn(c.Text())...)
	}
	return nil
}
