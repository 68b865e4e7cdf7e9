package starter

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Program is the report on a written program.
type Program struct {
	Rows       int // that were examined
	Numbers    int // fields of numbers
	Categories int
	Crosses    int      // of two categories
	Lists      []string // fields of several values in a row, with their separators
	Left       []string // fields that are left out, with the reasons
	Label      string
	Task       string // what the model predicts
}

// Write writes a program into the directory dir, which is created if missing and may hold none of its files: main.go,
// main_test.go and README.md. data is the path of the rows, and test, unless it is "", that of others to test on; they
// are stored in the program relative to dir. separators has the separator of fields with several values, "" for fields
// with one value; for other fields it is guessed. Write returns an error if the rows or the label are not usable.
func Write(dir, data, test, label string, separators map[string]string) (*Program, error) {
	return begin(dir, &program{data: data, tested: test}, label, separators)
}

// begin writes p, of which data, and tested or days, are set.
func begin(dir string, p *program, label string, separators map[string]string) (*Program, error) {
	r, err := readRows(p.data)
	if err != nil {
		return nil, err
	}
	if err := r.findLists(separators, label); err != nil {
		return nil, err
	}
	if err := r.match(p.tested); err != nil {
		return nil, err
	}
	p.rows, p.module, r.daily = r, filepath.Base(absolute(dir)), p.days != ""
	if err := p.split(label); err != nil {
		return nil, err
	}
	if err := p.findTask(); err != nil {
		return nil, err
	}
	columns, labels := p.look()
	p.findCategories(columns, labels)
	p.findCrosses(columns, labels)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	for _, path := range []*string{&p.data, &p.tested, &p.days} {
		if *path != "" {
			*path = relative(dir, *path)
		}
	}
	files := map[string]string{"main.go": p.main(), "main_test.go": p.test(), "README.md": p.readme()}
	for name := range files {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return nil, fmt.Errorf("%s is there already: name another directory", filepath.Join(dir, name))
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			return nil, err
		}
	}
	written := &Program{Rows: r.count, Numbers: len(p.numbers) + len(p.vectors), Categories: len(p.categories),
		Crosses: len(p.crosses), Left: p.leftOut(), Label: label, Task: p.predicts()}
	for _, f := range p.lists {
		written.Lists = append(written.Lists, said(f.name)+" "+f.lists.is())
	}
	return written, nil
}

func (p *program) predicts() string {
	switch p.task {
	case chance:
		if p.values != nil {
			return fmt.Sprintf("the chance that it is %q", p.values[1])
		}
		return "the chance that it is 1"
	case class:
		if p.values != nil {
			return fmt.Sprintf("which of %d texts it is, in the order of their chances %s", p.classes,
				strings.Join(p.values, ", "))
		}
		return fmt.Sprintf("which of %d classes it is", p.classes)
	}
	return "the number that it is"
}

// relative returns a path relative to a directory, where there is one.
func relative(dir, path string) string {
	if short, err := filepath.Rel(resolved(dir), resolved(path)); err == nil {
		return short
	}
	return resolved(path)
}

// resolved returns a path without symbolic links, behind which .. would be another directory.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return absolute(path)
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// quoted returns a text as a Go literal.
func quoted(s string) string { return strconv.Quote(strings.ToValidUTF8(s, "")) }
