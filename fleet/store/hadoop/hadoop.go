package hadoop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/gofleet/gofleet/fleet/store"
)

// Options say how to call the shell. The zero value is "hadoop fs" with the machine's configuration.
type Options struct {
	// Command is the program with its first arguments, such as {"/opt/hadoop/bin/hadoop", "--config", "/etc/job",
	// "fs"}; nil is {"hadoop", "fs"}.
	Command []string
	// FSName is the file system of names without a host (fs.default.name), such as "afs://host:9902".
	FSName string
	// UGI is the user and the password, "user,password" (hadoop.job.ugi). Errors don't show it, but as an argument of
	// the command it is visible to other users of this machine; to avoid that, put it into a configuration named in
	// Command.
	UGI string
	// Timeout is how long each command may take; 0 means two minutes. A command that writes may take a second more for
	// every 256 KiB.
	Timeout time.Duration
}

// Mount makes names of the given schemes, such as "hdfs" and "afs", refer to files reached by the shell, in all of this
// process.
func Mount(o Options, schemes ...string) error {
	if len(schemes) == 0 {
		return errors.New("hadoop: Mount has no scheme: name those of the URLs, such as \"hdfs\"")
	}
	for _, scheme := range schemes {
		s, err := New(o, scheme)
		if err == nil {
			err = store.Mount(scheme, s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Store keeps files reached by the shell, under URLs of one scheme.
type Store struct {
	scheme  string
	timeout time.Duration
	secrets *strings.Replacer
	turns   chan struct{} // slots of running commands; reading takes none, since its reader may wait
	// start runs the shell with further arguments until it ends.
	start func(ctx context.Context, in io.Reader, out, said io.Writer, args ...string) error
}

// mostCommands is the number of commands that run at a time: each is a Java machine of some hundred megabytes.
const mostCommands = 4

// New makes a store for URLs of a scheme, without making a request.
func New(o Options, scheme string) (*Store, error) {
	if o.Timeout < 0 {
		return nil, fmt.Errorf("hadoop: Timeout is %v: it must be positive, or 0 for two minutes", o.Timeout)
	}
	command := slices.Clone(o.Command)
	if len(command) == 0 {
		command = []string{"hadoop", "fs"}
	}
	if _, err := exec.LookPath(command[0]); err != nil {
		return nil, fmt.Errorf("hadoop: %w: install Hadoop's client here, or name it in Options.Command", err)
	}
	if o.FSName != "" {
		command = append(command, "-D", "fs.default.name="+o.FSName)
	}
	s := &Store{scheme: scheme, timeout: cmp.Or(o.Timeout, 2*time.Minute), secrets: strings.NewReplacer(),
		turns: make(chan struct{}, mostCommands)}
	if o.UGI != "" {
		command = append(command, "-D", "hadoop.job.ugi="+o.UGI)
		s.secrets = strings.NewReplacer(o.UGI, "…")
		if user, password, _ := strings.Cut(o.UGI, ","); password != "" {
			s.secrets = strings.NewReplacer(o.UGI, user+",…", password, "…")
		}
	}
	s.start = process(command)
	return s, nil
}

// Costs says that requests take as long as the commands of a shell.
func (s *Store) Costs() store.Costs {
	const commands = 3 // that one request may wait for, such as a put
	return store.Costs{Beat: 30 * time.Second, Answer: max(5*time.Minute, commands*s.timeout), FromStart: true}
}
