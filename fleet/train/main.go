package train

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/internal/awake"
	"github.com/gofleet/gofleet/internal/mistyped"
	"github.com/gofleet/gofleet/internal/observe"
	"github.com/gofleet/gofleet/rolemaker"
)

// Main is a program's main function: it parses the command line, with the flags of o and those that the program has
// defined, makes the job and runs it in the role given by o.Role, or the environment, until it is done or the process
// is interrupted.
//
//	func main() {
//		o := train.Options{Epochs: 3, Out: "output"}
//		file := flag.String("data", "flights.csv", "CSV file")
//		train.Main(&o, func() (train.Job, error) { return newJob(o, *file) })
//	}
//
// A program that needs its flags earlier parses them itself, by [Options.Parse] or flag.Parse; Main then does not parse
// again.
//
// If all roles must go back to the last checkpoint of -checkpoint, because a server has lost its weights or, in modes
// sync and ssp, a worker has died, Main joins the job again in the same process, with a new Job, up to -goback times: a
// second later, and, if runs end within a minute of each other, 4 and 16 seconds later, up to a minute.
//
// A worker that is restarted after its job has ended, and has nothing left to train, ends without an error.
//
// An error is printed to stderr after the program's name. The exit status is 1 for errors, 2 for a wrong command line,
// and [fleet.ExitWentBack], or the value of FLEET_EXIT_RESTART, if all roles should be started again from the last
// checkpoint. After ^C it is 130. After SIGTERM it is 143, or 1 if training was lost because it is in no checkpoint and
// no journal, so that a launcher can tell the two apart.
func Main(o *Options, job func() (Job, error)) {
	if o == nil || job == nil {
		fail(errors.New("train: Main(options, job): one of them is nil: it needs a program's options, and a function " +
			"that makes its job"))
	}
	if !flag.Parsed() {
		o.Parse()
	}
	if err := start(o, flag.Args(), job); err != nil {
		fail(err)
	}
}

// Parse adds the options' flags to the program's and parses the command line as flag.Parse does. An unknown flag ends
// the process with status 2, after a line that suggests the flag that was probably meant.
func (c *Options) Parse() {
	c.Register(flag.CommandLine)
	c.parsed = true
	switch err := mistyped.Parse(flag.CommandLine, os.Args[1:], nil); {
	case errors.Is(err, flag.ErrHelp):
		flag.Usage()
		os.Exit(0)
	case err != nil:
		fail(usage{err})
	}
}

func fail(err error) {
	if name := filepath.Base(os.Args[0]); os.Getenv("FLEET_LOG") == "json" {
		slog.New(slog.NewJSONHandler(os.Stderr, nil)).Error(err.Error(), "program", name, "status", status(err))
	} else {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
	}
	os.Exit(status(err))
}

// usage is an error of the command line.
type usage struct{ error }

func (u usage) Unwrap() error { return u.error }

func status(err error) int {
	if _, is := errors.AsType[usage](err); is {
		return 2
	}
	i, is := errors.AsType[interrupted](err)
	switch {
	case is && i.Signal == syscall.SIGTERM && errors.Is(err, fleet.ErrUnsaved): // for any reason
		return 1
	case errors.Is(err, fleet.ErrWentBack):
		code, _ := observe.Restart() // start has checked it
		return code
	case is:
		if s, numbered := i.Signal.(syscall.Signal); numbered {
			return 128 + int(s)
		}
	}
	return 1
}

func start(o *Options, args []string, job func() (Job, error)) error {
	if len(args) > 0 {
		return usage{fmt.Errorf("unexpected argument %q; want flags only, see -h", args[0])}
	}
	_, err := observe.Restart()
	if err = errors.Join(err, o.Check()); err != nil {
		return usage{err}
	}
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals) // a second one ends the process at once
			stop(interrupted{s})
		case <-ctx.Done():
		}
	}()
	do := play
	switch {
	case o.look:
		do = checked
	case o.predict != "":
		do = predictFiles
	case o.eval != "":
		do = evalFiles
	}
	err = do(ctx, o, job)
	switch {
	case err == nil || ctx.Err() == nil:
		return err
	case errors.Is(err, fleet.ErrUnsaved):
		return fmt.Errorf("stopped: %w: %w", context.Cause(ctx), err)
	}
	return fmt.Errorf("stopped: %w", context.Cause(ctx))
}

// interrupted is the end of a process by a signal.
type interrupted struct{ os.Signal }

func (i interrupted) Error() string { return fmt.Sprintf("%v signal received", i.Signal) }

// play plays this process's role. If all roles go back to the last checkpoint, it joins the job again, up to -goback
// times.
func play(ctx context.Context, o *Options, job func() (Job, error)) error {
	who, of := o.Role, o.Fleet
	of.Default = true
	var back error // why this role went back
	var rest time.Duration
	for left := o.goBack; ; left-- {
		j, err := job()
		if err != nil {
			return err
		}
		j.anew, j.looks = job, !o.unlooked && back == nil
		f, err := fleet.New(ctx, who, of)
		if err != nil {
			return err
		}
		began := time.Now()
		_, err = j.Run(ctx, f)
		if err != nil && ctx.Err() != nil {
			return cmp.Or(f.Unsaved(), err)
		}
		if errors.Is(err, errOver) {
			slog.Info("this role was started again after the end of its job", "role", f.String(), "why", err)
			return nil
		}
		if back != nil && errors.Is(err, fleet.ErrMissing) {
			return fmt.Errorf("%w; this role went back since %w", err, back) // all roles, started again, resume
		}
		if !errors.Is(err, fleet.ErrWentBack) || errors.Is(err, fleet.ErrDeserted) || left < 1 || !j.saves() {
			return err
		}
		rest = j.rest(rest, time.Since(began))
		slog.Warn("this role goes back to the last checkpoint of the job", "role", f.String(),
			"times left", left-1, "rests", rest, "error", err)
		back = err
		if err := awake.Rest(ctx, rest); err != nil {
			return err
		}
		if f.ServerNum() > 0 {
			who = same(f)
		}
	}
}

// rest is how long a role that goes back rests before it joins again, given its last rest and the time that the run
// lasted: long enough not to use up its returns on a run of the job that is about to end, and longer each time after
// short runs, since their cause may last, as a full disk does. Others wait for a role no longer than StartTimeout.
func (j Job) rest(before, ran time.Duration) time.Duration {
	longest := longestRest
	if s, err := j.check(); err == nil {
		longest = min(longest, s.WithDefaults().StartTimeout.Std()/2)
	}
	if ran >= longestRest {
		before = 0
	}
	return min(max(firstRest, 4*before), longest)
}

const firstRest, longestRest = time.Second, time.Minute

// same is the identity of a fleet in a job with servers: finding it again could take a meeting of all processes.
func same(f *fleet.Fleet) rolemaker.RoleMaker {
	role, index := rolemaker.Worker, f.WorkerIndex()
	if f.IsServer() {
		role, index = rolemaker.Server, f.ServerIndex()
	}
	return rolemaker.UserDefined{Role: role, CurrentID: index, WorkerNum: f.WorkerNum(),
		ServerEndpoints: f.ServerEndpoints(), WorkerEndpoints: f.WorkerEndpoints()}
}
