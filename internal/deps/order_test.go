package deps_test

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// inOrder are the packages of which each file uses files alone that its doc.go lists before it.
var inOrder = []string{"internal/gradient", "internal/inference", "internal/mistyped", "internal/proc", "internal/roster",
	"internal/server", "internal/server/state", "internal/tokens", "internal/ui", "optimizer/lr"}

// TestFilesUseFilesBefore holds these packages to the order in which they are read.
func TestFilesUseFilesBefore(t *testing.T) {
	exports, seen := map[string]string{}, 0
	list := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}")
	for _, pkg := range inOrder {
		list.Args = append(list.Args, "./"+pkg)
	}
	list.Dir = "../.."
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		name, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[name] = file
	}
	var bad []string
	for _, pkg := range inOrder {
		wrong, found, err := backUp(tree, pkg, func(name string) (io.ReadCloser, error) { return os.Open(exports[name]) })
		if err != nil {
			t.Fatal(err)
		}
		bad, seen = append(bad, wrong...), seen+found
	}
	report(t, bad, seen, 1000, nil)
}

// TestFilesBehindAreSeen shows the check a package in which a file uses a function or a type of the next.
func TestFilesBehindAreSeen(t *testing.T) {
	for uses, want := range map[string]string{
		"":                                     "",
		"func a() { b() }":                     "x/a.go uses b of b.go",
		"type a struct{ B }":                   "x/a.go uses B of b.go",
		"func f() any { return 1 }; var a = f": "",
		"var a = func(x interface{ get() int }) int { return x.get() }": "",
	} {
		bad, _, err := backUp(fstest.MapFS{
			"x/doc.go": {Data: []byte("// Package x is one.\n//\n//\ta.go  first\n//\tb.go  second\npackage x\n")},
			"x/a.go":   {Data: []byte("package x\n\n" + uses + "\n")},
			"x/b.go":   {Data: []byte("package x\n\nfunc b() {}\n\n// B has a method.\ntype B int\n\nfunc (B) get() int { return 0 }\n")},
		}, "x", nil)
		if err != nil || want == "" && len(bad) > 0 || want != "" && (len(bad) != 1 || !strings.Contains(bad[0], want)) {
			t.Errorf("%q: %q, %v, want %q", uses, bad, err, want)
		}
	}
}

// backUp says which files of a package use an object of a file that its doc.go lists later. found counts the uses of objects of other
// files. open reads what a package exports.
func backUp(root fs.FS, pkg string, open importer.Lookup) (bad []string, found int, err error) {
	order, err := listed(root, path.Join(pkg, "doc.go"))
	if err != nil {
		return nil, 0, err
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range order {
		src, err := fs.ReadFile(root, path.Join(pkg, name))
		if err != nil {
			return nil, 0, err
		}
		file, err := parser.ParseFile(fset, name, src, 0)
		if err != nil {
			return nil, 0, err
		}
		files = append(files, file)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	checked, err := (&types.Config{Importer: importer.ForCompiler(fset, "gc", open)}).Check(pkg, fset, files, info)
	if err != nil {
		return nil, 0, err
	}
	for at, object := range info.Uses {
		if object.Pkg() != checked {
			continue
		}
		user, owner := fset.File(at.Pos()).Name(), fset.File(object.Pos()).Name()
		if user != owner {
			found++
		}
		if slices.Index(order, user) < slices.Index(order, owner) {
			bad = append(bad, fmt.Sprintf("%s/%s uses %s of %s, which its doc.go lists later", pkg, user, object.Name(), owner))
		}
	}
	slices.Sort(bad)
	return slices.Compact(bad), found, nil
}
