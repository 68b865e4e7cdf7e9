package deps_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gofleet/gofleet/internal/law"
)

// promise is a paragraph of a test's comment that says what the test holds; RECOVERY.md names the guarantees, .ci/promises prints all.
var promise = regexp.MustCompile(`(?s)^Promise: \[G(?:[1-9]|1[0-3])\] (.+?)(?:\nAlso: (.+))?$`)

// further is another test of a promise, with its packages where they are others.
var further = regexp.MustCompile(`((?:Test|Fuzz)\w+)(?: \(([\w/, ]+)\))?`)

// TestPromises holds what is promised above tests to its rules: see promises.
func TestPromises(t *testing.T) {
	law.Slow(t)
	bad, seen, err := promises(tree)
	report(t, bad, seen, 280, err)
}

// TestPromisesAreSeen shows the check what it must find, and what it must not.
func TestPromisesAreSeen(t *testing.T) {
	long := strings.Repeat("a ", 41)
	for _, c := range []struct{ comment, name, want string }{
		{"// Promise: [G1] a is b.", "TestA", ""},
		{"// TestA tests.\n//\n// Promise: [G13] a is\n// b.\n// Also: TestB\n// (b), TestA.\n//\n// Promise: [G2] it is c.", "TestA", ""},
		{"// Promise: a is b.", "TestA", "begins"},
		{"// Promise: [G14] a is b.", "TestA", "begins"},
		{"// TestA tests.\n// Promise: [G1] a is b.", "TestA", "begins"},
		{"// Promise: [G1] a is b.", "helper", "is above no test"},
		{"// Promise: [G1] a is b.\n", "TestA", "is above no test"},
		{"// Promise: [G1] " + long, "TestA", "words"},
		{"// Promise: [G1] once.", "TestA", "twice"},
		{"// Promise: [G1] a is b.\n// Also: TestB.", "TestA", "a has no TestB"},
		{"// Promise: [G1] a is b.\n// Also: TestC (b).", "TestA", "b has no TestC"},
	} {
		bad, _, err := promises(fstest.MapFS{
			"a/a_test.go": {Data: []byte("package a\n\n" + c.comment + "\nfunc " + c.name + "(t *testing.T) {}\n")},
			"b/b_test.go": {Data: []byte("package b\n\n// Promise: [G1] once.\nfunc TestB(t *testing.T) {}\n")},
		})
		if err != nil {
			t.Fatal(err)
		}
		if c.want == "" && len(bad) > 0 || c.want != "" && (len(bad) != 1 || !strings.Contains(bad[0], c.want)) {
			t.Errorf("%q: %q, want %q", c.comment, bad, c.want)
		}
	}
}

// promises lists what is wrong with promises below the root: each is a paragraph above a test, of 40 words at most, is made once, and
// names further tests that its packages have.
func promises(root fs.FS) (bad []string, seen int, err error) {
	read := promised{tests: map[string]bool{}, made: map[string]bool{}, further: map[string]string{}}
	err = eachFile(root, func(file string) error {
		if !strings.HasSuffix(file, "_test.go") {
			return nil
		}
		parsed, err := parse(root, file, parser.ParseComments)
		if err == nil {
			read.file(file, parsed)
		}
		return err
	}, ".go")
	for missing, file := range read.further {
		if !read.tests[missing] {
			read.bad = append(read.bad, file+": "+missing)
		}
	}
	return read.bad, read.seen, err
}

// promised is what the files so far have promised.
type promised struct {
	bad     []string
	seen    int
	tests   map[string]bool   // that there are, as "PACKAGE has no TEST"
	made    map[string]bool   // promises, by their text
	further map[string]string // tests that promises name, in the same words, to the file
}

// file reads a file's tests, and its comments.
func (p *promised) file(file string, parsed *ast.File) {
	above := map[*ast.CommentGroup]bool{}
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && further.MatchString(f.Name.Name) {
			p.tests[path.Dir(file)+" has no "+f.Name.Name], above[f.Doc] = true, true
		}
	}
	for _, comment := range parsed.Comments {
		for paragraph := range strings.SplitSeq(strings.TrimSpace(comment.Text()), "\n\n") {
			if strings.Contains("\n"+paragraph, "\nPromise:") {
				p.paragraph(file, paragraph, above[comment])
			}
		}
	}
}

// paragraph reads a promise, which is above a test or not.
func (p *promised) paragraph(file, text string, above bool) {
	p.seen++
	m := promise.FindStringSubmatch(text)
	wrong := ""
	switch {
	case m == nil:
		p.bad = append(p.bad, fmt.Sprintf("%s: want a paragraph that begins with \"Promise: [G1] \", up to G13: %q", file, text))
		return
	case !above:
		wrong = "is above no test"
	case len(strings.Fields(m[1])) > 40:
		wrong = "has more than 40 words"
	case p.made[m[1]]:
		wrong = "is made twice"
	}
	if wrong != "" {
		p.bad = append(p.bad, fmt.Sprintf("%s: a promise %s: %q", file, wrong, m[1]))
	}
	p.made[m[1]] = true
	for _, test := range further.FindAllStringSubmatch(strings.ReplaceAll(m[2], "\n", " "), -1) {
		for pkg := range strings.SplitSeq(cmp.Or(test[2], path.Dir(file)), ", ") {
			p.further[pkg+" has no "+test[1]] = file
		}
	}
}
