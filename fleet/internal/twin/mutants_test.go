package twin_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var (
	mutants   = flag.Int("mutants", 0, "how many mutants TestMutants draws; 0 leaves it out")
	mutant    = flag.Uint64("mutant", 1, "the seed of the first mutant")
	mayRemain = flag.Int("remain", 3, "how many of the mutants may be found by no seed")
)

// mutated are the packages in which mutants are drawn.
var mutated = []string{"internal/session/*.go", "internal/exchange/*.go", "internal/mode/*.go", "internal/update/*.go",
	"internal/checkpoint/*.go", "nn/executor.go", "nn/table.go", "nn/run.go", "nn/session.go", "nn/plan.go"}

// TestMutants changes one operator, condition or statement of a copy of the tree, drawn by seed, and says which of
// these changes no seed of TestJobs finds:
//
//	go test ./fleet/internal/twin -run TestMutants -mutants 30 -power 500 -timeout 3h -v
//	go test ./fleet/internal/twin -run TestMutants -mutants 30 -v                            says what they change
//	go test ./fleet/internal/twin -run TestMutants -mutant 7 -mutants 1 -power 500 -v        one of them
func TestMutants(t *testing.T) {
	if *mutants == 0 {
		t.Skip("-mutants says how many mutants to draw, -power how many seeds to play")
	}
	tree, remain, drew := copyTree(t), 0, map[string]bool{}
	for seed, drawn := *mutant, 0; drawn < *mutants; seed++ {
		file, was, says := mutate(t, tree, seed)
		if drew[says] {
			if err := os.WriteFile(file, was, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		drew[says] = true
		seeds, how := -2, ""
		if *power > 0 {
			seeds, how = find(t, tree)
		}
		if err := os.WriteFile(file, was, 0o644); err != nil {
			t.Fatal(err)
		}
		switch {
		case *power == 0:
			t.Logf("mutant %d: %s", seed, says)
		case seeds == -2:
			continue // it doesn't build
		case seeds == -1:
			remain++
			t.Logf("mutant %d remains: %s", seed, says)
		default:
			t.Logf("mutant %d is found by seed %d: %s: %s", seed, seeds, says, how)
		}
		drawn++
	}
	if remain > *mayRemain {
		t.Errorf("%d of %d mutants were not found by %d seeds", remain, *mutants, *power)
	}
}

// mutate changes one place of one file, and returns what the file was.
func mutate(t *testing.T, tree string, seed uint64) (file string, was []byte, says string) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 99))
	var files []string
	for _, pattern := range mutated {
		all, err := filepath.Glob(filepath.Join(tree, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range all {
			if !strings.HasSuffix(name, "_test.go") && !strings.HasSuffix(name, "doc.go") {
				files = append(files, name)
			}
		}
	}
	for {
		file = files[r.IntN(len(files))]
		was, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, file, was, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		places := placesOf(f)
		if len(places) == 0 {
			continue
		}
		p := places[r.IntN(len(places))]
		name, _ := filepath.Rel(tree, file)
		says = fmt.Sprintf("%s:%d: %s", name, set.Position(p.at).Line, p.says)
		p.change()
		var b bytes.Buffer
		if err := format.Node(&b, set, f); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return file, was, says
	}
}

// place is where a file may be changed.
type place struct {
	at     token.Pos
	says   string
	change func()
}

// others are operators in whose place another is put.
var others = map[token.Token]token.Token{
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.ADD,
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND,
}

// placesOf are all places of a file: operators, conditions, and calls and assignments that may be left out.
func placesOf(f *ast.File) (all []place) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if to, ok := others[n.Op]; ok && !isErr(n) {
				all = append(all, place{n.OpPos, fmt.Sprintf("%s for %s", to, n.Op), func() { n.Op = to }})
			}
		case *ast.BlockStmt:
			for i, s := range n.List {
				if leaves(s) {
					leave := func() { n.List[i] = &ast.EmptyStmt{Semicolon: s.Pos()} }
					all = append(all, place{s.Pos(), "a statement left out", leave})
				}
			}
		}
		return true
	})
	return all
}

// isErr says whether a comparison asks for an error, which is seldom there.
func isErr(n *ast.BinaryExpr) bool {
	id, ok := n.X.(*ast.Ident)
	return ok && id.Name == "err"
}

// leaves says whether a statement may be left out: an assignment that declares nothing, a call, a step.
func leaves(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.AssignStmt:
		return s.Tok != token.DEFINE
	case *ast.ExprStmt, *ast.IncDecStmt:
		return true
	}
	return false
}
