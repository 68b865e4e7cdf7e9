package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// console is the terminal: out is for a worker's output, err for its errors and for fleetrun's messages.
type console struct {
	out, err io.Writer // of the worker on the console; they never fail
	live     bool      // out is a terminal
	one      bool      // both streams go to one place, as on a terminal or with 2>&1
	quiet    bool      // fleetrun prints only failures
	verbose  bool      // it prints what it starts, in the form of PaddlePaddle's launcher
	width    int       // columns of the terminal when fleetrun started, 0 if unknown

	mu      sync.Mutex
	midLine bool // the cursor is at the end of an unfinished line
}

func newConsole(stdout, stderr *os.File) *console {
	c := &console{live: term.IsTerminal(int(stdout.Fd()))}
	out, outErr := stdout.Stat()
	err, errErr := stderr.Stat()
	c.one = outErr == nil && errErr == nil && os.SameFile(out, err)
	c.width, _, _ = term.GetSize(int(stdout.Fd())) // 0 after an error
	c.out, c.err = stream{c, stdout}, stream{c, stderr}
	return c
}

// stream is out or err. A reader that went away (fleetrun | head) doesn't end the job: its logs go on.
type stream struct {
	con *console
	w   io.Writer
}

func (s stream) Write(b []byte) (int, error) {
	s.con.mu.Lock()
	defer s.con.mu.Unlock()
	if len(b) > 0 {
		s.con.midLine = b[len(b)-1] != '\n'
		s.w.Write(b)
	}
	return len(b), nil
}

// print shows text on a line of its own.
func (c *console) print(text string) {
	c.mu.Lock()
	broken := c.live && c.midLine
	c.mu.Unlock()
	if broken {
		text = "\n" + text
	}
	io.WriteString(c.err, text)
}

// say prints a message about what fleetrun does, unless it is quiet.
func (c *console) say(format string, args ...any) {
	if !c.quiet {
		c.warn(format, args...)
	}
}

// detail prints a message that only -v shows.
func (c *console) detail(format string, args ...any) {
	if c.verbose {
		c.say(format, args...)
	}
}

// warn prints a failure.
func (c *console) warn(format string, args ...any) {
	stamp := time.Now().Format("2006-01-02 15:04:05,000")
	c.print(fmt.Sprintf("INFO %s fleetrun] %s\n", stamp, fmt.Sprintf(format, args...)))
}

// fail prints why fleetrun itself gives up.
func (c *console) fail(err error) { c.print(fmt.Sprintf("fleetrun: %v\n", err)) }
