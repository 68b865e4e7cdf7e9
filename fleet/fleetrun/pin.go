package main

import (
	"flag"
	"fmt"

	"github.com/gofleet/gofleet/internal/checkpoint"
)

const pinUsage = "Usage: fleetrun pin DIR...\n       fleetrun unpin DIR...\n\n" +
	"Keeps each checkpoint, a directory ckpt-NUMBER, though its job would remove it when newer ones are whole; or " +
	"lets it go again.\n"

func runPin(args []string, con *console) int {
	return eachDir("pin", args, con, checkpoint.Pin, "%s is pinned\n")
}

func runUnpin(args []string, con *console) int {
	return eachDir("unpin", args, con, checkpoint.Unpin, "%s is not pinned\n")
}

// eachDir calls do for the directories of a command line, until it fails.
func eachDir(command string, args []string, con *console, do func(dir string) error, done string) int {
	dirs, code := parseDirs(flag.NewFlagSet("fleetrun "+command, flag.ContinueOnError), args, pinUsage, con)
	for _, dir := range dirs {
		if err := do(dir); err != nil {
			con.fail(err)
			return exitFailure
		}
		fmt.Fprintf(con.out, done, dir)
	}
	return code
}
