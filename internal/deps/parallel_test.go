package deps_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// parallel are the packages whose tests wait much, for disks and for other processes, so that they run beside each other.
var parallel = []string{"fleet", "fleet/fleetrun", "fleet/fleettest", "fleet/train"}

// TestTestsRunBesideEachOther: in packages whose tests wait much, each begins with t.Parallel(), or with why it is serial.
func TestTestsRunBesideEachOther(t *testing.T) {
	bad, seen, err := serial(tree)
	report(t, bad, seen, 300, err)
}

// TestSerialTestsAreSeen shows the check tests of both kinds.
func TestSerialTestsAreSeen(t *testing.T) {
	for body, want := range map[string]int{
		"t.Parallel()\n\tt.Log()":                       0,
		"// Serial: it sets the umask.\n\tt.Log()":      0,
		"// Serial:\n\tt.Log()":                         1,
		"t.Log()\n\tt.Parallel()":                       1,
		"t.Log()":                                       1,
		"t.Log()\n\t// Serial: it is said too late.\n":  1,
		"for range 2 {\n\t\tt.Parallel()\n\t}\n":        1,
		"u.Parallel()\n\tt.Log()":                       1,
		"// It is slow.\n\tt.Parallel()\n\tt.Log(\"\")": 0,
	} {
		src := "package fleet\n\nfunc TestA(t *testing.T) {\n\t" + body + "\n}\n"
		bad, seen, err := serial(fstest.MapFS{"fleet/a_test.go": {Data: []byte(src)}, "nn/a_test.go": {Data: []byte(src)}})
		if err != nil || seen != 1 || len(bad) != want {
			t.Errorf("%q: %q of %d tests, error %v; want %d", body, bad, seen, err, want)
		}
	}
}

// serial are the tests that run alone and don't say why.
func serial(root fs.FS) (bad []string, seen int, err error) {
	err = eachFile(root, func(file string) error {
		if !strings.HasSuffix(file, "_test.go") || !slices.Contains(parallel, path.Dir(file)) {
			return nil
		}
		src, err := fs.ReadFile(root, file)
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		tree, err := parser.ParseFile(fset, file, src, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range tree.Decls {
			f, is := d.(*ast.FuncDecl)
			if !is || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") || f.Name.Name == "TestMain" {
				continue
			}
			seen++
			begins := strings.TrimSpace(string(src[fset.Position(f.Body.Lbrace).Offset+1 : fset.Position(f.Body.Rbrace).Offset]))
			why, told := strings.CutPrefix(begins, "// Serial:")
			reason, _, _ := strings.Cut(why, "\n")
			if told && strings.TrimSpace(reason) != "" || begun(f.Body) {
				continue
			}
			bad = append(bad, fmt.Sprintf("%s: %s begins neither with t.Parallel() nor, if it changes or measures the process (environment, "+
				"log, working directory, memory), with a comment \"// Serial: it …\"", file, f.Name.Name))
		}
		return nil
	}, ".go")
	return bad, seen, err
}

// begun says whether the first statement is t.Parallel().
func begun(body *ast.BlockStmt) bool {
	if len(body.List) == 0 {
		return false
	}
	call, is := body.List[0].(*ast.ExprStmt)
	return is && types.ExprString(call.X) == "t.Parallel()"
}
