package main

import (
	"flag"
	"fmt"
)

const pinUsage = "Usage: fleetrun pin DIR...\n       fleetrun unpin DIR...\n\n" +
	"Keeps each checkpoint, a directory ckpt-NUMBER, though its job would remove it when newer ones are whole; or " +
	"lets it go again.\n"

// eachDir is a command that calls do for the directories of its command line, until it fails.
func eachDir(name string, do func(dir string) error, done string) func(args []string, con *console) error {
	return func(args []string, con *console) error {
		dirs, err := parseDirs(flag.NewFlagSet("fleetrun "+name, flag.ContinueOnError), args)
		if err != nil {
			return err
		}
		for _, dir := range dirs {
			if err := do(dir); err != nil {
				return failed{err}
			}
			fmt.Fprintf(con.out, done, dir)
		}
		return nil
	}
}
