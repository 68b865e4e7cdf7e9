package deps_test

import (
	"fmt"
	"go/parser"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gofleet/gofleet/internal/law"
)

// TestImports holds the module to the tables: no package imports what its row does not name.
func TestImports(t *testing.T) {
	bad, files, err := check(tree)
	report(t, bad, files, 100, err)
}

// TestLauncherIsLight: fleetrun, which writes programs that train, links neither layers nor tensors.
func TestLauncherIsLight(t *testing.T) {
	law.Slow(t)
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "./fleet/fleetrun")
	list.Dir = "../.."
	out, err := list.Output()
	linked := strings.Fields(string(out))
	if err != nil || !slices.Contains(linked, module+"internal/starter") {
		t.Fatalf("%v: %d packages", err, len(linked))
	}
	for _, name := range linked {
		if name == module+"nn" || strings.HasPrefix(name, module+"nn/") || strings.HasPrefix(name, "gorgonia.org/") {
			t.Errorf("fleetrun links %s", name)
		}
	}
}

// TestRowsExist keeps rows from outliving their packages.
func TestRowsExist(t *testing.T) {
	for row := range house {
		if dir := strings.TrimSuffix(row, "/..."); !isDir(dir) {
			t.Errorf("the table has a row for %s, which does not exist", row)
		}
		for _, name := range house[row] {
			if dir := strings.TrimSuffix(name, "/..."); !isDir(dir) {
				t.Errorf("the row of %s names %s, which does not exist", row, name)
			}
		}
	}
}

func isDir(dir string) bool {
	info, err := os.Stat("../../" + dir)
	return err == nil && info.IsDir()
}

// TestCheck shows the check trees with one file, good and bad.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		file, imports string
		ok            bool
	}{
		{"nn/a.go", module + "optimizer", true},
		{"nn/a.go", module + "fleet", false},
		{"nn/a.go", "net/http", true},
		{"internal/kernels/a.go", "C", false},
		{"nn/a.go", "github.com/valyala/fasthttp", false},
		{"transport/a.go", "github.com/valyala/fasthttp", true},
		{"internal/client/a.go", "github.com/valyala/fasthttp", false},
		{"internal/client/a_test.go", "github.com/valyala/fasthttp", true},
		{"transport/a.go", "github.com/valyala/fasthttputil", false},
		{"transport/codec/a.go", "github.com/klauspost/compress/zstd", true},
		{"optimizer/a.go", module + "internal/table", false},
		{"optimizer/a.go", "github.com/google/go-cmp/cmp", false},
		{"optimizer/a_test.go", "github.com/google/go-cmp/cmp", true},
		{"optimizer/a_test.go", module + "optimizer", true},
		{"optimizer/a_test.go", module + "optimizer/optimizertest", true},
		{"optimizer/a_test.go", module + "nn", false},
		{"optimizer/a.go", module + "optimizer/optimizertest", false},
		{"fleet/fleetrun/a.go", module + "fleet", false},
		{"examples/a/main.go", module + "fleet", true},
		{"examples/a/main.go", module + "examples/a/b", true},
		{"examples/a/main.go", module + "internal/table", false},
		{"examples/a/main_test.go", module + "fleet/fleettest", true},
		{"somewhere/new/a.go", module + "optimizer", false},
		{"nn/testdata/a.go", module + "fleet", true}, // not part of the module
	} {
		src := fmt.Sprintf("package a\n\nimport _ %q\n", c.imports)
		bad, _, err := check(fstest.MapFS{c.file: {Data: []byte(src)}})
		if err != nil {
			t.Fatal(err)
		}
		if (len(bad) == 0) != c.ok {
			t.Errorf("%s importing %s: ok = %v, want %v (%v)", c.file, c.imports, len(bad) == 0, c.ok, bad)
		}
	}
}

// check reads the imports of all Go files below the root and lists those that the tables do not allow.
func check(root fs.FS) (bad []string, files int, err error) {
	err = eachFile(root, func(file string) error {
		files++
		imports, err := importsOf(root, file)
		for _, name := range imports {
			if !allowed(file, name) {
				bad = append(bad, fmt.Sprintf("%s imports %s, which internal/deps/table_test.go does not allow", file, name))
			}
		}
		return err
	}, ".go")
	return bad, files, err
}

func importsOf(root fs.FS, file string) ([]string, error) {
	parsed, err := parse(root, file, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, spec := range parsed.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// allowed says whether a file may import a package.
func allowed(file, name string) bool {
	pkg, test := path.Dir(file), strings.HasSuffix(file, "_test.go")
	if short, ok := strings.CutPrefix(name, module); ok {
		return names(row(house, pkg), short) || test && allowedInTest(pkg, short)
	}
	if name == "C" {
		return false // nobody needs a C compiler, and no row pays for a call into it
	}
	if !strings.Contains(strings.Split(name, "/")[0], ".") {
		return true // the standard library
	}
	return within(row(outside, pkg), name) || test && (within(outsideTests, name) || within(outsideTestsOf[pkg], name))
}

func allowedInTest(pkg, name string) bool {
	return name == pkg || name == "internal/law" || strings.HasSuffix(name, "test") || names(houseTests[pkg], name)
}

// row is a package's row, or that of the folder it lies in.
func row(table map[string][]string, pkg string) []string {
	if r, ok := table[pkg]; ok {
		return r
	}
	top, _, _ := strings.Cut(pkg, "/")
	return table[top+"/..."]
}

// names says whether a row allows a package of the module.
func names(row []string, name string) bool {
	return slices.ContainsFunc(row, func(r string) bool {
		prefix, all := strings.CutSuffix(r, "...")
		return r == name || all && strings.HasPrefix(name, prefix)
	})
}

// within says whether a package belongs to one of the modules.
func within(modules []string, name string) bool {
	return slices.ContainsFunc(modules, func(m string) bool { return name == m || strings.HasPrefix(name, m+"/") })
}
