// Mutants draws changes of one operator or statement by seed, and says which of them the tests of the package that was
// changed don't find:
//
//	go run .ci/mutants/main.go [-n 100] [-seed 1] [-time 20s] [-remain 10] [-list] [file or folder…]
//
// Without files it draws in what saves a job and brings it back: cuts, facts, and the parts of a server that keep them.
// A mutant is found where a test fails, or is not over in time; on a machine that does much else give more of it. What
// doesn't build is drawn again. It fails where more remain than -remain says. -list says which would be drawn, with the
// seed by which -n 1 tries one alone, and builds nothing; so some of them may not build. Mutants have seeds one after
// the other: a draw that shares none with another begins some hundreds further on. -by has the tests of another package
// judge, such as jobs that a twin has drawn:
//
//	FLEET_SEEDS=500 go run .ci/mutants/main.go -by fleet/internal/twin -n 30 -time 10m internal/session nn/executor.go
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofleet/gofleet/internal/law"
)

// keeps are the files that save a job and bring it back.
var keeps = []string{"internal/cut", "internal/server/state/facts.go", "internal/server/state/part.go",
	"internal/server/state/journal.go", "internal/server/state/lives.go", "internal/roster/hope.go",
	"internal/roster/savers.go", "internal/server/base.go", "internal/server/following.go",
	"internal/server/frozen.go", "internal/server/growth.go", "internal/server/holding.go",
	"internal/server/leading.go", "internal/server/load.go", "internal/server/recording.go",
	"internal/server/recovery.go", "internal/server/reload.go", "internal/server/returning.go",
	"internal/server/save.go", "internal/server/serving.go", "internal/server/stopping.go", "internal/server/works.go"}

var (
	n      = flag.Int("n", 100, "how many mutants to try")
	seed   = flag.Uint64("seed", 1, "the seed of the first")
	limit  = flag.Duration("time", 20*time.Second, "what the tests of a package may take to find one")
	remain = flag.Int("remain", 10, "how many may be found by no test")
	by     = flag.String("by", "", "the folder of the package whose tests judge, if not that of the change")
	list   = flag.Bool("list", false, "only list what would be tried")
)

func main() {
	log.SetFlags(0)
	flag.Parse()
	files, err := filesOf(flag.Args())
	if err != nil {
		log.Fatal("mutants: ", err)
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		log.Fatal("mutants: ", err)
	}
	left, err := try(files, dir)
	_ = os.RemoveAll(dir)
	if err != nil {
		log.Fatal("mutants: ", err)
	}
	if *list {
		return
	}
	fmt.Printf("%d of %d mutants were found\n", *n-left, *n)
	if left > *remain {
		os.Exit(1)
	}
}

// filesOf are the files of the product that the arguments name.
func filesOf(args []string) (files []string, err error) {
	if len(args) == 0 {
		args = keeps
	}
	for _, arg := range args {
		all := []string{arg}
		if !strings.HasSuffix(arg, ".go") {
			if all, err = filepath.Glob(filepath.Join(arg, "*.go")); err != nil {
				return nil, err
			}
		}
		for _, file := range all {
			if !strings.HasSuffix(file, "_test.go") {
				files = append(files, file)
			}
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no Go files in %q", args)
	}
	return files, nil
}

// try tries so many mutants, each once, and counts the ones that no test finds.
func try(files []string, dir string) (left int, err error) {
	var drawn []string
	for s, tried := *seed, 0; tried < *n && s < *seed+uint64(100**n); s++ {
		m, err := law.Mutate(files, s)
		if err != nil {
			return 0, err
		}
		name := fmt.Sprintf("%s:%d: %s", m.File, m.Line, m.Says)
		if slices.Contains(drawn, name) {
			continue
		}
		drawn = append(drawn, name)
		if *list {
			tried++
			fmt.Printf("seed %d: %s\n", s, name)
			continue
		}
		test, err := build(m, dir)
		if err != nil {
			return 0, err
		}
		if test == "" {
			continue
		}
		tried++
		if how := find(test, cmp.Or(*by, filepath.Dir(m.File))); how != "" {
			fmt.Printf("seed %d: %s: %s\n", s, name, how)
			continue
		}
		left++
		fmt.Printf("seed %d: %s: REMAINS\n", s, name)
	}
	return left, nil
}

// build makes the tests of a mutant's package, and returns their program; "" where the mutant doesn't build.
func build(m law.Mutant, dir string) (test string, err error) {
	at, err := filepath.Abs(m.File)
	if err != nil {
		return "", err
	}
	changed, overlay := filepath.Join(dir, "mutant.go"), filepath.Join(dir, "overlay.json")
	files, err := json.Marshal(map[string]any{"Replace": map[string]string{at: changed}})
	if err == nil {
		err = os.WriteFile(changed, m.Now, 0o644)
	}
	if err == nil {
		err = os.WriteFile(overlay, files, 0o644)
	}
	if err != nil {
		return "", err
	}
	test = filepath.Join(dir, "package.test")
	pkg := "./" + cmp.Or(*by, filepath.Dir(m.File))
	if exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", test, pkg).Run() != nil {
		return "", nil
	}
	return test, nil
}

// find runs the tests of a package, and says which of them has failed; "" where none has.
func find(test, dir string) (how string) {
	ctx, cancel := context.WithTimeout(context.Background(), *limit)
	defer cancel()
	run := exec.CommandContext(ctx, test, "-test.short", "-test.failfast")
	run.Dir, run.Env = dir, append([]string{"FLEET_SEEDS=1"}, os.Environ()...) // -short alone leaves slow tests out
	out, err := run.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return "not over in time"
	case err == nil:
		return ""
	}
	for line := range strings.Lines(string(out)) {
		if name, is := strings.CutPrefix(line, "--- FAIL: "); is {
			return strings.TrimSpace(name)
		}
	}
	return "ended: " + err.Error()
}
