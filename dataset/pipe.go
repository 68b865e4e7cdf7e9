package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// piped is the output of a shell command that reads a file as its standard input.
type piped struct {
	ctx     context.Context
	command string
	file    io.Closer
	run     *exec.Cmd
	out     io.ReadCloser
	told    tail // the end of standard error
	err     error
	ended   bool
}

// pipeThrough starts the command, which reads file, and ends with ctx.
func pipeThrough(ctx context.Context, command string, file io.ReadCloser) (*piped, error) {
	p := &piped{ctx: ctx, command: command, file: file, run: exec.CommandContext(ctx, "sh", "-c", command)}
	p.run.Cancel = p.kill
	p.run.Stdin, p.run.Stderr, p.run.WaitDelay = file, &p.told, time.Second
	groupOf(p.run)
	var err error
	if p.out, err = p.run.StdoutPipe(); err == nil {
		err = p.run.Start()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("pipe command %q: %w", command, err), file.Close())
	}
	return p, nil
}

// Read reads the command's output. It returns io.EOF only if the command succeeds.
func (p *piped) Read(b []byte) (int, error) {
	if p.err != nil {
		return 0, p.err
	}
	n, err := p.out.Read(b)
	if err == nil {
		return n, nil
	}
	if p.err = err; err == io.EOF {
		p.ended = true
		if failed := p.run.Wait(); failed != nil {
			p.err = p.failed(failed)
		}
	}
	if ended := context.Cause(p.ctx); ended != nil {
		p.err = fmt.Errorf("pipe command %q was ended: %w", p.command, ended)
	}
	return n, p.err
}

func (p *piped) failed(err error) error {
	said := "it wrote nothing on standard error"
	if text := strings.TrimSpace(p.told.String()); text != "" {
		said = "its last words on standard error:\n" + text
	}
	return fmt.Errorf("pipe command %q: %w; %s", p.command, err, said)
}

// Close ends the command, if it still runs, and all processes that it has started.
func (p *piped) Close() error {
	if !p.ended {
		p.ended = true
		_ = p.kill()
		_ = p.run.Wait() // its error only says that it was killed
	}
	return p.file.Close()
}

// kill ends the command and all processes that it has started, and a Read that waits for the output of a process which
// has left their group.
func (p *piped) kill() error {
	killGroup(p.run)
	return p.out.Close()
}

// tail keeps the end of the data written to it.
type tail struct{ kept []byte }

const tailLength = 1000

func (t *tail) Write(b []byte) (int, error) {
	t.kept = append(t.kept, b...)
	if extra := len(t.kept) - tailLength; extra > 0 {
		t.kept = append(t.kept[:0], t.kept[extra:]...)
	}
	return len(b), nil
}

func (t *tail) String() string { return string(t.kept) }
