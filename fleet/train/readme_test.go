package train_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/internal/porttest"
	"github.com/gofleet/gofleet/nn/serve"
)

// TestReadmesProgramRuns: the program of the README is built from its text, and does what it says: it trains from a CSV file on a cluster, goes on,
// and serves its model.
func TestReadmesProgramRuns(t *testing.T) {
	t.Parallel()
	trial.Long(t)
	program := readmesProgram(t)
	if n := strings.Count(program, "\n"); n > 60 {
		t.Errorf("the program has %d lines, want 60 at most", n)
	}
	dir := t.TempDir()
	fleetrun, late := builtFleetrun(t), build(t, dir, "late", program)
	writeFlights(t, filepath.Join(dir, "flights.csv"))

	const meant = "late: flag provided but not defined: -epoch: did you mean -epochs? -h lists all flags\n"
	mistyped := exec.CommandContext(t.Context(), late, "-epoch=3")
	if said, _ := mistyped.CombinedOutput(); string(said) != meant || mistyped.ProcessState.ExitCode() != 2 {
		t.Errorf("a mistyped flag ends with %v: %s", mistyped.ProcessState, said)
	}
	job := []string{"--server_num=1", "--worker_num=2", late, "-mode=sync", "-batch=32", "-lr=0.01", "-checkpoint=output/checkpoints"}
	if said := run(t, dir, fleetrun, job...); !strings.Contains(said, "-patience=3 -epochs=50 for 3,227 rows\n") || !strings.Contains(said, "test auc 0.9") || !strings.Contains(said, "saved output/late") {
		t.Errorf("the job said\n%s", said)
	}
	if about, err := os.ReadFile(filepath.Join(dir, "output/late/run.json")); err != nil || !strings.Contains(string(about), "\"epochs\": \"50\"") {
		t.Errorf("run.json is %s, error %v", about, err)
	}
	if said := run(t, dir, fleetrun, job...); !strings.Contains(said, "/50 and 0 examples\nnothing is left to train: ") {
		t.Errorf("the job that is started again said\n%s", said)
	}
	runsInEveryKind(t, fleetrun, late, filepath.Join(dir, "flights.csv"))
	if tooLong := served(t, dir, late, "carrier,origin,dest,distance,hour\n"+strings.Repeat("AA,JFK,LAX,2475,9\n", 1<<17)); tooLong != nil {
		t.Errorf("of lines beyond the bound, %d are answered", len(tooLong))
	}
	asksAsToldTo(t, dir, run(t, dir, late, "-epochs=1", "-out=output/brief"))
	if scores := served(t, dir, late, "carrier,origin,dest,distance,hour\nAA,JFK,LAX,2475,9\nUA,JFK,LAX,,9\n"); len(scores) != 2 || scores[0] < 0.7 || scores[1] > 0.3 {
		t.Errorf("the model that is served says %v", scores)
	}
}

// runsInEveryKind runs the program for an epoch alone, with servers in other modes, and without: the last line of each job is what it has
// saved, which the program's server reads.
func runsInEveryKind(t *testing.T, fleetrun, late, data string) {
	for kind, command := range trial.SomeOf(t, map[string][]string{
		"alone":      {late},
		"collective": {fleetrun, "--worker_num=2", late},
		"async":      {fleetrun, "--server_num=2", "--worker_num=2", late},
		"half_async": {fleetrun, "--server_num=2", "--worker_num=2", late, "-mode=half_async"},
		"ssp":        {fleetrun, "--server_num=1", "--worker_num=3", late, "-mode=ssp"},
	}) {
		dir := t.TempDir()
		said := strings.Split(strings.TrimSpace(run(t, dir, command[0], append(command[1:], "-epochs=1", "-data="+data)...)), "\n")
		if last := said[len(said)-1]; !strings.HasPrefix(last, "saved output/late") {
			t.Errorf("%s: the job's last line is %q", kind, last)
		}
		m, err := serve.Load(filepath.Join(dir, "output/late/model"))
		if err != nil || len(m.Outputs) != 1 {
			t.Errorf("%s: the model that it has left can't be read: %v", kind, err)
		}
	}
}

// TestNewProgramRuns: what fleetrun writes for a file of rows is a program that finds nothing wrong with them, and learns.
func TestNewProgramRuns(t *testing.T) {
	t.Parallel()
	trial.Long(t)
	dir := t.TempDir()
	fleetrun, data := builtFleetrun(t), filepath.Join(dir, "flights.csv")
	writeFlights(t, data)
	if said := run(t, dir, fleetrun, "new", "begun", "--data=flights.csv", "--label=late"); !strings.Contains(said, "Left out: each of origin, dest is the same in every row.") {
		t.Errorf("fleetrun new said\n%s", said)
	}
	text, err := os.ReadFile(filepath.Join(dir, "begun/main.go"))
	law.Check(t, err)
	program := build(t, t.TempDir(), "begun", string(text))
	if said := run(t, dir, program, "-check", "-data="+data); !strings.Contains(said, "\n1. rows come in the order of field \"departs\"") || strings.Contains(said, "\n2. ") {
		t.Errorf("-check said\n%s", said)
	}
	said := run(t, dir, fleetrun, "--server_num=1", "--worker_num=2", program, "-data="+data, "-epochs=6", "-lr=0.01", "-mode=sync")
	if !strings.Contains(said, "test auc 0.9") || !strings.Contains(said, "saved output") {
		t.Errorf("training said\n%s", said)
	}
	if picture, err := os.ReadFile(filepath.Join(dir, "output/calibration.svg")); err != nil || !strings.Contains(string(picture), ">late: observed by predicted<") {
		t.Errorf("%v: the label is not called as in the file in\n%s", err, picture)
	}
	test, err := os.ReadFile(filepath.Join(dir, "begun/main_test.go"))
	if err != nil || !strings.Contains(string(test), `Paths: []string{"../flights.csv"}`) {
		t.Errorf("%v: the test is\n%s", err, test)
	}
}

