package main

import (
	"errors"
	"fmt"
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

// buildPackage builds a package; the go command prints what is wrong with it.
func buildPackage(name, scratch string, signals <-chan os.Signal, con *console) (string, error) {
	if strings.HasPrefix(name, "-") {
		return "", fmt.Errorf("missing program before flag %q: put fleetrun's own flags before the program", name)
	}
	dir := filepath.Join(scratch, "bin")
	if err := os.Mkdir(dir, 0o777); err != nil {
		return "", fmt.Errorf("no directory to build in: %w", err)
	}
	build := exec.Command("go", "build", "-o", dir+string(filepath.Separator), name)
	build.Stdout, build.Stderr = con.err, con.err
	if os.Getenv("GOTMPDIR") == "" {
		build.Env = append(os.Environ(), "GOTMPDIR="+scratch) // an interrupted build leaves no files either
	}
	err := runUnless(build, signals)
	if _, said := errors.AsType[*exec.ExitError](err); said {
		return "", fmt.Errorf("cannot build %s: what go build says stands above%s", name, inPath(name))
	}
	if err != nil {
		return "", fmt.Errorf("cannot build %s: %w", name, err)
	}
	return onlyFile(dir, name)
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

func onlyFile(dir, name string) (string, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	if len(files) != 1 {
		return "", errors.New(name + " names several programs: a job runs one")
	}
	return filepath.Join(dir, files[0].Name()), nil
}
