package deps_test

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/gofleet/gofleet/internal/law"
)

// panics are the packages that may panic, each with the reason.
var panics = map[string]string{
	"fleet":                   "Default has nobody to tell that a role which is always valid is not",
	"internal/kernels":        "shapes are the caller's code, as an index of a slice is, and never a user's or the network's",
	"transport/codec":         "an encoder with constant options can't fail to be made",
	"transport/transporttest": "its handler panics to see whether a transport survives that",
}

// namers are the folders whose code asks a mode for its name: users' programs, and what draws jobs for tests. All others test the
// traits of package internal/mode, so that a mode is added in one place.
var namers = regexp.MustCompile(`^(strategy|examples|internal/chaos|fleet/internal/(twin|jobs|trial))/`)

// longest is how many columns a line of code may have where files are shown beside each other, a tab being 4; widest is for what is laid
// out by hand, the tables and drawings in comments, and pictures.
const longest, widest = 120, 140

// foreign are phrases of errors and logs that German has and English lacks; natural takes out those that it does not lack.
var foreign, natural = regexp.MustCompile(`(?i)\b(is|are) no\b|\bis none\b|\bthere are\b|\bmeant\?`), strings.NewReplacer(
	"no longer", "", // an adverb
	"[i+1]; there are ", "", // in exported ONNX files, whose bytes stay
)

// TestHabits reads every Go file for what other parameter servers are known to have done: a library that ends its user's process,
// tests that are switched off and forgotten, what a merge has left behind, and lines that no screen shows whole.
func TestHabits(t *testing.T) {
	law.Slow(t)
	bad, files, err := habits(tree)
	report(t, bad, files, 500, err)
}

// TestHabitsAreSeen shows the check what it must find, and what it must not.
func TestHabitsAreSeen(t *testing.T) {
	for _, c := range []struct{ file, body, want string }{
		{"nn/a.go", "os.Exit(1)", "os.Exit"},
		{"nn/a.go", `log.Fatalf("no")`, "log.Fatalf"},
		{"nn/a.go", `panic("no")`, "panic"},
		{"examples/a/main.go", "os.Exit(1)", ""},
		{"examples/a/train.go", "os.Exit(1)", "os.Exit"},
		{"internal/kernels/a.go", `panic("no")`, ""},
		{"internal/kernels/a.go", "os.Exit(1)", "os.Exit"},
		{"nn/a_test.go", `panic("no")`, ""},
		{"nn/a_test.go", `t.Skip("later")`, "switched off"},
		{"nn/a_test.go", `if race { t.Skip("allocates") }`, ""},
		{"nn/a_test.go", `time.Sleep(1)`, "sleeps"},
		{"nn/a_test.go", `<-time.After(1)`, "sleeps"},
		{"nn/a_test.go", `select { case <-c: case <-time.After(1): }`, ""},
		{"nn/a_test.go", `synctest.Test(t, func(t *testing.T) { time.Sleep(1) })`, ""},
		{"nn/a.go", "// " + strings.Repeat("é", 114), "line 4"},
		{"nn/a.go", "// " + strings.Repeat("é", 113), ""},
		{"nn/a.go", "//  " + strings.Repeat("é", 132), ""},
		{"nn/a.go", "//  " + strings.Repeat("é", 140), "line 4"},
		{"nn/a_test.go", "// " + strings.Repeat("é", 140), ""},
		{"nn/a.go", `fmt.Errorf("%q is no flag", s)`, "is no"},
		{"nn/a.go", `slog.Warn("these " + "are no" + what(" rows"))`, "are no"},
		{"nn/a.go", `const mode = "mode X: There " + ("are ps and collective")`, "There are"},
		{"nn/a.go", "v := `which is none`", "is none"},
		{"nn/a.go", `f("is " + name + " meant?")`, "meant?"},
		{"nn/a.go", `v := f(a + g("there are")) + "rows"`, "there are"},
		{"nn/a.go", `f("it is no longer needed", "this none") // there are`, ""},
		{"nn/a_test.go", `t.Error("is no flag")`, ""},
		{"fleet/a.go", "v := s.Mode != strategy.ModeSync", "name"},
		{"fleet/a.go", "switch s.Mode { case strategy.ModeGeo: }", "name"},
		{"fleet/a.go", "s.Mode = strategy.ModeSync", ""},
		{"fleet/a_test.go", "v := s.Mode != strategy.ModeSync", ""},
		{"fleet/internal/twin/a.go", "v := s.Mode != strategy.ModeSync", ""},
		{"nn/README.md", "<<<<<<< HEAD", "merge"},
		{"nn/README.md", "a <<<<<<< b", ""},
	} {
		src := "package a\n\nfunc TestA(t *testing.T) {\n\t" + c.body + "\n}\n"
		if path.Ext(c.file) == ".md" {
			src = "# a\n" + c.body + "\n"
		}
		bad, _, err := habits(fstest.MapFS{c.file: {Data: []byte(src)}})
		if err != nil {
			t.Fatal(err)
		}
		if c.want == "" && len(bad) > 0 || c.want != "" && (len(bad) != 1 || !strings.Contains(bad[0], c.want)) {
			t.Errorf("%s with %q: %q, want %q", c.file, c.body, bad, c.want)
		}
	}
}

// habits lists what is bad in the texts below the root.
func habits(root fs.FS) (bad []string, files int, err error) {
	err = eachFile(root, func(file string) error {
		files++
		src, err := fs.ReadFile(root, file)
		if err != nil {
			return err
		}
		if merged(src) {
			bad = append(bad, file+" has the marks of a merge in it")
		}
		if path.Ext(file) == ".go" {
			found, err := inCode(file, src)
			bad = append(append(bad, found...), tooLong(file, src)...)
			return err
		}
		return nil
	}, ".go", ".md", ".mod", ".sum", ".s")
	return bad, files, err
}

