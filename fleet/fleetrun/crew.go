package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofleet/gofleet/internal/observe"
)

// crew is the processes of a job on this machine.
type crew struct {
	program string
	args    []string
	job     *job
	logDir  string
	con     *console
	panel   *panel // of --ui

	attempt string            // "" in the first attempt
	procs   map[role]*process // running
	exits   chan exit         // from each started process, once
}

// run starts the roles and returns when the last one has ended, with the exit code of the job.
func (c *crew) run(signals <-chan os.Signal, grace time.Duration, r restarts) (int, error) {
	c.procs = map[role]*process{}
	c.exits = make(chan exit, len(c.job.here))
	k := newKeeper(c.job, grace, r, c.con.say)
	k.aside = c.con.detail
	var err error
	if k.wentBack, err = observe.Restart(); err != nil {
		return exitUsage, err
	}
	if c.job.collective() {
		c.con.detail("Please check workers logs in %s", filepath.Join(c.logDir, "workerlog.*"))
	} else {
		c.con.detail("Please check servers and workers logs in %s and %s",
			filepath.Join(c.logDir, "workerlog.*"), filepath.Join(c.logDir, "serverlog.*"))
	}
	if err = c.start(k); err == nil {
		err = c.watch(k, signals)
	}
	if err != nil {
		c.end(kill)
		for range c.procs {
			<-c.exits
		}
		return exitFailure, err
	}
	c.conclude(k)
	return k.code, nil
}

// start starts all roles, for the first time or again.
func (c *crew) start(k *keeper) error {
	if c.attempt = ""; k.attempt > 1 {
		c.attempt = fmt.Sprintf("attempt %d of %d", k.attempt, k.attempts)
	}
	for _, r := range c.job.here {
		log, err := openLog(c.logDir, r, k.attempt, k.attempts)
		if err == nil {
			err = c.startRole(r, log)
		}
		if err != nil {
			return fmt.Errorf("cannot start %v: %w", r, err)
		}
	}
	return nil
}

// startRole starts a role with its output in log.
func (c *crew) startRole(r role, log *os.File) error {
	cmd := exec.Command(c.program, c.args...)
	own := slices.Concat(c.job.environment(r), c.job.otherwise, c.job.metrics(os.Getenv(metricsVar), r))
	cmd.Env = c.job.withToken(inherit(os.Environ(), own))
	var on *console
	if shown, _ := c.job.first(worker); r == shown {
		on = c.con
	}
	p, err := startProcess(cmd, r, log, on)
	if err != nil {
		return err
	}
	c.procs[r] = p
	c.panel.started(r, c.attempt)
	go func() { c.exits <- p.wait() }()
	return nil
}

// startAgain starts a role again, and continues its log.
func (c *crew) startAgain(r role) error {
	log, err := goOnWithLog(c.logDir, r, "started again alone")
	if err == nil {
		err = c.startRole(r, log)
	}
	if err != nil {
		return fmt.Errorf("cannot start %v again: %w", r, err)
	}
	c.panel.again(r)
	return nil
}

// watch passes events to the keeper and executes its orders until all processes have ended.
func (c *crew) watch(k *keeper, signals <-chan os.Signal) error {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	rested, over := make(chan role), make(chan struct{})
	defer close(over)
	for !k.done() {
		var o order
		select {
		case e := <-c.exits:
			delete(c.procs, e.role)
			c.panel.ended(e)
			o = k.exited(e)
		case s := <-signals:
			o = k.signalled(s)
		case r := <-rested:
			o = k.rested(r)
		case <-timer.C:
			o = k.expired()
		}
		if o.wait > 0 && o.stop != later {
			timer.Reset(o.wait)
		}
		switch {
		case o.stop == later:
			c.panel.rests(o.role, o.wait)
			if o.wait == firstPause {
				c.blame(new(k.paused[o.role].exit))
			}
			time.AfterFunc(o.wait, func() {
				select {
				case rested <- o.role:
				case <-over:
				}
			})
		case o.stop == start:
			if err := c.start(k); err != nil {
				return err
			}
		case o.stop == startAgain:
			if err := c.startAgain(o.role); err != nil {
				return err
			}
		case k.phase == pausing:
			c.blame(k.culprit)
		}
		c.end(o.stop)
	}
	timer.Stop()
	return nil
}

// end ends the running processes in that way.
func (c *crew) end(how stop) {
	for _, p := range c.procs {
		switch how {
		case terminate:
			terminateGroup(p.cmd.Process)
		case kill:
			killGroup(p.cmd.Process)
		}
	}
}

// conclude prints how the job ended.
func (c *crew) conclude(k *keeper) {
	switch {
	case k.culprit != nil:
		c.blame(k.culprit)
	case k.code == 0 && c.job.count(server) > 0:
		c.con.detail("all parameter servers have finished.")
	}
}

// blame prints the last output of a role that failed, or of its panic.
func (c *crew) blame(e *exit) {
	path := logPath(c.logDir, e.role)
	lines, err := tail(path)
	switch {
	case err != nil:
		c.con.warn("%v failed (%s) and its log cannot be shown: %v", e.role, e.how, err)
	case len(lines) == 0:
		c.con.warn("%v failed (%s) and wrote nothing to %s", e.role, e.how, path)
	default:
		c.con.warn("%v failed (%s). The last lines of %s:", e.role, e.how, path)
		c.con.print("    " + strings.Join(lines, "\n    ") + "\n")
	}
}
