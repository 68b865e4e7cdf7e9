package deps_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// listedFrom is how many files a package may have that is read without a list of them, as ls shows it.
const listedFrom = 13

// listLine is a line of a list: a file, or several that belong together, and what is in them.
var listLine = regexp.MustCompile(`^\t(\w+\.go(?:, \w+\.go)*)  +\S`)

// TestLists: a package with many files has them in doc.go in the order in which they are read, and every list, also that of a smaller
// package, names each file once and none that has gone.
func TestLists(t *testing.T) {
	bad, lists, err := lists(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	if lists < 10 {
		t.Fatalf("only %d lists found: the test does not see the module", lists)
	}
	for _, b := range bad {
		t.Error(b)
	}
}

// TestListsAreRead shows the check a package of two files, with lists good and bad.
func TestListsAreRead(t *testing.T) {
	for _, c := range []struct{ list, want string }{
		{"//\n//\ta.go  first\n//\tb.go  second\n", ""},
		{"//\n//\tb.go, a.go  both\n", ""},
		{"", ""},
		{"//\n//\ta.go  first\n", "b.go is not"},
		{"//\n//\ta.go  first\n//\tb.go  second\n//\ta.go  again\n", "a.go twice"},
		{"//\n//\ta.go  first\n//\tb.go  second\n//\tc.go  gone\n", "c.go, which does not exist"},
	} {
		bad, _, err := lists(fstest.MapFS{
			"x/doc.go":    {Data: []byte("// Package x is one.\n" + c.list + "package x\n")},
			"x/a.go":      {Data: []byte("package x\n")},
			"x/b.go":      {Data: []byte("package x\n")},
			"x/b_test.go": {Data: []byte("package x\n")},
		})
		if err != nil {
			t.Fatal(err)
		}
		if c.want == "" && len(bad) > 0 || c.want != "" && (len(bad) != 1 || !strings.Contains(bad[0], c.want)) {
			t.Errorf("%q: %q, want %q", c.list, bad, c.want)
		}
	}
}

// lists compares the lists below the root with the files of their packages.
func lists(root fs.FS) (bad []string, found int, err error) {
	err = fs.WalkDir(root, ".", func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if ignored(dir) {
			return fs.SkipDir
		}
		files, err := sources(root, dir)
		if err != nil || len(files) == 0 {
			return err
		}
		named, err := listed(root, path.Join(dir, "doc.go"))
		switch {
		case err != nil:
			return err
		case len(named) > 0:
			found++
			bad = append(bad, differ(dir, files, named)...)
		case len(files) >= listedFrom:
			bad = append(bad, fmt.Sprintf("%s/doc.go has no list of the package's %d files", dir, len(files)))
		}
		return nil
	})
	return bad, found, err
}

// sources are the files of a package without tests and doc.go.
func sources(root fs.FS, dir string) (files []string, err error) {
	entries, err := fs.ReadDir(root, dir)
	for _, e := range entries {
		name := e.Name()
		if path.Ext(name) == ".go" && name != "doc.go" && !strings.HasSuffix(name, "_test.go") {
			files = append(files, name)
		}
	}
	return files, err
}

// listed are the files that the comments of a doc.go list, in its order; none where there is no doc.go.
func listed(root fs.FS, doc string) (names []string, err error) {
	src, err := fs.ReadFile(root, doc)
	if err != nil {
		return nil, nil
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), doc, src, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	for _, group := range parsed.Comments {
		names = append(names, namesOf(group)...)
	}
	return names, nil
}

func namesOf(group *ast.CommentGroup) (names []string) {
	for _, c := range group.List {
		if m := listLine.FindStringSubmatch(strings.TrimPrefix(c.Text, "//")); m != nil {
			names = append(names, strings.Split(m[1], ", ")...)
		}
	}
	return names
}

// differ says where a list and the files of its package are not the same.
func differ(dir string, files, named []string) (bad []string) {
	for i, name := range named {
		switch {
		case !slices.Contains(files, name):
			bad = append(bad, fmt.Sprintf("%s/doc.go lists %s, which does not exist", dir, name))
		case slices.Contains(named[:i], name):
			bad = append(bad, fmt.Sprintf("%s/doc.go lists %s twice", dir, name))
		}
	}
	for _, name := range files {
		if !slices.Contains(named, name) {
			bad = append(bad, fmt.Sprintf("%s/doc.go has a list, and %s is not in it", dir, name))
		}
	}
	return bad
}
