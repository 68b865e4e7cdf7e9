//go:build unix

package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// roleMain is a program for fleetrun to start. Its arguments are what to do, in order, each "who:what": who is server, worker,
// server.1, worker.0, … or all; anything else is only an argument. See act for what.
func roleMain() {
	conn, err := net.Dial("tcp", os.Getenv("ROLE_REPORT"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "role: nobody to report to:", err)
		os.Exit(99)
	}
	p := &player{conn: conn, heard: bufio.NewScanner(conn)}
	kind, rank := whoAmI()
	for _, arg := range os.Args[1:] {
		who, what, _ := strings.Cut(arg, ":")
		if who == "all" || who == kind || who == kind+"."+rank {
			verb, value, _ := strings.Cut(what, "=")
			p.act(verb, value)
		}
	}
}

// whoAmI reads the environment as the seeds' role makers do.
func whoAmI() (kind, rank string) {
	switch os.Getenv("TRAINING_ROLE") {
	case "TRAINER":
		return "worker", os.Getenv("PADDLE_TRAINER_ID")
	case "PSERVER":
		servers := strings.Split(os.Getenv("PADDLE_PSERVERS_IP_PORT_LIST"), ",")
		own := net.JoinHostPort(os.Getenv("POD_IP"), os.Getenv("PADDLE_PORT"))
		return "server", strconv.Itoa(slices.Index(servers, own))
	}
	if os.Getenv("PADDLE_CURRENT_ENDPOINT") != "" {
		return "worker", os.Getenv("PADDLE_TRAINER_ID")
	}
	return "alone", "0"
}

// player is a role at work.
type player struct {
	conn  net.Conn
	heard *bufio.Scanner
}

func (p *player) act(verb, value string) {
	switch verb {
	case "say": // on stdout
		fmt.Println(value)
	case "err": // on stderr
		fmt.Fprintln(os.Stderr, value)
	case "count": // lines 1 to value on stdout
		n, _ := strconv.Atoi(value)
		for i := range n {
			fmt.Println("line", i+1)
		}
	case "bar": // a line that moves, then stays
		fmt.Print("\r\x1b[Kstep 1", "\r\x1b[Kstep 2", "\r\x1b[Kstep 3\n")
	case "env":
		showEnv()
	case "args":
		fmt.Printf("args %q\n", os.Args[1:])
	case "report": // to the harness
		fmt.Fprintln(p.conn, value)
	case "until": // the harness has told it
		for p.heard.Scan() && p.heard.Text() != value {
		}
	case "polite": // SIGTERM is reported, then the role exits with value
		p.onTerm(func() { code, _ := strconv.Atoi(value); os.Exit(code) })
	case "stubborn": // SIGTERM is reported and ignored
		p.onTerm(func() {})
	case "child": // a child that ignores SIGTERM and would live for ever
		p.child()
	case "hang": // as long as the test lives
		for p.heard.Scan() {
		}
		os.Exit(97)
	case "exit":
		code, _ := strconv.Atoi(value)
		os.Exit(code)
	case "failonce": // exits with value, unless it did so before
		kind, rank := whoAmI()
		if err := os.Mkdir("failed-"+kind+rank, 0o777); err == nil {
			p.act("exit", value)
		}
	case "paniconce": // unless it did so before
		kind, rank := whoAmI()
		if err := os.Mkdir("failed-"+kind+rank, 0o777); err == nil {
			panic(value)
		}
	case "raise": // the signal of that number, to itself
		n, _ := strconv.Atoi(value)
		syscall.Kill(os.Getpid(), syscall.Signal(n))
		select {}
	default:
		fmt.Fprintln(os.Stderr, "role: cannot", verb)
		os.Exit(98)
	}
}

func (p *player) onTerm(then func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGTERM)
	go func() {
		for range c {
			fmt.Fprintln(p.conn, "got TERM")
			then()
		}
	}()
}

func (p *player) child() {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	c := exec.Command(self, "all:stubborn", "all:report=child is up", "all:hang")
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	if err := c.Start(); err != nil {
		panic(err)
	}
}

// showEnv prints who this role was told to be.
func showEnv() {
	env := os.Environ()
	slices.Sort(env)
	for _, entry := range env {
		for _, prefix := range []string{"PADDLE_", "POD_IP", "TRAINING_ROLE", "FLEET_", "COLUMNS="} {
			if strings.HasPrefix(entry, prefix) {
				fmt.Println(entry)
			}
		}
	}
}
