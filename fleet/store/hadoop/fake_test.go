package hadoop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// shell plays Hadoop's file system shell over a directory of this machine, with its words and statuses.
type shell struct {
	root string
	// befall, if set, says what befalls a command; nothing is done where that is before it.
	befall func(args []string) trouble
	// meanwhile, if set, does what others do before a command asks for a name.
	meanwhile func(url string)
	// between, if set, does what others do between two answers of the name node, of pageful names each.
	between func()

	mu       sync.Mutex
	commands [][]string
}

// trouble is what befalls a command. The zero value is nothing.
type trouble struct {
	status int    // that it ends with
	words  string // that it says
	done   bool   // it is done all the same
	half   bool   // of a file that is put half is written, and of one that is printed half is
}

// status is how a command ends.
type status int

func (s status) Error() string { return fmt.Sprintf("exit status %d", int(s)) }
func (s status) ExitCode() int { return int(s) }

// run is one command, in this process.
func (f *shell) run(ctx context.Context, in io.Reader, out, said io.Writer, args ...string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f.mu.Lock()
	f.commands = append(f.commands, args)
	befall := f.befall
	f.mu.Unlock()
	var t trouble
	if befall != nil {
		t = befall(args)
	}
	if t.words != "" {
		fmt.Fprintf(said, "%s: %s\n", strings.TrimPrefix(args[0], "-"), t.words)
	}
	if t.status != 0 && !t.done && !t.half {
		return status(t.status)
	}
	s, err := f.do(in, out, said, t, args[0], args[1:])
	if s = max(s, t.status); err == nil && s != 0 {
		err = status(s)
	}
	return err
}

func (f *shell) local(url string) string {
	_, name, is := strings.Cut(url, "://")
	if !is {
		panic("not a URL: " + url)
	}
	return filepath.Join(f.root, filepath.FromSlash(name))
}

// do does a command.
func (f *shell) do(in io.Reader, out, said io.Writer, t trouble, command string, args []string) (int, error) {
	failed := 0
	says := func(url, words string) {
		failed = 1
		fmt.Fprintf(said, "%s: `%s': %s\n", strings.TrimPrefix(command, "-"), url, words)
	}
	var options []string
	for len(args) > 0 && strings.HasPrefix(args[0], "-") && args[0] != "-" {
		options, args = append(options, args[0]), args[1:]
	}
	option := func(o string) bool { return strings.Contains(" "+strings.Join(options, " ")+" ", " "+o+" ") }
	fmt.Fprintln(said, "26/11/23 22:00:00 WARN util.NativeCodeLoader: Unable to load native-hadoop library for your platform")
	switch command {
	case "-stat":
		for _, url := range args[1:] {
			if f.meanwhile != nil {
				f.meanwhile(url)
			}
			names, _ := filepath.Glob(f.local(url))
			for at := pageful; at < len(names) && f.between != nil; at += pageful {
				f.between()
				passed := names[at-1]
				rest, _ := filepath.Glob(f.local(url))
				names = append(names[:at:at], slices.DeleteFunc(rest, func(name string) bool { return name <= passed })...)
			}
			if len(names) == 0 {
				says(url, noFile)
			}
			for _, name := range names {
				st, err := os.Stat(name)
				if err != nil {
					says(url, noFile)
					continue
				}
				kind := "regular file"
				if st.IsDir() {
					kind = "directory"
				}
				fmt.Fprintf(out, "%d/%d/%s/%s\n", st.ModTime().UnixMilli(), st.Size(), kind, filepath.Base(name))
			}
		}
	case "-cat":
		data, err := os.ReadFile(f.local(args[0]))
		st, _ := os.Stat(f.local(args[0]))
		switch {
		case errors.Is(err, os.ErrNotExist):
			says(args[0], noFile)
		case err != nil && st != nil && st.IsDir():
			says(args[0], isDirectory)
		case t.half:
			_, err = out.Write(data[:len(data)/2])
			fmt.Fprintln(said, "cat: Could not obtain block: BP-1:blk_1073741825_1001 file="+args[0])
			return 1, err
		default:
			_, err = out.Write(data)
			return 0, err
		}
	case "-put":
		return f.put(in, t, args[1], option("-f"), says, &failed)
	case "-mv":
		return f.move(args[0], args[1], says, &failed)
	case "-mkdir":
		return 0, os.MkdirAll(f.local(args[0]), 0o777)
	case "-rm":
		for _, url := range args {
			names, _ := filepath.Glob(f.local(url))
			if len(names) == 0 && !option("-f") {
				says(url, noFile)
			}
			for _, name := range names {
				if st, err := os.Stat(name); err == nil && st.IsDir() {
					says(url, isDirectory)
				} else if os.Remove(name) == nil {
					fmt.Fprintln(out, "Deleted "+url)
				}
			}
		}
	case "-rmdir":
		entries, err := os.ReadDir(f.local(args[0]))
		switch {
		case err != nil:
			says(args[0], noFile)
		case len(entries) == 0:
			return 0, os.Remove(f.local(args[0]))
		}
	default:
		fmt.Fprintf(said, "%s: Unknown command\n", command)
		return 255, nil
	}
	return failed, nil
}

