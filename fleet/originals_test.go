package fleet_test

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/internal/porttest"
	"github.com/gofleet/gofleet/optimizer"
)

// The examples are programs that Fleet's documentation teaches, written for gofleet. lines are those of the program there: its
// statements and clause headers (def, else, try, except), a statement over several lines being one, without imports,
// comments and blank lines, and with one strategy where it shows three.
var originals = []struct {
	name, file string
	lines      int
	functions  []string
}{
	{"wide & deep", "example_wideanddeep_test.go", 30, []string{"wideAndDeep"}},
	{"quick start with a role maker", "example_quickstart_test.go", 28, []string{"quickStart"}},
	{"fleet API with a user's roles", "example_userdefined_test.go", 22, []string{"userDefined"}},
	{"MNIST, network and program", "example_mnist_test.go", 37, []string{"mnistOnMLP", "mnist"}},
	{"MNIST without servers, network and program", "example_collective_test.go", 30, []string{"collectiveTrainer"}},
	{"from one process to many", "example_strategyfactory_test.go", 10, []string{"onCluster"}},
}

// TestNoLongerThanTheOriginals counts as they are counted: statements and headers, without checks of errors.
//
// Promise: [G11] the programs of Fleet's documentation run, alone and as processes, and none is longer than there
// Also: TestOriginalsOnACluster, TestDocIsTheExample
func TestNoLongerThanTheOriginals(t *testing.T) {
	t.Parallel()
	for _, o := range originals {
		ours := 0
		if o.file == "example_collective_test.go" { // the network is the other example's
			ours = len(program(t, parseFile(t, "example_mnist_test.go"), "mnistOnMLP"))
		}
		for _, name := range o.functions {
			n := len(program(t, parseFile(t, o.file), name))
			if n == 0 {
				t.Errorf("%s: no function %s", o.file, name)
			}
			ours += n
		}
		t.Logf("%-30s %d lines, the original has %d", o.name, ours, o.lines)
		if ours > o.lines {
			t.Errorf("%s: %d lines, the original has %d", o.name, ours, o.lines)
		}
	}
}

// TestDocIsTheExample keeps the program of the package's documentation, and that of RECOVERY.md, what examples run, line by line
// but for checks of errors and for what an example prints.
func TestDocIsTheExample(t *testing.T) {
	t.Parallel()
	recovery, err := os.ReadFile("../RECOVERY.md")
	law.Check(t, err)
	everyRole := program(t, parseFile(t, "example_test.go"), "everyRole")
	survives := program(t, parseFile(t, "example_recovery_test.go"), "recovering")
	for _, c := range []struct {
		where, text, begins string
		ran                 []string
	}{
		{"doc.go", parseFile(t, "doc.go").Doc.Text(), "f, err := fleet.Init", everyRole},
		{"RECOVERY.md", string(recovery), "s := strategy.Sync()\ns.Recovery", survives},
	} {
		ran := slices.DeleteFunc(slices.Clone(c.ran), func(line string) bool { return strings.HasPrefix(line, "fmt.") || line == "return err" })
		_, after, found := strings.Cut(c.text, c.begins)
		body, _, ends := strings.Cut(after, "err = f.StopWorker(ctx)\n")
		if !found || !ends {
			t.Errorf("%s has no program that begins with %s", c.where, c.begins)
			continue
		}
		body = c.begins + body + "err = f.StopWorker(ctx)"
		f, err := parser.ParseFile(token.NewFileSet(), c.where, "package p\nfunc shown() {\n"+body+"\n}", 0)
		law.Check(t, err)
		if shown := program(t, f, "shown"); !slices.Equal(shown, ran) {
			t.Errorf("%s shows\n\t%s\nthe example runs\n\t%s", c.where, strings.Join(shown, "\n\t"), strings.Join(ran, "\n\t"))
		}
	}
}

// TestOriginalsOnACluster runs the examples as the originals are run: one process a role, told by the environment who it is.
func TestOriginalsOnACluster(t *testing.T) {
	t.Parallel()
	trial.Long(t)
	for name := range inProcesses() {
		t.Run(name, func(t *testing.T) {
			for role, out := range runProcesses(t, name, 2, 2) {
				if worker := strings.HasPrefix(role, "worker"); worker != (len(out) > 0) {
					t.Errorf("%s printed %q", role, out)
				}
			}
		})
	}
}

// TestOriginalWithoutServers runs the collective example as two workers, of which each prints its own losses.
func TestOriginalWithoutServers(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	endpoints := strings.Join(porttest.Free(t, 2), ",")
	outputs := make([][]byte, 2)
	var all sync.WaitGroup
	for i := range outputs {
		all.Go(func() {
			c := exec.CommandContext(t.Context(), os.Args[0])
			c.Env = append(os.Environ(), roleVariable+"=collective", "PADDLE_TRAINER_ENDPOINTS="+endpoints, fmt.Sprint("PADDLE_TRAINER_ID=", i))
			var err error
			if outputs[i], err = c.Output(); err != nil {
				t.Errorf("worker %d: %v", i, err)
			}
		})
	}
	all.Wait()
	for i, out := range outputs {
		if n := bytes.Count(out, []byte("loss: ")); n != 2 {
			t.Errorf("worker %d trained %d steps of its 160 digits:\n%s", i, n, out)
		}
	}
}

