package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// lab has the programs that sides run, built when first needed, and counts what their processes use.
type lab struct {
	dir, root, clicks     string                 // for programs and data · of the module · in dir
	torch, paddle, pslite string                 // flags
	stat                  func() ([]byte, error) // the count of all cores

	peers map[string]peer
	built map[string]string
	used  time.Duration // processor time of all processes that have ended
	spent time.Duration // of it, what building took, which no figure has
	peak  int64         // bytes of the largest of the others since it was last 0
}

// peer is a program that others have made: its version, or why it is not here.
type peer struct {
	version string
	err     error
}

func newLab(ctx context.Context) (*lab, error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return nil, fmt.Errorf("the module is not here: run the command in it: %w", err)
	}
	dir, err := os.MkdirTemp("", "bench")
	return &lab{dir: dir, clicks: filepath.Join(dir, "clicks"), root: strings.TrimSpace(string(root)),
		peers: map[string]peer{}, built: map[string]string{}, stat: readStat}, err
}

func (l *lab) close() { _ = os.RemoveAll(l.dir) }

// testdata is the path of a peer's program.
func (l *lab) testdata(name string) string {
	return filepath.Join(l.root, "internal/bench/testdata", name)
}

// run starts a process with more of an environment, waits for it and returns its output.
func (l *lab) run(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 29*time.Minute)
	defer cancel()
	var out, said bytes.Buffer
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, append(os.Environ(), env...), &out, &said
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // a launcher ends its roles
	cmd.WaitDelay = 15 * time.Second
	err := cmd.Run()
	if s := cmd.ProcessState; s != nil {
		l.used, l.peak = l.used+s.UserTime()+s.SystemTime(), max(l.peak, peakOf(s))
	}
	if err != nil {
		text := strings.TrimSpace(out.String() + said.String())
		err = fmt.Errorf("%s: %w: …%s", strings.Join(args, " "), err, text[max(0, len(text)-600):])
	}
	return out.String(), err
}

// job has fleetrun start servers and workers, with PaddlePaddle's variables, and returns its output and the workers'.
func (l *lab) job(ctx context.Context, servers, workers int, env []string, args ...string) (out string, each []string,
	err error) {
	launcher, err := l.goProgram(ctx, "fleet/fleetrun")
	if err != nil {
		return "", nil, err
	}
	logs, err := os.MkdirTemp(l.dir, "log")
	if err != nil {
		return "", nil, err
	}
	start := []string{launcher, "--log_dir=" + logs, fmt.Sprint("--server_num=", servers),
		fmt.Sprint("--worker_num=", workers)}
	if out, err = l.run(ctx, l.dir, env, append(start, args...)...); err != nil {
		return out, nil, err
	}
	for i := range workers {
		text, err := os.ReadFile(filepath.Join(logs, fmt.Sprint("workerlog.", i)))
		if err != nil {
			return out, nil, err
		}
		each = append(each, string(text))
	}
	return out, each, nil
}

// program builds something once and returns its path.
func (l *lab) program(ctx context.Context, name string, command ...string) (string, error) {
	if path, ok := l.built[name]; ok {
		return path, nil
	}
	path := filepath.Join(l.dir, name)
	for i, arg := range command {
		command[i] = strings.ReplaceAll(arg, "OUT", path)
	}
	used, peak := l.used, l.peak
	_, err := l.run(ctx, l.root, nil, command...)
	l.spent, l.peak = l.spent+l.used-used, peak
	if err == nil {
		l.built[name] = path
	}
	return path, err
}

// goProgram builds a package's command; goTest its tests and benchmarks.
func (l *lab) goProgram(ctx context.Context, pkg string) (string, error) {
	return l.program(ctx, filepath.Base(pkg), "go", "build", "-o", "OUT", "./"+pkg)
}

func (l *lab) goTest(ctx context.Context, pkg string) (string, error) {
	return l.program(ctx, strings.ReplaceAll(pkg, "/", ".")+".test", "go", "test", "-c", "-o", "OUT", "./"+pkg)
}

// have looks for a peer once.
func (l *lab) have(ctx context.Context, name string) peer {
	if p, ok := l.peers[name]; ok {
		return p
	}
	version, err := l.lookup(ctx, name)
	l.peers[name] = peer{version, err}
	return l.peers[name]
}
