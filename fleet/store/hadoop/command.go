package hadoop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// process returns a function that runs the program of a command.
func process(command []string) func(context.Context, io.Reader, io.Writer, io.Writer, ...string) error {
	return func(ctx context.Context, in io.Reader, out, said io.Writer, args ...string) error {
		c := exec.CommandContext(ctx, command[0], slices.Concat(command[1:], args)...)
		c.Stdin, c.Stdout, c.Stderr = in, out, said
		c.Env = append(os.Environ(), "LC_ALL=C.UTF-8") // from which Java takes the encoding of names
		c.WaitDelay = lingers
		inGroup(c)
		return c.Run()
	}
}

const (
	tries     = 3
	leastRate = 256 << 10 // bytes a second
)

// lingers is how long processes that a command has started may keep its output open.
var lingers = 5 * time.Second

// pause is the time before the second try; before the third it is four times as long.
var pause = time.Second

// run runs a command with content as its input, unless nil, and returns its output. Errors that may be temporary are
// retried; tried is the number of tries.
func (s *Store) run(ctx context.Context, content *io.SectionReader, args ...string) (out string, tried int, err error) {
	for tried = 1; ; tried++ {
		out, err = s.once(ctx, content, args)
		if err == nil || tried == tries || lasting(err) {
			return out, tried, err
		}
		select {
		case <-time.After(pause * time.Duration(tried*tried)):
		case <-ctx.Done():
			return out, tried, err
		}
	}
}

// do is run for a command whose output is of no interest.
func (s *Store) do(ctx context.Context, args ...string) error {
	_, _, err := s.run(ctx, nil, args...)
	return err
}

// once runs a command once.
func (s *Store) once(ctx context.Context, content *io.SectionReader, args []string) (string, error) {
	select {
	case s.turns <- struct{}{}:
		defer func() { <-s.turns }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	limit, in := s.timeout, io.Reader(nil)
	if content != nil {
		limit += time.Duration(content.Size()/leastRate) * time.Second
		in = io.NewSectionReader(content, 0, content.Size())
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%s has not ended for %v", args[0], limit))
	defer cancel()
	var out bytes.Buffer
	var said words
	err := s.start(ctx, in, &out, &said, args...)
	return out.String(), s.ended(ctx, args[0], &said, err)
}

// ended returns the end of a command as an error.
func (s *Store) ended(ctx context.Context, command string, said *words, err error) error {
	var status interface{ ExitCode() int }
	switch {
	case err == nil:
		return nil
	case context.Cause(ctx) != nil:
		return fmt.Errorf("hadoop: %w", context.Cause(ctx))
	case !errors.As(err, &status):
		return fmt.Errorf("hadoop: %s: %w", command, err)
	}
	f := &failure{command: command, status: status.ExitCode()}
	for _, line := range said.of(command) {
		f.lines = append(f.lines, s.secrets.Replace(line))
	}
	return f
}

// words is a command's error output, up to a limit.
type words struct{ bytes.Buffer }

func (w *words) Write(b []byte) (int, error) {
	w.Buffer.Write(b[:min(len(b), max(0, 64<<10-w.Len()))])
	return len(b), nil
}

// of returns the lines that begin with a command's name, without the logs of libraries; without such lines, the last
// line that is not of a stack trace.
func (w *words) of(command string) (lines []string) {
	last := "it has said nothing"
	for line := range strings.Lines(w.String()) {
		line = strings.TrimSpace(line)
		if words, is := strings.CutPrefix("-"+strings.TrimPrefix(line, "-"), command+": "); is {
			lines = append(lines, words)
		} else if line != "" && !strings.HasPrefix(line, "at ") {
			last = line
		}
	}
	if len(lines) == 0 {
		lines = []string{last}
	}
	return lines
}

// failure is the end of a command with a status other than 0.
type failure struct {
	command string
	status  int
	lines   []string
}

func (f *failure) Error() string {
	return fmt.Sprintf("hadoop fs %s has ended with status %d: %s", f.command, f.status, strings.Join(f.lines, "; "))
}

// says reports whether each line contains one of the words.
func (f *failure) says(words ...string) bool {
	for _, line := range f.lines {
		if !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(line, w) }) {
			return false
		}
	}
	return true
}

// Texts of Hadoop's errors: of package org.apache.hadoop.fs, and, for noneThere, of a name node.
const (
	noFile      = "No such file or directory"
	noneThere   = "File does not exist"
	isThere     = "File exists"
	isDirectory = "Is a directory"
	noRight     = "Permission denied"
)

// Is reports whether the text has the meaning of target.
func (f *failure) Is(target error) bool {
	switch target {
	case fs.ErrNotExist:
		return f.says(noFile, noneThere)
	case fs.ErrExist:
		return f.says(isThere)
	case fs.ErrPermission:
		return f.says(noRight)
	case errDirectory:
		return f.says(isDirectory)
	}
	return false
}

// errDirectory is the error for the name of a directory.
var errDirectory = errors.New("it is a directory")

// lasting reports whether another try would fail in the same way.
func lasting(err error) bool {
	var f *failure
	if !errors.As(err, &f) {
		return true
	}
	return f.status == 126 || f.status == 127 || f.says(noFile, noneThere, isThere, isDirectory, noRight, "quota",
		"Is not a directory", "not a valid DFS filename", "URISyntaxException", "No FileSystem for scheme", "Wrong FS",
		"Unknown command", "JAVA_HOME")
}
