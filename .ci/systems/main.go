// Systems checks that every package builds for other systems, by types alone, in a small part of the time of a build.
//
//	go run .ci/systems/main.go darwin/arm64 windows/amd64
//
// What a compiler says of a package it says of its types, but for functions whose bodies stand in assembly: where a
// package has no assembly for the system, each function needs a body. Assembly itself is read by the build of a system
// with the same processor.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// pkg is what go list says of a package.
type pkg struct {
	ImportPath, Dir string
	GoFiles, SFiles []string
	ImportMap       map[string]string
	DepOnly         bool
	Module          *struct{ GoVersion string }
	Error           *struct{ Err string }
}

func main() {
	log.SetFlags(0)
	wrong := 0
	for _, system := range os.Args[1:] {
		n, found, err := check(system)
		if err != nil {
			log.Fatalf("systems: %s: %v", system, err)
		}
		for _, err := range found {
			log.Printf("%s: %v", system, err)
		}
		wrong += len(found)
		fmt.Printf("%s: %d packages, %d errors\n", system, n, len(found))
	}
	if wrong > 0 {
		os.Exit(1)
	}
}

// check counts the packages of the module that a system has, and returns what is wrong with them.
func check(system string) (n int, wrong []error, err error) {
	all, err := list(system)
	if err != nil {
		return 0, nil, err
	}
	_, arch, _ := strings.Cut(system, "/")
	files, known := token.NewFileSet(), map[string]*types.Package{"unsafe": types.Unsafe}
	for _, p := range all { // each behind what it imports
		if p.ImportPath == "unsafe" {
			continue
		}
		if p.Error != nil {
			return n, nil, fmt.Errorf("%s: %s", p.ImportPath, p.Error.Err)
		}
		found := p.check(files, known, types.SizesFor("gc", arch))
		if p.DepOnly && len(found) > 0 {
			return n, nil, fmt.Errorf("%s, of another module: %w", p.ImportPath, errors.Join(found...))
		}
		wrong = append(wrong, found...)
		if !p.DepOnly {
			n++
		}
	}
	return n, wrong, nil
}

// list is the module's packages and all that they import, as a system has them.
func list(system string) (all []pkg, err error) {
	goos, goarch, ok := strings.Cut(system, "/")
	if !ok {
		return nil, errors.New("a system is called linux/amd64, say")
	}
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,SFiles,ImportMap,DepOnly,Module,Error", "./...")
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
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

// check finds the types of a package, with bodies if it is the module's own.
func (p pkg) check(files *token.FileSet, known map[string]*types.Package, sizes types.Sizes) (wrong []error) {
	var parsed []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		parsed = append(parsed, f)
	}
	config := types.Config{
		Importer:         importer{known, p.ImportMap},
		Sizes:            sizes,
		IgnoreFuncBodies: p.DepOnly,
		Error:            func(err error) { wrong = append(wrong, err) },
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		config.GoVersion = "go" + p.Module.GoVersion
	}
	known[p.ImportPath], _ = config.Check(p.ImportPath, files, parsed, nil)
	if p.DepOnly || len(p.SFiles) > 0 {
		return wrong
	}
	for _, f := range parsed {
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Body == nil {
				wrong = append(wrong, fmt.Errorf("%v: %s has no body", files.Position(d.Pos()), d.Name.Name))
			}
		}
	}
	return wrong
}

// importer knows packages that were checked before.
type importer struct {
	known map[string]*types.Package
	names map[string]string
}

// Import is types.Importer.
func (i importer) Import(path string) (*types.Package, error) {
	if name, ok := i.names[path]; ok {
		path = name
	}
	if p := i.known[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("package %s is not among what go list -deps says", path)
}