// merged says whether a line begins as git marks the sides of a conflict.
func merged(src []byte) bool {
	for line := range bytes.Lines(src) {
		if bytes.HasPrefix(line, []byte("<<<<<<< ")) || bytes.HasPrefix(line, []byte(">>>>>>> ")) {
			return true
		}
	}
	return false
}

// tooLong lists a file's lines that are wider than a screen. Tables of tests may be.
func tooLong(file string, src []byte) (bad []string) {
	if strings.HasSuffix(file, "_test.go") {
		return nil
	}
	number := 0
	for line := range bytes.Lines(src) {
		number++
		text := bytes.ReplaceAll(bytes.TrimRight(line, "\n"), []byte("\t"), []byte("    "))
		most, code := longest, bytes.TrimSpace(line)
		if bytes.HasPrefix(code, []byte("//\t")) || bytes.HasPrefix(code, []byte("//  ")) || bytes.Contains(code, []byte("<svg ")) ||
			bytes.HasPrefix(code, []byte("text {")) {
			most = widest
		}
		if n := utf8.RuneCount(text); n > most {
			bad = append(bad, fmt.Sprintf("%s, line %d has %d columns, more than %d", file, number, n, most))
		}
	}
	return bad
}

// inCode finds calls that end the process, and tests that are skipped whatever happens.
func inCode(file string, src []byte) (bad []string, err error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, src, 0)
	if err != nil {
		return nil, err
	}
	test, main := strings.HasSuffix(file, "_test.go"), path.Base(file) == "main.go"
	_, may := panics[path.Dir(file)]
	ast.Inspect(parsed, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || test {
			return true
		}
		name := called(call)
		ends := name == "os.Exit" || strings.HasPrefix(name, "log.Fatal") || strings.HasPrefix(name, "log.Panic")
		if ends && !main || name == "panic" && !may {
			bad = append(bad, fmt.Sprintf("%s calls %s: a library returns its errors", file, name))
		}
		return true
	})
	if test && sleeps(parsed) && !bytes.Contains(src, []byte("synctest.")) && !bytes.Contains(src, []byte(".Simulate(")) {
		bad = append(bad, file+" sleeps, and no clock of a test is virtual there: use testing/synctest, or a channel")
	}
	if !test {
		bad = append(bad, translated(file, parsed)...)
	}
	if !test && !namers.MatchString(file) && named(parsed) {
		bad = append(bad, file+" asks a mode for its name: test a trait of package internal/mode")
	}
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && test && skipped(f) {
			bad = append(bad, fmt.Sprintf("%s: %s is switched off", file, f.Name.Name))
		}
	}
	return bad, nil
}

// named says whether code compares something with a mode of package strategy.
func named(parsed *ast.File) (found bool) {
	is := func(e ast.Expr) bool {
		x, ok := e.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		of, ok := x.X.(*ast.Ident)
		return ok && of.Name == "strategy" && strings.HasPrefix(x.Sel.Name, "Mode")
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			found = found || (n.Op == token.EQL || n.Op == token.NEQ) && (is(n.X) || is(n.Y))
		case *ast.CaseClause:
			found = found || slices.ContainsFunc(n.List, is)
		}
		return !found
	})
	return found
}

// translated lists the texts of a file, those of errors and logs above all, that have a phrase of foreign.
func translated(file string, parsed *ast.File) (bad []string) {
	ast.Inspect(parsed, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if !ok {
			return true
		}
		text, _ := folded(e)
		phrase := foreign.FindString(natural.Replace(text))
		if phrase != "" {
			bad = append(bad, fmt.Sprintf("%s: %q has %q: say what is wrong and what is wanted, as in \"unknown command X; want …\"",
				file, text, phrase))
		}
		return phrase == ""
	})
	return bad
}

// folded is the text of a string literal or of a sum with one in it, each other term being "…".
func folded(e ast.Expr) (text string, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, e.Kind == token.STRING && err == nil
	case *ast.ParenExpr:
		return folded(e.X)
	case *ast.BinaryExpr:
		left, first := folded(e.X)
		right, second := folded(e.Y)
		if e.Op != token.ADD || !first && !second {
			return "", false
		}
		return cmp.Or(left, "…") + cmp.Or(right, "…"), true
	}
	return "", false
}

// sleeps says whether a file calls time.Sleep, or waits for time.After and, beside it, for nothing.
func sleeps(file *ast.File) (found bool) {
	beside := map[ast.Node]bool{} // waits that a select chooses among
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CommClause:
			beside[n.Comm] = true
		case *ast.CallExpr:
			found = found || called(n) == "time.Sleep"
		case *ast.ExprStmt:
			if wait, ok := n.X.(*ast.UnaryExpr); ok && !beside[n] {
				call, ok := wait.X.(*ast.CallExpr)
				found = found || ok && called(call) == "time.After"
			}
		}
		return !found
	})
	return found
}

// skipped says whether a function's own statements, under no condition, skip it.
func skipped(f *ast.FuncDecl) bool {
	return f.Body != nil && slices.ContainsFunc(f.Body.List, func(s ast.Stmt) bool {
		x, ok := s.(*ast.ExprStmt)
		if !ok {
			return false
		}
		call, ok := x.X.(*ast.CallExpr)
		return ok && strings.Contains(called(call), ".Skip")
	})
}

// called is what a call calls, as it is written: "panic", "os.Exit".
func called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok {
			return x.Name + "." + f.Sel.Name
		}
	}
	return ""
}
