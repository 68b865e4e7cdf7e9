package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/internal/porttest"
)

// asProgram has this test's binary be the program.
const asProgram = "WIDE_AND_DEEP_PROGRAM"

// TestMain is the program where TestAKilledServerEndsTheJob starts it.
func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "" {
		os.Exit(law.InMemory(m))
	}
	main()
}

// role is a process of the job.
type role struct {
	name   string
	cmd    *exec.Cmd
	stderr strings.Builder
	ended  chan error
}

// startRole starts one, and calls trains with each line that it prints.
func startRole(t *testing.T, name string, endpoints []string, printed func(line string), args []string, env ...string) *role {
	t.Helper()
	r := &role{name: name, ended: make(chan error, 1)}
	r.cmd = exec.CommandContext(t.Context(), os.Args[0],
		append([]string{"-rows=2000", "-epochs=100000", "-batch=64", "-layers=8", "-out="}, args...)...)
	r.cmd.Env = append(append(os.Environ(), asProgram+"=1", "FLEET_PROGRESS=plain", "PADDLE_TRAINERS_NUM=2",
		"PADDLE_PSERVERS_IP_PORT_LIST="+strings.Join(endpoints, ",")), env...)
	r.cmd.Stderr = &r.stderr
	out, err := r.cmd.StdoutPipe()
	if err == nil {
		err = r.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			printed(lines.Text())
		}
		r.ended <- r.cmd.Wait()
	}()
	return r
}

// TestAKilledServerEndsTheJob runs a job as processes, kills server 1 as kill -9 does, and starts it again at once, as whoever watches over
// processes does: within seconds every process ends with status 75 and says what happened; none goes on with weights that are half lost.
func TestAKilledServerEndsTheJob(t *testing.T) {
	t.Parallel()
	law.Slow(t)
	endpoints := porttest.Free(t, 2)
	quiet, trains := func(string) {}, make(chan string, 1)
	server := func(i int) *role {
		ip, port, _ := strings.Cut(endpoints[i], ":")
		return startRole(t, fmt.Sprint("server ", i), endpoints, quiet, []string{"-mode=async"}, "TRAINING_ROLE=PSERVER", "POD_IP="+ip, "PADDLE_PORT="+port)
	}
	worker := func(i int, printed func(string)) *role {
		return startRole(t, fmt.Sprint("worker ", i), endpoints, printed, []string{"-mode=async"}, "TRAINING_ROLE=TRAINER", fmt.Sprint("PADDLE_TRAINER_ID=", i))
	}
	victim := server(1)
	roles := []*role{server(0), worker(1, quiet), worker(0, func(line string) {
		select {
		case trains <- line:
		default:
		}
	})}
	select {
	case <-trains:
	case err := <-roles[2].ended:
		t.Fatalf("worker 0 ended: %v\n%s", err, roles[2].stderr.String())
	case <-time.After(3 * time.Minute):
		t.Fatal("worker 0 trains nothing")
	}
	if err := victim.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-victim.ended
	killed := time.Now()
	for _, r := range append(roles, server(1)) {
		var exit *exec.ExitError
		err := <-r.ended
		said, took := r.stderr.String(), time.Since(killed)
		if !errors.As(err, &exit) || exit.ExitCode() != fleet.ExitWentBack || !strings.Contains(said, "server 1 ("+endpoints[1]+")") || took > soon {
			t.Errorf("%s ended with %v after %v, want status %d within %v and server 1's name in\n%s", r.name, err, took, fleet.ExitWentBack, soon, said)
		}
	}
}

// soon is half of the time after which silence alone is noticed. Connections show a death within 3 s, where the machine is not busy.
const soon = 15 * time.Second

// TestAKilledWorkerIsNoticed kills worker 1 of a job in sync that has checkpoints as soon as it trains, as kill -9 does, and starts it
// nowhere: within seconds all others have gone back, though none of them may be silent for long.
func TestAKilledWorkerIsNoticed(t *testing.T) {
	t.Parallel()
	law.Slow(t)
	endpoints, args := porttest.Free(t, 2), []string{"-mode=sync", "-goback=0", "-checkpoint=" + t.TempDir()}
	quiet, trains := func(string) {}, make(chan struct{})
	var once sync.Once
	var others []*role
	for i, at := range endpoints {
		ip, port, _ := strings.Cut(at, ":")
		others = append(others, startRole(t, fmt.Sprint("server ", i), endpoints, quiet, args,
			"TRAINING_ROLE=PSERVER", "POD_IP="+ip, "PADDLE_PORT="+port))
	}
	victim := startRole(t, "worker 1", endpoints, quiet, args, "TRAINING_ROLE=TRAINER", "PADDLE_TRAINER_ID=1")
	others = append(others, startRole(t, "worker 0", endpoints, func(line string) {
		if strings.Contains(line, "epoch 2") {
			once.Do(func() { close(trains) })
		}
	}, args, "TRAINING_ROLE=TRAINER", "PADDLE_TRAINER_ID=0"))
	select {
	case <-trains:
	case err := <-others[2].ended:
		t.Fatalf("worker 0 ended: %v\n%s", err, others[2].stderr.String())
	case <-time.After(3 * time.Minute):
		t.Fatal("worker 0 trains nothing")
	}
	if err := victim.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-victim.ended
	killed := time.Now()
	for _, r := range others {
		var exit *exec.ExitError
		err := <-r.ended
		said, took := r.stderr.String(), time.Since(killed)
		if !errors.As(err, &exit) || exit.ExitCode() != fleet.ExitWentBack || !strings.Contains(said, "worker 1 ") || took > soon {
			t.Errorf("%s ended with %v after %v, want status %d within %v and worker 1's name in\n%s", r.name, err, took, fleet.ExitWentBack, soon, said)
		}
		t.Logf("%s noticed after %v", r.name, took)
	}
}
