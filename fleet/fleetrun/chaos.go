package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gofleet/gofleet/internal/mistyped"
	"github.com/gofleet/gofleet/internal/proc"
	"github.com/gofleet/gofleet/internal/runs"
)

const chaosUsage = "Usage: fleetrun chaos [--runs N] [--metric COLUMN] [--within X] [--seed N] -- " +
	"[FLAGS] PROGRAM [ARGS]\n\n" +
	"Plays a job of package fleet/train once undisturbed, and N times (5) while roles are killed at random.\n" +
	"A column of history.csv, or the first metric, must end within X (0.003) of the undisturbed job's.\n"

// chaos plays a job of a user's again and again while its roles are struck.
type chaos struct {
	self    string // the fleetrun that plays the job
	job     []string
	metric  string
	within  float64
	dir     string
	limit   time.Duration // of a job
	console *console
}

// played is how a job has ended.
type played struct {
	value  float64
	took   time.Duration
	struck []string
}

// runChaos is "fleetrun chaos".
func runChaos(args []string, con *console) error {
	f := flag.NewFlagSet("fleetrun chaos", flag.ContinueOnError)
	n, seed := f.Int("runs", 5, ""), f.Uint64("seed", 1, "")
	c := chaos{console: con, limit: time.Hour}
	f.StringVar(&c.metric, "metric", "", "")
	f.Float64Var(&c.within, "within", 0.003, "")
	err := mistyped.Parse(f, args, nil)
	if err == nil && runtime.GOOS != "linux" {
		return failed{errors.New("fleetrun chaos needs Linux, which lists the roles that fleetrun has started")}
	}
	if c.job = f.Args(); err == nil && (len(c.job) == 0 || *n < 1 || !(c.within >= 0)) {
		err = errors.New("name a program behind --, with runs from 1 on and a difference from 0 on: -h says how")
	}
	if err != nil {
		return err
	}
	if c.self, err = os.Executable(); err == nil {
		c.dir, err = os.MkdirTemp("", "fleetrun-chaos-")
	}
	wrong := 0
	if err == nil {
		wrong, err = c.all(*n, *seed)
	}
	switch {
	case err != nil:
		return failed{err}
	case wrong > 0:
		return status(exitFailure)
	}
	_ = os.RemoveAll(c.dir)
	return nil
}

// all plays the undisturbed job and the others, and prints a line for each.
func (c *chaos) all(n int, seed uint64) (failed int, err error) {
	calm, err := c.play("calm", nil, 0)
	if err != nil {
		return 0, fmt.Errorf("the undisturbed job: %w", err)
	}
	c.limit = 5*calm.took + 2*time.Minute
	fmt.Fprintf(c.console.out, "%6s %8s  %-10s what was done: how it ended\n", "seed", "took", c.metric)
	fmt.Fprintf(c.console.out, "%6s %7.1fs  %-10.6g undisturbed\n", "-", calm.took.Seconds(), calm.value)
	for k := range uint64(n) {
		name := fmt.Sprint(seed + k)
		p, err := c.play(name, rand.New(rand.NewPCG(seed+k, 0)), calm.took)
		end := "ok"
		if err == nil && !(math.Abs(p.value-calm.value) <= c.within) {
			err = fmt.Errorf("%s is %v from the undisturbed job's", c.metric, math.Abs(p.value-calm.value))
		}
		if err == nil && len(p.struck) == 0 {
			err = errors.New("no role was struck before the job ended: give it more rows or epochs")
		}
		if err != nil {
			failed, end = failed+1, fmt.Sprintf("FAILED: %v (logs in %s)", err, filepath.Join(c.dir, name))
		}
		fmt.Fprintf(c.console.out, "%6s %7.1fs  %-10.6g %s: %s\n", name, p.took.Seconds(), p.value,
			strings.Join(p.struck, ", "), end)
	}
	fmt.Fprintf(c.console.out, "%d runs, %d failed\n", n, failed)
	return failed, nil
}

// play plays the job, and strikes up to three of its roles within a time if r is not nil.
func (c *chaos) play(name string, r *rand.Rand, within time.Duration) (p played, err error) {
	dir := filepath.Join(c.dir, name)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return p, err
	}
	said, err := os.Create(filepath.Join(dir, "said"))
	if err != nil {
		return p, err
	}
	defer said.Close()
	ctx, cancel := context.WithTimeout(context.Background(), c.limit)
	defer cancel()
	out := filepath.Join(dir, "out")
	args := append([]string{"--max_restart=20", "--log_dir=" + filepath.Join(dir, "log")}, c.job...)
	cmd := exec.CommandContext(ctx, c.self, append(args, "-out="+out, "-checkpoint="+filepath.Join(dir, "checkpoints"),
		"-checkpoint_every=1s")...)
	cmd.Stdout, cmd.Stderr = said, said
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return p, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	strikes := 0
	if r != nil {
		strikes = 1 + r.IntN(3)
	}
	for range strikes {
		s := ""
		for pause := time.Duration(r.Float64() * float64(within) / 2); s == "" && len(ended) == 0; pause = roleSoon {
			select {
			case err = <-ended:
				ended <- err
			case <-time.After(pause):
				s = strike(cmd.Process.Pid, r)
			}
		}
		if s != "" {
			p.struck = append(p.struck, fmt.Sprintf("%s at %.1fs", s, time.Since(began).Seconds()))
		}
	}
	err = <-ended
	if p.took = time.Since(began); err != nil {
		return p, fmt.Errorf("fleetrun ended with %w", err)
	}
	history, err := runs.Read(out)
	if err != nil {
		return p, err
	}
	if metrics := columnsOf([]runs.Run{history}); c.metric == "" && len(metrics) > 0 {
		c.metric = metrics[0]
	}
	value, has := history.Rows[len(history.Rows)-1][c.metric]
	if !has {
		return p, fmt.Errorf("the history has no column %q: it has %s", c.metric, strings.Join(history.Columns, ", "))
	}
	p.value = value
	return p, nil
}

// roleSoon is the pause before another look for roles, where none had begun.
const roleSoon = 20 * time.Millisecond

// strike kills one of a fleetrun's roles, or asks it to end, and says which; "" if there is none.
func strike(fleetrun int, r *rand.Rand) string {
	roles := proc.Roles(fleetrun)
	names := slices.Sorted(maps.Keys(roles))
	if len(names) == 0 {
		return ""
	}
	name, sign, what := names[r.IntN(len(names))], os.Signal(syscall.SIGKILL), "kill -9"
	if r.IntN(3) == 0 {
		sign, what = syscall.SIGTERM, "SIGTERM"
	}
	if process, err := os.FindProcess(roles[name]); err != nil || process.Signal(sign) != nil {
		return ""
	}
	return what + " " + name
}
