package nn

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// TestTableOfOps: OPS.md has a row for every function that makes a node of others, or has it among those that are named alike elsewhere, and
// none of something else.
func TestTableOfOps(t *testing.T) {
	text, err := os.ReadFile("OPS.md")
	law.Check(t, err)
	var rows []string
	for _, m := range regexp.MustCompile(`(?m)^\| ([A-Z]\w+) \|`).FindAllStringSubmatch(string(text), -1) {
		rows = append(rows, m[1])
	}
	for _, m := range regexp.MustCompile(`(?m)^Named alike elsewhere: (.+)\.$`).FindAllStringSubmatch(string(text), -1) {
		rows = append(rows, strings.Split(m[1], ", ")...)
	}
	ops := opFunctions(t)
	if len(ops) < 90 {
		t.Fatalf("only %d functions found: the test does not see the package", len(ops))
	}
	for _, name := range ops {
		if !slices.Contains(rows, name) {
			t.Errorf("%s is in no table: give OPS.md a row with its formula, and what it is called elsewhere", name)
		}
	}
	for i, name := range rows {
		if !slices.Contains(ops, name) || slices.Contains(rows[:i], name) {
			t.Errorf("OPS.md has %s, which is no function here, or has it twice", name)
		}
	}
}

// opFunctions are the exported functions of the package's source that take a node and make nodes, but for Given and Copy, whose nodes are copies.
func opFunctions(t *testing.T) (names []string) {
	files, err := filepath.Glob("*.go")
	law.Check(t, err)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		law.Check(t, err)
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if ok && f.Recv == nil && f.Name.IsExported() && f.Name.Name != "Given" && f.Name.Name != "Copy" && f.Type.Results != nil && makesNodes(f.Type.Results.List[0].Type) {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names
}

// makesNodes says whether a result is a node, several, a sequence of them, or a function that makes one.
func makesNodes(result ast.Expr) bool {
	switch r := result.(type) {
	case *ast.StarExpr:
		return makesNodes(r.X)
	case *ast.ArrayType:
		return makesNodes(r.Elt)
	case *ast.FuncType:
		return r.Results != nil && makesNodes(r.Results.List[0].Type)
	case *ast.Ident:
		return r.Name == "Node" || r.Name == "Sequence"
	}
	return false
}
