// Command pack writes comments.gz: the paragraphs of the documentation of Go's standard library, with the folder each
// is from.
//
//	go run ./examples/text/comments/pack -out=examples/text/comments/comments.gz
package main

import (
	"bufio"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gofleet/gofleet/examples/text/comments"
)

func main() {
	src := flag.String("src", "", "the library's sources; without it, those of the go command")
	out := flag.String("out", "comments.gz", "file to write")
	flag.Parse()
	if *src == "" {
		root, err := exec.Command("go", "env", "GOROOT").Output()
		if err != nil {
			log.Fatalf("go env GOROOT: %v: name the library's sources with -src", err)
		}
		*src = filepath.Join(strings.TrimSpace(string(root)), "src")
	}
	if err := write(*src, *out); err != nil {
		log.Fatal(err)
	}
}

// write packs the paragraphs of all folders of classes.
func write(src, out string) error {
	file, err := os.Create(out)
	if err != nil {
		return err
	}
	z, _ := gzip.NewWriterLevel(file, gzip.BestCompression)
	w := bufio.NewWriter(z)
	var errs []error
	for _, class := range comments.Classes {
		seen := map[string]bool{}
		errs = append(errs, filepath.WalkDir(filepath.Join(src, class),
			func(dir string, d fs.DirEntry, err error) error {
				if err != nil || !d.IsDir() {
					return err
				}
				if slices.Contains([]string{"internal", "testdata", "cmd", "vendor"}, d.Name()) {
					return filepath.SkipDir
				}
				for _, p := range paragraphs(dir) {
					if len(strings.Fields(p)) >= 8 && !seen[p] {
						seen[p] = true
						fmt.Fprintf(w, "%s\t%s\n", class, p)
					}
				}
				return nil
			}))
	}
	return errors.Join(append(errs, w.Flush(), z.Close(), file.Close())...)
}

// paragraphs are those of a folder's documentation, each as a line, without code; programs are left out.
func paragraphs(dir string) (all []string) {
	sources, files := token.NewFileSet(), map[string][]*ast.File{} // by package
	names, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	for _, name := range names {
		file, err := parser.ParseFile(sources, name, nil, parser.ParseComments)
		if err == nil && file.Name.Name != "main" && !strings.HasSuffix(name, "_test.go") {
			files[file.Name.Name] = append(files[file.Name.Name], file)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		p, err := doc.NewFromFiles(sources, files[name], dir)
		if err != nil {
			log.Fatalf("%s: %v", dir, err)
		}
		add := func(text string) {
			for paragraph := range strings.SplitSeq(text, "\n\n") {
				if !strings.HasPrefix(paragraph, "\t") && !strings.HasPrefix(paragraph, " ") {
					all = append(all, strings.Join(strings.Fields(paragraph), " "))
				}
			}
		}
		values := func(of []*doc.Value) {
			for _, v := range of {
				add(v.Doc)
			}
		}
		funcs := func(of []*doc.Func) {
			for _, f := range of {
				add(f.Doc)
			}
		}
		add(p.Doc)
		values(append(p.Consts, p.Vars...))
		funcs(p.Funcs)
		for _, t := range p.Types {
			add(t.Doc)
			values(append(t.Consts, t.Vars...))
			funcs(append(t.Funcs, t.Methods...))
		}
	}
	return all
}
