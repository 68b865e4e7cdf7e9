// Lines counts the lines of the product: of every package but examples and those that only tests import, without tests.
//
//	go run .ci/lines/main.go [-v]
//
// It prints lines with a token, all lines, blank ones and comments included, and the exported names of packages that
// users may import; -v has a line for each package, and says which were left out. A package that only tests import is one that nothing else imports which is left, examples
// included, and that tests of others import, or is internal.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// pkg is what go list says of a package.
type pkg struct {
	ImportPath, Dir, Name                string
	GoFiles, IgnoredGoFiles, SFiles      []string
	CgoFiles, IgnoredOtherFiles, Imports []string
	TestImports, XTestImports            []string
}

func main() {
	log.SetFlags(0)
	each := flag.Bool("v", false, "a line for each package")
	flag.Parse()
	all, err := list()
	if err != nil {
		log.Fatal("lines: ", err)
	}
	product := productOf(all)
	code, lines, names := 0, 0, 0
	for _, p := range all {
		if !product[p.ImportPath] {
			if *each {
				fmt.Printf("%8s %8s %8s  %s\n", "", "", "", p.ImportPath)
			}
			continue
		}
		c, n, err := p.count()
		if err != nil {
			log.Fatal("lines: ", err)
		}
		e, err := p.exported()
		if err != nil {
			log.Fatal("lines: ", err)
		}
		code, lines, names = code+c, lines+n, names+e
		if *each {
			fmt.Printf("%8d %8d %8d  %s\n", c, n, e, p.ImportPath)
		}
	}
	fmt.Printf("%8d lines with a token\n%8d with blank lines and comments\n%8d exported names\n%8d packages\n", code, lines,
		names, len(product))
}

// list is every package of the module.
func list() (all []pkg, err error) {
	cmd := exec.Command("go", "list", "-json", "./...")
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	for d := json.NewDecoder(bytes.NewReader(text)); err == nil; {
		var p pkg
		if err = d.Decode(&p); err == nil {
			all = append(all, p)
		}
	}
	if err == io.EOF {
		err = nil
	}
	return all, err
}

// productOf leaves out examples, and packages that only tests import, as often as there are some.
func productOf(all []pkg) map[string]bool {
	left, tested := map[string]bool{}, map[string]bool{}
	for _, p := range all {
		left[p.ImportPath] = true
		for _, name := range slices.Concat(p.TestImports, p.XTestImports) {
			tested[name] = tested[name] || name != p.ImportPath
		}
	}
	for before := 0; before != len(left); {
		before = len(left)
		imported := map[string]bool{}
		for _, p := range all {
			for _, name := range p.Imports {
				imported[name] = imported[name] || left[p.ImportPath]
			}
		}
		for _, p := range all {
			internal := slices.Contains(strings.Split(p.ImportPath, "/"), "internal") // which no user imports
			if p.Name != "main" && !imported[p.ImportPath] && (tested[p.ImportPath] || internal) {
				delete(left, p.ImportPath)
			}
		}
	}
	maps.DeleteFunc(left, func(name string, _ bool) bool { return strings.Contains(name, "/examples/") })
	return left
}

// count counts the files of a package, of all systems.
func (p pkg) count() (code, lines int, err error) {
	for _, name := range slices.Concat(p.GoFiles, p.CgoFiles, p.IgnoredGoFiles, p.SFiles, p.IgnoredOtherFiles) {
		if strings.HasSuffix(name, "_test.go") || filepath.Ext(name) != ".go" && filepath.Ext(name) != ".s" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			return code, lines, err
		}
		lines += bytes.Count(text, []byte("\n"))
		if filepath.Ext(name) == ".go" {
			code += tokens(text)
			continue
		}
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
				code++
			}
		}
	}
	return code, lines, nil
}

// exported is how many constants, variables, types and functions of a package users may name.
func (p pkg) exported() (n int, err error) {
	if p.Name == "main" || strings.Contains(p.ImportPath+"/", "/internal/") {
		return 0, nil
	}
	names := map[string]bool{} // a name may have a file for each system
	for _, file := range slices.Concat(p.GoFiles, p.IgnoredGoFiles) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, file), nil, parser.SkipObjectResolution)
		if err != nil {
			return 0, err
		}
		for _, d := range f.Decls {
			for _, name := range declared(d) {
				names[name.Name] = name.IsExported()
			}
		}
	}
	for _, is := range names {
		if is {
			n++
		}
	}
	return n, nil
}

// declared are the names that a declaration declares, a method's aside.
func declared(d ast.Decl) (names []*ast.Ident) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			names = append(names, d.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name)
			case *ast.ValueSpec:
				names = append(names, s.Names...)
			}
		}
	}
	return names
}

// tokens is the number of lines of Go that have a token, a string over several lines being on all of them.
func tokens(text []byte) int {
	files, seen := token.NewFileSet(), map[int]bool{}
	f := files.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(f, text, nil, 0)
	for {
		at, is, literal := s.Scan()
		if is == token.EOF {
			return len(seen)
		}
		if is == token.SEMICOLON && literal == "\n" {
			continue
		}
		for line := range 1 + strings.Count(literal, "\n") {
			seen[f.Line(at)+line] = true
		}
	}
}
