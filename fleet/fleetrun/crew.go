package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// crew is the processes of a job on this machine.
type crew struct {
	program string
	args    []string
	job     *job
	logDir  string
	con     *console

	procs map[role]*process // alive
	exits chan exit         // of every process that was started, once
}

// run starts the roles and stays until the last one has ended. It returns the exit code of the job.
func (c *crew) run(signals <-chan os.Signal, grace time.Duration) (int, error) {
	c.procs = map[role]*process{}
	c.exits = make(chan exit, len(c.job.here))
	k := newKeeper(c.job, grace, c.con.say)
	if c.job.collective() {
		c.con.say("Please check workers logs in %s", filepath.Join(c.logDir, "workerlog.*"))
	} else {
		c.con.say("Please check servers and workers logs in %s and %s",
			filepath.Join(c.logDir, "workerlog.*"), filepath.Join(c.logDir, "serverlog.*"))
	}
	if err := c.start(); err != nil {
		c.carryOut(order{stop: kill})
		for range c.procs {
			<-c.exits
		}
		return exitFailure, err
	}
	c.watch(k, signals)
	c.conclude(k)
	return k.code, nil
}

func (c *crew) start() error {
	shown, _ := c.job.first(worker)
	for _, r := range c.job.here {
		log, err := createLog(c.logDir, r)
		if err != nil {
			return fmt.Errorf("cannot start %v: %w", r, err)
		}
		cmd := exec.Command(c.program, c.args...)
		cmd.Env = c.job.withToken(inherit(os.Environ(), c.job.environment(r)))
		var on *console
		if r == shown {
			on = c.con
		}
		p, err := startProcess(cmd, r, log, on)
		if err != nil {
			return err
		}
		c.procs[r] = p
		go func() { c.exits <- p.wait() }()
	}
	return nil
}

// watch carries events to the keeper and its orders to the processes until all have ended.
func (c *crew) watch(k *keeper, signals <-chan os.Signal) {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	for !k.done() {
		var o order
		select {
		case e := <-c.exits:
			delete(c.procs, e.role)
			o = k.exited(e)
		case s := <-signals:
			o = k.signalled(s)
		case <-timer.C:
			o = k.expired()
		}
		if o.wait > 0 {
			timer.Reset(o.wait)
		}
		c.carryOut(o)
	}
	timer.Stop()
}

func (c *crew) carryOut(o order) {
	for _, p := range c.procs {
		switch o.stop {
		case terminate:
			terminateGroup(p.cmd.Process)
		case kill:
			killGroup(p.cmd.Process)
		}
	}
}

// conclude says how it went: for a failure, with what the failed role wrote last.
func (c *crew) conclude(k *keeper) {
	if k.culprit == nil {
		if k.code == 0 && c.job.count(server) > 0 {
			c.con.say("all parameter servers have finished.")
		}
		return
	}
	path := logPath(c.logDir, k.culprit.role)
	lines, err := tail(path)
	switch {
	case err != nil:
		c.con.say("%v failed (%s) and its log cannot be shown: %v", k.culprit.role, k.culprit.how, err)
	case len(lines) == 0:
		c.con.say("%v failed (%s) and wrote nothing to %s", k.culprit.role, k.culprit.how, path)
	default:
		c.con.say("%v failed (%s). The last lines of %s:", k.culprit.role, k.culprit.how, path)
		c.con.print("    " + strings.Join(lines, "\n    ") + "\n")
	}
}
