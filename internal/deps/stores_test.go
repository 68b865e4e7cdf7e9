package deps_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// inStores are the packages whose files may lie in a store: -out, -checkpoint and -load may be URLs.
var inStores = []string{"fleet", "fleet/checkpoints", "fleet/train", "internal/backend", "internal/checkpoint", "internal/client",
	"internal/inference", "internal/modelfiles", "internal/replica", "internal/runs", "internal/server", "internal/solo"}

// onDisks are their files that have to do with disks of this machine alone, each with the reason.
var onDisks = map[string]string{
	"fleet/train/tensorboard.go":       "what TensorBoard shows is appended to",
	"internal/checkpoint/hold.go":      "a lock of this machine; lease.go is the one in a store",
	"internal/checkpoint/near.go":      "looks around for what was meant, on disks",
	"internal/modelfiles/lock_unix.go": "a lock of this machine",
	"internal/modelfiles/near.go":      "looks around for what was meant, on disks",
	"internal/modelfiles/published.go": "a link, which a store has not",
	"internal/modelfiles/save.go":      "renames, which a store does without",
	"internal/runs/runs.go":            "fleetrun compares directories of this machine",
	"internal/server/returning.go":     "journals are local",
}

// ofDisks is how calls begin that know files of this machine alone. Package internal/files has its like for both.
var ofDisks = regexp.MustCompile(`^(os\.(Create|Open|WriteFile|ReadFile|Mkdir|Rename|Remove|ReadDir|Stat|Lstat|Chtimes|Truncate)|` +
	`filepath\.(Join|Dir|Base|Clean|Glob|Walk))`)

// TestFilesMayLieInStores finds calls by which a URL would become a directory of this machine.
func TestFilesMayLieInStores(t *testing.T) {
	bad, files, err := local(tree)
	report(t, bad, files, 100, err)
}

// TestLocalCallsAreSeen shows the check what it must find, and what it must not.
func TestLocalCallsAreSeen(t *testing.T) {
	for _, c := range []struct{ file, call, want string }{
		{"fleet/train/a.go", `os.WriteFile(name, nil, 0)`, "os.WriteFile"},
		{"fleet/train/a.go", `filepath.Join(dir, "history.csv")`, "filepath.Join"},
		{"fleet/train/a.go", `os.MkdirAll(dir, 0)`, "os.MkdirAll"},
		{"fleet/train/a.go", `files.Join(dir, "history.csv")`, ""},
		{"fleet/train/a.go", `os.Getenv("HOME")`, ""},
		{"fleet/train/a.go", `filepath.Base(os.Args[0])`, ""},
		{"fleet/train/a_test.go", `os.WriteFile(name, nil, 0)`, ""},
		{"internal/journal/a.go", `os.WriteFile(name, nil, 0)`, ""},
		{"internal/runs/runs.go", `os.Open(name)`, ""},
		{"internal/runs/runs.go", `f()`, "nothing of disks"},
	} {
		bad, _, err := local(fstest.MapFS{c.file: {Data: []byte("package a\n\nfunc a() {\n\t" + c.call + "\n}\n")}})
		if err != nil {
			t.Fatal(err)
		}
		if c.want == "" && len(bad) > 0 || c.want != "" && (len(bad) != 1 || !strings.Contains(bad[0], c.want)) {
			t.Errorf("%s with %q: %q, want %q", c.file, c.call, bad, c.want)
		}
	}
}

// local lists such calls, and files that are excused and have none.
func local(root fs.FS) (bad []string, files int, err error) {
	err = eachFile(root, func(file string) error {
		if !slices.Contains(inStores, path.Dir(file)) || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		files++
		parsed, err := parse(root, file, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		var calls []string
		ast.Inspect(parsed, func(n ast.Node) bool {
			if call, is := n.(*ast.CallExpr); is && ofDisks.MatchString(called(call)) && !ofProgram(call) {
				calls = append(calls, called(call))
			}
			return true
		})
		switch why := onDisks[file]; {
		case why == "" && len(calls) > 0:
			bad = append(bad, fmt.Sprintf("%s calls %s, which knows no stores: package internal/files has its like",
				file, strings.Join(calls, ", ")))
		case why != "" && len(calls) == 0:
			bad = append(bad, fmt.Sprintf("%s calls nothing of disks: it needs no line in onDisks (%s)", file, why))
		}
		return nil
	}, ".go")
	return bad, files, err
}

// ofProgram says whether a call is about the program's own name.
func ofProgram(call *ast.CallExpr) bool {
	index, is := call.Args[0].(*ast.IndexExpr)
	if !is {
		return false
	}
	of, is := index.X.(*ast.SelectorExpr)
	return is && of.Sel.Name == "Args"
}
