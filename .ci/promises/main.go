// Promises prints what gofleet promises, each with the tests that hold it: comments "Promise: [G1] …" above tests, which may go on with
// "Also: …", further tests and their packages. RECOVERY.md says what G1 to G13 are; internal/deps has the rules.
//
//	go run .ci/promises/main.go
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// written is a paragraph of a test's comment that promises something.
var written = regexp.MustCompile(`(?s)^Promise: \[G(\d+)\] (.+?)(?:\nAlso: (.+))?$`)

func main() {
	log.SetFlags(0)
	var all []string
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		found, err := promised(file)
		all = append(all, found...)
		return err
	})
	if err != nil {
		log.Fatal("promises: ", err)
	}
	slices.Sort(all)
	for _, promise := range all {
		fmt.Println(promise)
	}
}

// promised are the promises in a file of tests.
func promised(file string) (found []string, err error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		for paragraph := range strings.SplitSeq(strings.TrimSpace(f.Doc.Text()), "\n\n") {
			if m := written.FindStringSubmatch(paragraph); m != nil {
				tests := f.Name.Name + " (" + filepath.ToSlash(filepath.Dir(file)) + ")"
				if m[3] != "" {
					tests += ", " + m[3]
				}
				found = append(found, fmt.Sprintf("%3s  %s\n     %s", "G"+m[1],
					strings.ReplaceAll(m[2], "\n", " "), strings.ReplaceAll(tests, "\n", " ")))
			}
		}
	}
	return found, nil
}
