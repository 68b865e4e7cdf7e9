package deps_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"testing"
)

// tree is the module as it stands.
var tree = os.DirFS("../..")

// eachFile calls do with every file below the root that is part of the module and whose name ends so.
func eachFile(root fs.FS, do func(file string) error, endings ...string) error {
	return fs.WalkDir(root, ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && ignored(file):
			return fs.SkipDir
		case d.IsDir() || !slices.Contains(endings, path.Ext(file)):
			return nil
		}
		return do(file)
	})
}

// ignored says whether the go command passes over a folder too.
func ignored(dir string) bool {
	base := path.Base(dir)
	return dir != "." && (base == "testdata" || base[0] == '.' || base[0] == '_')
}

func parse(root fs.FS, file string, mode parser.Mode) (*ast.File, error) {
	src, err := fs.ReadFile(root, file)
	if err != nil {
		return nil, err
	}
	return parser.ParseFile(token.NewFileSet(), file, src, mode)
}

// report fails a test for each thing that its check of the tree found bad, and for a check that has seen less than there must be.
func report(t *testing.T, bad []string, seen, least int, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if seen < least {
		t.Fatalf("%d seen, want %d or more: the test does not see the module", seen, least)
	}
	for _, b := range bad {
		t.Error(b)
	}
}
