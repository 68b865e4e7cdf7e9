package law

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"slices"
)

// Mutant is a file with one change: another operator, or a statement left out.
type Mutant struct {
	File string
	Now  []byte // the file's text with the change
	Line int
	Says string // what was changed
}

// Mutate returns a mutant of one of the files, drawn by seed.
func Mutate(files []string, seed uint64) (Mutant, error) {
	r := rand.New(rand.NewPCG(seed, 99))
	for len(files) > 0 {
		i := r.IntN(len(files))
		file := files[i]
		text, err := os.ReadFile(file)
		if err != nil {
			return Mutant{}, err
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, file, text, parser.ParseComments)
		if err != nil {
			return Mutant{}, err
		}
		places := placesOf(f)
		if len(places) == 0 {
			files = slices.Delete(slices.Clone(files), i, i+1)
			continue
		}
		p := places[r.IntN(len(places))]
		p.change()
		var b bytes.Buffer
		err = format.Node(&b, set, f)
		return Mutant{File: file, Now: b.Bytes(), Line: set.Position(p.at).Line, Says: p.says}, err
	}
	return Mutant{}, fmt.Errorf("law: no file has a place to change")
}

// place is a place where a file can be changed.
type place struct {
	at     token.Pos
	says   string
	change func()
}

// others maps operators to their replacements.
var others = map[token.Token]token.Token{
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.ADD,
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND,
}

// placesOf returns all places of a file: operators, conditions, and calls and assignments that may be left out.
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

// isErr reports whether a comparison tests an error, which seldom occurs.
func isErr(n *ast.BinaryExpr) bool {
	id, ok := n.X.(*ast.Ident)
	return ok && id.Name == "err"
}

// leaves reports whether a statement may be left out: an assignment that declares nothing, a call, an increment.
func leaves(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.AssignStmt:
		return s.Tok != token.DEFINE
	case *ast.ExprStmt, *ast.IncDecStmt:
		return true
	}
	return false
}