// inProcesses are the programs that ask the environment who they are.
func inProcesses() map[string]func(context.Context, io.Writer) error {
	return map[string]func(context.Context, io.Writer) error{
		"wideAndDeep": wideAndDeep,
		"byHand":      byHand,
		"quickStart":  quickStart,
		"mnist": func(ctx context.Context, out io.Writer) error {
			train, _, err := readDigits()
			if err != nil {
				return err
			}
			return mnist(ctx, train.Take(320), out)
		},
		"onCluster": func(ctx context.Context, out io.Writer) error {
			m := widedeep.New(small())
			return onCluster(ctx, m, optimizer.Adagrad{LR: 0.01}, func(ctx context.Context) error { return trainOn(ctx, m, out) })
		},
	}
}

func collectiveOnDigits(ctx context.Context, out io.Writer) error {
	train, _, err := readDigits()
	if err != nil {
		return err
	}
	return collectiveTrainer(ctx, train.Take(320), out)
}

// roleVariable names the program that a process started by runProcesses is.
const roleVariable = "GOFLEET_TEST_PROGRAM"

// TestMain is the program of one role where runProcesses started it.
func TestMain(m *testing.M) {
	run, ok := inProcesses()[os.Getenv(roleVariable)]
	switch os.Getenv(roleVariable) {
	case "collective":
		run, ok = collectiveOnDigits, true
	case "traffic":
		run, ok = runTraffic, true
	case "naiveTraffic":
		run, ok = runNaive, true
	}
	if !ok {
		trial.Waits()
		os.Exit(trial.InMemory(m))
	}
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// runProcesses runs a program as that many servers and workers on loopback and returns what each wrote to its output.
func runProcesses(t testing.TB, name string, servers, workers int) map[string]string {
	t.Helper()
	return runProcessesAt(t, porttest.Free(t, servers), name, workers)
}

// runProcessesAt is runProcesses with servers at endpoints that are known.
func runProcessesAt(t testing.TB, endpoints []string, name string, workers int) map[string]string {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	outputs := map[string]string{}
	start := func(role string, env ...string) {
		all.Go(func() {
			c := exec.CommandContext(t.Context(), os.Args[0])
			c.Env = append(os.Environ(), append(env, roleVariable+"="+name, "PADDLE_PSERVERS_IP_PORT_LIST="+strings.Join(endpoints, ","),
				fmt.Sprint("PADDLE_TRAINERS_NUM=", workers))...)
			var errs bytes.Buffer
			c.Stderr = &errs
			out, err := c.Output()
			if err != nil {
				t.Errorf("%s: %v\n%s", role, err, errs.Bytes())
			}
			mu.Lock()
			defer mu.Unlock()
			outputs[role] = string(out)
		})
	}
	for i := range workers { // before the servers, as it may happen
		start(fmt.Sprint("worker ", i), "TRAINING_ROLE=TRAINER", fmt.Sprint("PADDLE_TRAINER_ID=", i))
	}
	for i, endpoint := range endpoints {
		ip, port, _ := strings.Cut(endpoint, ":")
		start(fmt.Sprint("server ", i), "TRAINING_ROLE=PSERVER", "POD_IP="+ip, "PADDLE_PORT="+port)
	}
	all.Wait()
	return outputs
}

func parseFile(t *testing.T, name string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
	law.Check(t, err)
	return f
}

// program is the lines of a function as they count.
func program(t *testing.T, f *ast.File, name string) (lines []string) {
	t.Helper()
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == name {
			lines = appendLines(lines, fn.Body)
		}
	}
	return lines
}

// appendLines appends a statement, one line for each statement or header in it.
func appendLines(lines []string, s ast.Stmt) []string {
	switch s := s.(type) {
	case nil:
		return lines
	case *ast.BlockStmt:
		for _, inner := range s.List {
			lines = appendLines(lines, inner)
		}
		return lines
	case *ast.IfStmt:
		if isErrorCheck(s) {
			return appendLines(lines, s.Init)
		}
		lines = appendLines(append(lines, "if "+text(s.Cond)), s.Body)
		if s.Else != nil {
			lines = appendLines(append(lines, "else"), s.Else)
		}
		return lines
	case *ast.RangeStmt:
		return appendLines(append(lines, fmt.Sprintf("for %v, %v := range %s", exprText(s.Key), exprText(s.Value), text(s.X))), s.Body)
	case *ast.ForStmt:
		return appendLines(append(lines, "for "+exprText(s.Cond)), s.Body)
	}
	return append(lines, text(s))
}

// isErrorCheck says whether a statement does nothing but pass an error on.
func isErrorCheck(s *ast.IfStmt) bool {
	return text(s.Cond) == "err != nil" && s.Else == nil && len(s.Body.List) == 1 && text(s.Body.List[0]) == "return err"
}

func exprText(e ast.Expr) string {
	if e == nil {
		return "_"
	}
	return text(e)
}

// text is a node as it is written, in one line.
func text(n ast.Node) string {
	var b strings.Builder
	if err := printer.Fprint(&b, token.NewFileSet(), n); err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