// readmesProgram is the whole program in the README.
func readmesProgram(t *testing.T) string {
	text, err := os.ReadFile("../../README.md")
	law.Check(t, err)
	_, program, found := strings.Cut(string(text), "```go\npackage main\n")
	program, _, ends := strings.Cut(program, "```")
	if !found || !ends {
		t.Fatal("README.md has no program")
	}
	return "package main\n" + program
}

// build builds a program as if it were in the module.
func build(t *testing.T, dir, name, code string) (binary string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	law.Check(t, err)
	source, overlay, binary := filepath.Join(dir, name+".go"), filepath.Join(dir, name+".json"), filepath.Join(dir, name)
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, "examples", name, "main.go"): source}})
	law.Check(t, err)
	for file, data := range map[string]string{source: code, overlay: string(replace)} {
		law.Check(t, os.WriteFile(file, []byte(data), 0o600))
	}
	run(t, root, "go", "build", noSymbols, "-overlay", overlay, "-o", binary, "./examples/"+name)
	return binary
}

// noSymbols has a program linked without what debuggers read, in two thirds of the time.
const noSymbols = "-ldflags=-s -w"

// programs is a directory for what several tests run.
var programs string

// builtFleetrun is fleetrun, built once.
func builtFleetrun(t *testing.T) (program string) {
	t.Helper()
	program = filepath.Join(programs, "fleetrun")
	buildFleetrun.Do(func() { run(t, "../..", "go", "build", noSymbols, "-o", program, "./fleet/fleetrun") })
	return program
}

var buildFleetrun sync.Once

// run is what a command says that succeeds.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "FLEET_PROGRESS=plain")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// writeFlights writes flights of which those of AA are late, a few others too.
func writeFlights(t *testing.T, file string) {
	var text strings.Builder
	text.WriteString("late,carrier,origin,dest,distance,hour,tail,departs\n")
	for i := range 4000 {
		carrier := []string{"AA", "UA", "DL"}[i%3]
		late := 0
		if carrier == "AA" != (i%50 == 0) {
			late = 1
		}
		fmt.Fprintf(&text, "%d,%s,JFK,LAX,%d,%d,N%d,%s\n", late, carrier, 200+i*7%3000, i%24, i,
			time.Date(2024, 1, 1, i, 0, 0, 0, time.UTC).Format(time.DateTime))
	}
	law.Check(t, os.WriteFile(file, []byte(text.String()), 0o600))
}

// asksAsToldTo does what the last lines of a job say: it serves the model, and asks for scores of the first row.
func asksAsToldTo(t *testing.T, dir, said string) {
	t.Helper()
	lines := regexp.MustCompile(`serve it: go run github.com/gofleet/gofleet(/\S+) -model=(\S+)\nask it:   head -n 2 (\S+) \| curl -s localhost:8080(/\S+) --data-binary @-\nsaved `)
	told := lines.FindStringSubmatch(said)
	if told == nil {
		t.Fatalf("the job said\n%s", said)
	}
	data, err := os.ReadFile(filepath.Join(dir, told[3]))
	law.Check(t, err)
	serve, address := filepath.Join(t.TempDir(), "serve"), porttest.Free(t, 1)[0]
	run(t, "../..", "go", "build", noSymbols, "-o", serve, "."+told[1])
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	cmd := exec.CommandContext(ctx, serve, "-addr="+address, "-model="+told[2])
	cmd.Dir = dir
	law.Check(t, cmd.Start())
	defer cmd.Wait()
	defer cancel()
	first := strings.Join(strings.SplitAfterN(string(data), "\n", 3)[:2], "")
	for {
		answer, err := http.Post("http://"+address+told[4], "application/x-www-form-urlencoded", strings.NewReader(first)) // as curl says
		if err != nil && ctx.Err() == nil {                                                                                // it does not listen yet
			continue
		}
		law.Check(t, err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(text), `"scores":{`) {
			t.Errorf("it is answered %s: %s, %v", answer.Status, text, err)
		}
		return
	}
}

// served is what a program that serves answers to lines; nil where it refuses them.
func served(t *testing.T, dir, program, lines string) (scores []float32) {
	t.Helper()
	address := porttest.Free(t, 1)[0]
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	cmd := exec.CommandContext(ctx, program, "-serve="+address)
	cmd.Dir = dir
	law.Check(t, cmd.Start())
	defer cmd.Wait()
	defer cancel()
	for {
		answer, err := http.Post("http://"+address, "text/csv", strings.NewReader(lines))
		if err != nil && ctx.Err() == nil { // it does not listen yet
			continue
		}
		law.Check(t, err)
		defer answer.Body.Close()
		if answer.StatusCode == http.StatusBadRequest {
			return nil
		}
		law.Check(t, json.NewDecoder(answer.Body).Decode(&scores))
		return scores
	}
}
