//go:build unix

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes this binary fleetrun, or a role of a job, when it is called by one of those names.
func TestMain(m *testing.M) {
	testscript.Main(tests{m}, map[string]func(){"fleetrun": main, "role": roleMain})
}

// programs is a directory for those that tests build.
var programs string

type tests struct{ *testing.M }

func (t tests) Run() int {
	dir, err := os.MkdirTemp("", "fleetrun-programs-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	programs = dir
	// A shell without job control has what it starts with & ignore ^C, as nohup has it ignore SIGHUP, and processes hand that on: not from
	// one that takes the signal.
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGHUP} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	trial.Waits()
	return trial.InMemory(t.M)
}

// goPlaces are the places of the go command.
var goPlaces = sync.OnceValues(func() (places map[string]string, err error) {
	said, err := exec.Command("go", "env", "-json", "GOCACHE", "GOPATH", "GOMODCACHE", "GOROOT").Output()
	if err == nil {
		err = json.Unmarshal(said, &places)
	}
	return places, err
})

// TestScripts runs whole jobs as processes. The commands of the scripts are in harness_test.go, what roles can be told to do
// in role_test.go.
//
// Promise: [G5] processes end with their job
// Also: TestKeeper, TestKeeperNeverChangesItsMind
func TestScripts(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	hangup := make(chan os.Signal, 1) // scripts send it: under nohup the processes that they start would ignore it
	signal.Notify(hangup, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(hangup) })
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		Setup:               setupScript,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"start":  cmdStart,
			"await":  cmdAwait,
			"tell":   cmdTell,
			"signal": cmdSignal,
			"ended":  cmdEnded,
			"gone":   cmdGone,
		},
	})
}

// setupScript gives a script $ROLE, the path of the role program, a go command that needs no network, a place where roles
// report, and nobody else's idea of who it is.
func setupScript(env *testscript.Env) error {
	role, err := exec.LookPath("role")
	if err != nil {
		return err
	}
	env.Setenv("ROLE", role)
	places, err := goPlaces()
	if err != nil {
		return err
	}
	for name, place := range places {
		env.Setenv(name, place)
	}
	port, err := freePorts(1, nil)
	if err != nil {
		return err
	}
	env.Setenv("PORT", port[0].port)
	env.Setenv("GOPROXY", "off")
	env.Setenv("GORACE", "atexit_sleep_ms=0") // under -race every process would take a second to end
	env.Setenv("GOTOOLCHAIN", "local")
	env.Setenv("TMPDIR", filepath.Join(env.WorkDir, ".tmp"))
	if env.Getenv("GOCOVERDIR") == "" { // under -cover processes without it complain
		env.Setenv("GOCOVERDIR", env.Getenv("TMPDIR"))
	}
	h, err := newHarness(env)
	if err != nil {
		return err
	}
	env.Setenv("ROLE_REPORT", h.listener.Addr().String())
	return os.MkdirAll(filepath.Join(env.WorkDir, ".tmp"), 0o777)
}