func (f *shell) put(in io.Reader, t trouble, url string, force bool, says func(string, string), failed *int) (int, error) {
	name := f.local(url)
	if _, err := os.Stat(name); err == nil && !force {
		says(url, isThere)
		return *failed, nil
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil { // as the creation of a file in HDFS does
		return 1, err
	}
	content, err := io.ReadAll(in)
	if err != nil {
		return 1, err
	}
	if t.half {
		return t.status, os.WriteFile(name+copying, content[:len(content)/2], 0o666)
	}
	if err := os.WriteFile(name+copying, content, 0o666); err != nil {
		return 1, err
	}
	return 0, os.Rename(name+copying, name)
}

func (f *shell) move(from, to string, says func(string, string), failed *int) (int, error) {
	a, b := f.local(from), f.local(to)
	if st, err := os.Stat(b); err == nil && st.IsDir() {
		b = filepath.Join(b, path.Base(from))
	}
	switch err := os.Link(a, b); {
	case errors.Is(err, os.ErrExist):
		says(to, isThere)
	case errors.Is(err, os.ErrNotExist):
		says(from, noFile)
	case err != nil:
		return 1, err
	default:
		if os.Remove(a) != nil { // another was faster
			os.Remove(b)
			says(from, noFile)
		}
	}
	return *failed, nil
}

// played is the shell as a program: the binary of this test with "hadoop", the directory, and what Hadoop has.
func played(args []string) int {
	f := &shell{root: args[0]}
	args = args[1:]
	if args[0] == "fs" {
		args = args[1:]
	}
	for len(args) > 1 && args[0] == "-D" {
		if ugi, is := strings.CutPrefix(args[1], "hadoop.job.ugi="); is && strings.HasSuffix(ugi, "wrong") {
			fmt.Fprintf(os.Stderr, "%s: org.apache.hadoop.security.AccessControlException: Permission denied: ugi=%s\n", args[2][1:], ugi)
			return 1
		}
		args = args[2:]
	}
	if _, err := os.Stat(filepath.Join(f.root, "hangs")); err == nil {
		r, _, _ := os.Pipe()
		_, _ = r.Read(make([]byte, 1)) // nothing comes
	}
	err := f.run(context.Background(), os.Stdin, os.Stdout, os.Stderr, args...)
	var s status
	switch {
	case errors.As(err, &s):
		return int(s)
	case err != nil:
		fmt.Fprintln(os.Stderr, args[0]+": Fatal internal error\n"+err.Error())
		return 255
	}
	return 0
}

// count is how many commands there were of a name.
func (f *shell) count(command string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, args := range f.commands {
		if args[0] == command {
			n++
		}
	}
	return n
}

// names are the files that there are, those included that no store lists.
func (f *shell) names() (all []string) {
	_ = filepath.Walk(f.root, func(name string, i os.FileInfo, err error) error {
		if err == nil && !i.IsDir() {
			all = append(all, strings.TrimPrefix(name, f.root+"/"))
		}
		return nil
	})
	return all
}
