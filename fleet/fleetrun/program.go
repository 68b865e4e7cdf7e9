package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// findProgram returns the path of the executable that every role runs: name itself, if it is one, or what the go
// command builds from the package of that name, in a directory under scratch.
func findProgram(name, scratch string, signals <-chan os.Signal, con *console) (string, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil || !info.Mode().IsRegular() || strings.HasSuffix(name, ".go"):
		return buildPackage(name, scratch, signals, con)
	case !executable(info):
		return "", fmt.Errorf("%s is neither a Go package nor an executable file (chmod +x makes it one)", name)
	}
	return filepath.Abs(name)
}

func executable(info os.FileInfo) bool {
	if runtime.GOOS == "windows" {
		return strings.EqualFold(filepath.Ext(info.Name()), ".exe")
	}
	return info.Mode()&0o111 != 0
}

// buildPackage builds a package; the go command prints what is wrong with it. It builds as for "go run", which keeps
// what it has linked, and has this program take what it would run.
func buildPackage(name, scratch string, signals <-chan os.Signal, con *console) (string, error) {
	if strings.HasPrefix(name, "-") {
		return "", fmt.Errorf("missing program before flag %q: put fleetrun's own flags before the program", name)
	}
	dir := filepath.Join(scratch, "bin")
	if err := os.Mkdir(dir, 0o777); err != nil {
		return "", fmt.Errorf("no directory to build in: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("no program to take what was built: %w", err)
	}
	build := exec.Command("go", "run", "-exec", quoted(self)+" "+takeBuilt+" "+quoted(dir), name)
	build.Stdout, build.Stderr = con.err, con.err
	if os.Getenv("GOTMPDIR") == "" {
		build.Env = append(os.Environ(), "GOTMPDIR="+scratch) // an interrupted build leaves no files either
	}
	err = runUnless(build, signals)
	if _, said := errors.AsType[*exec.ExitError](err); said {
		return "", fmt.Errorf("cannot build %s: what the go command says stands above%s", name, inPath(name))
	}
	if err != nil {
		return "", fmt.Errorf("cannot build %s: %w", name, err)
	}
	built, err := os.ReadDir(dir)
	if err != nil || len(built) != 1 {
		return "", fmt.Errorf("cannot build %s: the go command left %d programs in %s, want one (%v)", name, len(built),
			dir, err)
	}
	return filepath.Join(dir, built[0].Name()), nil
}

// inPath reports, for a name that is no package, whether a command in PATH has it, which must be given by its path.
func inPath(name string) string {
	path, err := exec.LookPath(name)
	if err != nil || strings.ContainsRune(name, filepath.Separator) {
		return ""
	}
	return "; the command of that name is " + path
}

// runUnless runs a command to its end, or ends it at a signal.
func runUnless(cmd *exec.Cmd, signals <-chan os.Signal) error {
	cmd.SysProcAttr = ownGroup()
	cmd.WaitDelay = drainTime
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		return err
	case s := <-signals:
		killGroup(cmd.Process)
		<-done
		return interrupted{s}
	}
}

// takeBuilt is what buildPackage has the go command call fleetrun with, a directory and the program that it has built.
const takeBuilt = "take-built"

// take copies a program to a directory.
func take(dir, built string) error {
	from, err := os.Open(built)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(filepath.Join(dir, filepath.Base(built)), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}

// quoted is a word as the go command's flags have it.
func quoted(word string) string {
	switch {
	case !strings.ContainsAny(word, " \t\n'\""):
		return word
	case strings.Contains(word, "'"):
		return `"` + word + `"`
	}
	return "'" + word + "'"
}
