package twin_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// TestWrongsApply: what TestPower puts back can be put back, and compiles.
func TestWrongsApply(t *testing.T) {
	law.Slow(t)
	wrongs, err := filepath.Glob("testdata/power/*.diff")
	if err != nil || len(wrongs) == 0 {
		t.Fatalf("testdata/power has no wrongs: %v", err)
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not here")
	}
	c := newCompiler(t)
	for _, file := range wrongs {
		diff, err := os.ReadFile(file)
		if err == nil {
			err = c.compiles(t, string(diff))
		}
		if err != nil {
			t.Errorf("%s: make it anew, as TestPower says: %v", filepath.Base(file), err)
		}
	}
}

// TestWrongsThatDoNotCompileAreSeen shows the check patches of every kind.
func TestWrongsThatDoNotCompileAreSeen(t *testing.T) {
	law.Slow(t)
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not here")
	}
	c := newCompiler(t)
	was := "func (b Block) Bytes() int64 { return 4 * int64(b.Size) }"
	patch := func(was, now string) string {
		return "--- a/strategy/placement/block.go\n+++ b/strategy/placement/block.go\n@@ -26,3 +26,3 @@\n // Bytes is the room that the block's float32 elements take.\n-" +
			was + "\n+" + now + "\n \n"
	}
	for now, want := range map[string]string{
		"func (b Block) Bytes() int64 { return 3 * int64(b.Size) }":   "",
		"func (b Block) Bytes() int64 { return 4 * int64(b.Length) }": "b.Length undefined",
		"func (b Block) Bytes() int64 { return 4 * int64(b.Size }":    "missing ','",
		"func (b Block) Bytes() int64 { os.Exit(1); return 4 }":       "undefined: os",
	} {
		err := c.compiles(t, patch(was, now))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", now, err, want)
		}
	}
	if err := c.compiles(t, patch("func other() {}", was)); err == nil || !strings.Contains(err.Error(), "no longer applies") {
		t.Errorf("a patch of what is not there: %v", err)
	}
}

// compiler finds the types of patched packages among those that the twin and package jobs are built of.
type compiler struct {
	root     string
	packages []listed
	files    *token.FileSet
	imports  types.Importer
}

// listed is a package as go list has it.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

func newCompiler(t *testing.T) *compiler {
	t.Helper()
	law.Long(t)
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	c := &compiler{root: root, files: token.NewFileSet()}
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-export", "-json=ImportPath,Dir,Export,GoFiles", ".", "../jobs")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	for d := json.NewDecoder(strings.NewReader(string(out))); err == nil; {
		var p listed
		if err = d.Decode(&p); err == nil {
			c.packages = append(c.packages, p)
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Fatalf("go list: %v", err)
	}
	c.imports = importer.ForCompiler(c.files, "gc", func(path string) (io.ReadCloser, error) {
		i := slices.IndexFunc(c.packages, func(p listed) bool { return p.ImportPath == path })
		if i < 0 {
			return nil, fmt.Errorf("the twin is not built of %s", path)
		}
		return os.Open(c.packages[i].Export)
	})
	return c
}

var patched = regexp.MustCompile(`(?m)^\+\+\+ b/(\S+)$`)

// patch writes the files of the tree in root that a patch changes into there, as it has them, and returns their names by
// folder.
func patch(t *testing.T, root, there, diff string) (changed map[string][]string, err error) {
	t.Helper()
	changed = map[string][]string{}
	for _, m := range patched.FindAllStringSubmatch(diff, -1) {
		text, err := os.ReadFile(filepath.Join(root, m[1]))
		if err == nil {
			err = os.MkdirAll(filepath.Join(there, filepath.Dir(m[1])), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(there, m[1]), text, 0o644)
		}
		if err != nil {
			return nil, err
		}
		changed[filepath.Dir(m[1])] = append(changed[filepath.Dir(m[1])], filepath.Base(m[1]))
	}
	apply := exec.CommandContext(t.Context(), "git", "apply", "-C1", "-")
	apply.Dir, apply.Stdin = there, strings.NewReader(diff)
	apply.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(there)) // of no work tree
	if out, err := apply.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("it no longer applies: %s", out)
	}
	return changed, nil
}

// compiles says what is wrong with the packages that a patch changes.
func (c *compiler) compiles(t *testing.T, diff string) error {
	t.Helper()
	there := t.TempDir()
	changed, err := patch(t, c.root, there, diff)
	if err != nil {
		return err
	}
	for dir, files := range changed {
		if err := c.check(filepath.Join(c.root, dir), filepath.Join(there, dir), files); err != nil {
			return fmt.Errorf("it doesn't compile: %w", err)
		}
	}
	return nil
}

// check finds the types of a package, of which some files are those of another folder.
func (c *compiler) check(dir, there string, changed []string) error {
	i := slices.IndexFunc(c.packages, func(p listed) bool { return p.Dir == dir })
	if i < 0 {
		return fmt.Errorf("the twin is not built of %s", dir)
	}
	p, parsed := c.packages[i], []*ast.File(nil)
	for _, name := range p.GoFiles {
		from := dir
		if slices.Contains(changed, name) {
			from = there
		}
		f, err := parser.ParseFile(c.files, filepath.Join(from, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		parsed = append(parsed, f)
	}
	_, err := (&types.Config{Importer: c.imports}).Check(p.ImportPath, c.files, parsed, nil)
	return err
}
