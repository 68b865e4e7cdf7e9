package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// TestWhatIsWrittenIsBuilt: a program is built where its module knows this one, or the command says why not, and goes on; one that does not
// compile is an error.
func TestWhatIsWrittenIsBuilt(t *testing.T) {
	// Serial: it sets variables of the environment.
	law.Slow(t)
	root, err := filepath.Abs("../..")
	law.Check(t, err)
	module, err := os.ReadFile("../../go.mod")
	law.Check(t, err)
	sums, err := os.ReadFile("../../go.sum")
	law.Check(t, err)
	own := strings.Replace(string(module), "module github.com/gofleet/gofleet", "module example.com/mine", 1) +
		"\nrequire github.com/gofleet/gofleet v0.0.0\nreplace github.com/gofleet/gofleet => " + root + "\n"
	main := "package main\n\nimport \"github.com/gofleet/gofleet/dataset\"\n\nvar format dataset.CSV\n\nfunc main() { _ = format }\n"
	for name, c := range map[string]struct{ module, main, path, said, err string }{
		"compiles":       {own, main, os.Getenv("PATH"), "It compiles", ""},
		"does not":       {own, main + "var _ = table\n", os.Getenv("PATH"), "", "undefined: table"},
		"no module":      {"", main, os.Getenv("PATH"), "It is not built yet (go: ", ""},
		"no requirement": {"module example.com/mine\n", main, os.Getenv("PATH"), "It is not built yet (main.go:3:8: ", ""},
		"no go command":  {own, main, t.TempDir(), "It is not built yet (exec: \"go\": executable file not found", ""},
	} {
		t.Setenv("PATH", c.path)
		t.Setenv("GOFLAGS", "-mod=readonly")
		t.Setenv("GOPROXY", "off")
		dir := t.TempDir()
		law.Check(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(c.main), 0o666))
		if c.module != "" {
			law.Check(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(c.module), 0o666))
			law.Check(t, os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o666))
		}
		said, err := vetted(t.Context(), dir)
		if !strings.HasPrefix(said, c.said) || (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %q, %v", name, said, err)
		}
	}
}

// TestNewByTheDay: fleetrun new --days writes a program that trains the days of a directory, and takes no file beside it.
func TestNewByTheDay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rows := "x,y\n" + strings.Repeat("0.5,1\n0.7,0\n0.1,1\n", 20)
	law.Check(t, os.MkdirAll(filepath.Join(dir, "logs", "0411"), 0o777))
	for name, text := range map[string]string{"part": rows, "_SUCCESS": ""} {
		law.Check(t, os.WriteFile(filepath.Join(dir, "logs", "0411", name), []byte(text), 0o666))
	}
	for _, c := range []struct {
		args []string
		want int
		said string
	}{
		{[]string{"--days=" + dir + "/logs", "--label=y", "--data=" + dir + "/logs/0411/part"}, exitUsage, "leave --data and --test out"},
		{[]string{"--days=" + dir + "/logs", "--label=y", "--test=" + dir + "/logs/0411/part"}, exitUsage, "leave --data and --test out"},
		{[]string{"--days=" + dir + "/logs"}, exitUsage, "name a directory"},
		{[]string{"--days=" + dir, "--label=y"}, exitFailure, "has no complete day"},
		{[]string{"--days=" + dir + "/logs", "--label=y"}, 0, "train day after day"},
	} {
		var said strings.Builder
		if code := perform("new", append([]string{dir + "/p"}, c.args...), &console{out: &said, err: &said}); code != c.want || !strings.Contains(said.String(), c.said) {
			t.Errorf("%v: %d, want %d and %q:\n%s", c.args, code, c.want, c.said, said.String())
		}
	}
	text, err := os.ReadFile(dir + "/p/main.go")
	if err != nil || !strings.Contains(string(text), "Days:    &days") {
		t.Errorf("%v:\n%s", err, text)
	}
}
