package deps_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"io/fs"
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
	bad, found, err := lists(tree)
	report(t, bad, found, 10, err)
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
	all, err := sources(root)
	for dir, files := range all {
		named, err := listed(root, path.Join(dir, "doc.go"))
		switch {
		case err != nil:
			return bad, found, err
		case len(named) > 0:
			found++
			bad = append(bad, differ(dir, files, named)...)
		case len(files) >= listedFrom:
			bad = append(bad, fmt.Sprintf("%sdoc.go has no list of the package's %d files", dir, len(files)))
		}
	}
	return bad, found, err
}

// sources are the files of each package without tests and doc.go, by its folder with a slash behind.
func sources(root fs.FS) (files map[string][]string, err error) {
	files = map[string][]string{}
	err = eachFile(root, func(file string) error {
		if dir, name := path.Split(file); name != "doc.go" && !strings.HasSuffix(name, "_test.go") {
			files[dir] = append(files[dir], name)
		}
		return nil
	}, ".go")
	return files, err
}

// listed are the files that the comments of a doc.go list, in its order; none where there is no doc.go.
func listed(root fs.FS, doc string) (names []string, err error) {
	parsed, err := parse(root, doc, parser.ParseComments)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
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
			bad = append(bad, fmt.Sprintf("%sdoc.go lists %s, which does not exist", dir, name))
		case slices.Contains(named[:i], name):
			bad = append(bad, fmt.Sprintf("%sdoc.go lists %s twice", dir, name))
		}
	}
	for _, name := range files {
		if !slices.Contains(named, name) {
			bad = append(bad, fmt.Sprintf("%sdoc.go has a list, and %s is not in it", dir, name))
		}
	}
	return bad
}
