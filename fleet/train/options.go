package train

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
)

// Options are the settings of a job on its command line. Their values before [Options.Register] are the flags'
// defaults, where 0 has the meaning given here. Values of flags are taken literally: -batch=0 is refused.
//
// Batch and Epochs that neither the program nor a flag names follow from the rows that all workers train on, with a
// Patience where Epochs does and there are test rows; the job prints them as flags. A job that goes on takes its
// checkpoint's.
//
//	rows              -batch  -epochs  -patience
//	below 10,000      32      50       3
//	below 100,000     64      20       3
//	below 1,000,000   256     5        2
//	more, or unknown  512     1        0
//
// With several workers in modes async, half_async and ssp, whose gradients miss each other's updates, the batch is at
// most what leaves each of n workers and threads 12·n steps, and 48.
//
// Flags without a field set up the strategy, unless the program sets Job.Strategy, or are commands:
//
//	-strategy          more of the strategy, as JSON, such as {"worker_timeout": "10s"}
//	-k_steps           steps between exchanges with the servers, in mode geo
//	-placement, -codec, -payload   where params live, and how they are sent
//	-checkpoint_every  time between two checkpoints, 1m by default
//	-check             examine the job and its rows, try some steps in this process, list likely mistakes, and exit: see
//	                   [Check]
//	-nocheck           do not look before training: else the first second goes into warnings of what -check would find in
//	                   up to 100,000 rows that are in memory, of at most a million, in the texts of files of up to 4
//	                   MiB, and in some steps on a copy
//	-predict, -eval    apply the model in -out, or in -load, to rows in files, in this process: write its outputs, a line
//	                   for each row, or report how good it is: see [Examination]
//	-by, -importance   with -eval: also by the values of a field; also the importance of each field
//	-pass_over         a day of Job.Days, whose files are lost or have changed: what is left of it is not trained
//	-journal           directory on each server's local disk for a journal between checkpoints; needs -checkpoint
//
// A job resumes from a checkpoint with the rule that wrote it, whose state it contains. To use another rule, begin from
// a saved model, which has only weights, and use another directory for checkpoints: -load=output/best
// -checkpoint=output/checkpoints2.
//
// -eval, -load and a job that goes on refuse a program whose Files.Format gives the model's columns another meaning
// than that with which they were trained: other fields or another order of them, hashes, scales (by more than a tenth
// of a deviation), derived fields. -load does not compare labels. Files may be written in another way, and columns that
// no node takes may differ. Types of formats without a name are not compared, nor by a job that goes on a format of
// more than 16 KiB as JSON.
type Options struct {
	Mode string // mode of the strategy; empty means async with servers, and sync, the only mode, without
	// seed of the order of data, and of other uses by the program, such as first weights; 0 is a valid seed
	Seed   uint64
	Batch  int     // examples per step and thread; 0 means what fits the rows
	Epochs int     // passes over the training data; 0 means what fits the rows
	Out    string  // output directory of one running job: checkpoint, model, history, curves; empty saves nothing
	Load   string  // a checkpoint or a model to begin from, written by any number of servers
	LR     float64 // learning rate; 0 means the program's, see [Options.Rate]; -lr=0 is refused
	// Threads is the number of training threads per worker; 0 means 1. Modes in which workers wait for each other
	// permit only one.
	Threads int
	// EvalEvery is the number of a worker's steps between evaluations, in addition to the one at each epoch's end; 0
	// means only that one. It is refused in mode half_async with gradient_merge and several Threads.
	EvalEvery int
	// Patience is the number of evaluations in a row that are no better than the best after which the job ends, with
	// the model of the best: see [EarlyStopping]. 0 trains all epochs and keeps the model of the last step, unless
	// Epochs is 0 too and there are test rows: then it is what fits the rows.
	Patience int

	// TensorBoard is a directory for TensorBoard's files, see the hook [TensorBoard]; empty means none.
	TensorBoard string
	// LogJSON is a file for the history as lines of JSON, see [HistoryJSON]; "-" prints them, and empty means none.
	LogJSON string

	// Checkpoint is the directory for automatic checkpoints, from which a restarted job resumes; empty means none.
	Checkpoint string

	// Role gives this process its role in [Main]; nil reads the environment, as [fleet.New] does.
	Role rolemaker.RoleMaker
	// Fleet configures the fleet that [Main] makes: the program's transport, and its own placement policies, which
	// -placement can name. Main sets Fleet.Default.
	Fleet fleet.Options

	checkpointEvery                  time.Duration
	journal                          string
	placement, codec, payload, amend string
	passOver                         string // a day
	kSteps, goBack                   int
	look, unlooked                   bool      // examine the job, and do not train; train, and do not look before
	predict, eval, by                string    // files, instead of training, and a field of them
	importance                       bool      // with eval: of fields
	predictions                      io.Writer // output of predict; nil means os.Stdout
	parsed                           bool      // by Parse, from the program's command line
	defaulted                        bool      // Threads has its default
	flags                            *flag.FlagSet
}

const testBatch = 2048

// fitting are the batch, the epochs and the patience for a number of rows, -1 if it is not known: a small file needs
// many steps, and an end before it is known by heart. Of several lanes each needs some.
func (c *Options) fitting(rows, lanes int) (o order) {
	switch {
	case rows < 0 || rows >= 1_000_000:
		o = order{Batch: 512, Epochs: 1}
	case rows < 10_000:
		o = order{Batch: 32, Epochs: 50, Patience: 3}
	case rows < 100_000:
		o = order{Batch: 64, Epochs: 20, Patience: 3}
	default:
		o = order{Batch: 256, Epochs: 5, Patience: 2}
	}
	if lanes > 1 && rows > 0 {
		o.Batch = min(o.Batch, max(deep(rows, cmp.Or(c.Epochs, o.Epochs), lanes), fewestRows))
	}
	return o
}

// fit sets the options that neither the program nor a flag names, and returns them as flags, "" if there are none.
func (c *Options) fit(o order, tests bool) (said string) {
	set := func(name string, at *int, v int) {
		if *at == 0 && !c.named(name) && v > 0 {
			*at = v
			said += fmt.Sprintf("-%s=%d ", name, v)
		}
	}
	if c.Epochs == 0 && tests {
		set("patience", &c.Patience, o.Patience)
	}
	set("epochs", &c.Epochs, o.Epochs)
	set("batch", &c.Batch, o.Batch)
	return said
}

// named reports whether the command line has a flag.
func (c *Options) named(name string) (is bool) {
	if c.flags != nil {
		c.flags.Visit(func(f *flag.Flag) { is = is || f.Name == name })
	}
	return is
}

// fill sets the defaults of fields that are 0, once: values of flags are not replaced.
func (c *Options) fill() {
	if !c.defaulted {
		c.Threads, c.goBack, c.defaulted = cmp.Or(c.Threads, 1), 3, true
	}
}

// Register adds the flags to a flag set.
func (c *Options) Register(fs *flag.FlagSet) {
	c.fill()
	c.flags = fs
	fs.StringVar(&c.Mode, "mode", c.Mode, modes())
	fs.IntVar(&c.kSteps, "k_steps", 0, "steps between exchanges with the servers, in mode geo; 0 means the mode's "+
		"default")
	fs.StringVar(&c.amend, "strategy", "", `more of the strategy, as JSON: {"worker_timeout": "10s"}`)
	fs.StringVar(&c.placement, "placement", "RoundRobin", "RoundRobin, HashName, Balanced or a policy "+
		"of the program")
	fs.StringVar(&c.codec, "codec", "none", "none, s2, zstd or gzip")
	fs.StringVar(&c.payload, "payload", "float32", "format of pushed gradients: float32, float16, bfloat16 or int8")
	fs.Uint64Var(&c.Seed, "seed", c.Seed, "seed of the order of data and of first weights")
	fs.IntVar(&c.Epochs, "epochs", c.Epochs, "passes over the training data; left out where the program "+
		"names none, what fits the rows")
	fs.IntVar(&c.Threads, "threads", c.Threads, "training threads per worker; more than one only in modes async, "+
		"half_async and geo, and in a process alone")
	fs.IntVar(&c.EvalEvery, "eval_every", c.EvalEvery, "steps between evaluations, in addition to those at the end "+
		"of epochs; 0 means only those")
	fs.IntVar(&c.Patience, "patience", c.Patience, "end the job after this many evaluations without a better test "+
		"loss, and keep the best model; 0 trains all epochs and keeps the last model; left out where the program "+
		"names no epochs either, what fits the rows")
	fs.IntVar(&c.Batch, "batch", c.Batch, "examples per step and thread; left out where the program "+
		"names none, what fits the rows")
	fs.Float64Var(&c.LR, "lr", c.LR, "learning rate; left out, the program's")
	fs.StringVar(&c.Load, "load", c.Load, "checkpoint or saved model to begin from, written by any number of "+
		"servers, such as output/mnist/checkpoint; a model has only weights, so another rule may continue training")
	fs.StringVar(&c.Checkpoint, "checkpoint", c.Checkpoint, "directory for checkpoints, at each epoch's end and in "+
		"between; a restarted job resumes from the newest complete one, which takes precedence over -load")
	fs.StringVar(&c.journal, "journal", "", "directory on each server's local disk for a journal of updates between "+
		"checkpoints: a server that is killed and restarted, as by fleetrun --restart_servers, continues where it "+
		"was; needs -checkpoint")
	fs.DurationVar(&c.checkpointEvery, "checkpoint_every", 0, "time between two checkpoints; 0 means 1m")
	fs.StringVar(&c.passOver, "pass_over", "", "a day of Job.Days whose files are lost or have changed: what is left "+
		"of it is not trained")
	fs.IntVar(&c.goBack, "goback", c.goBack, "how often a role rejoins the job when all go back to the last "+
		"checkpoint, before it exits with status 75; needs -checkpoint")
	fs.BoolVar(&c.look, "check", false, "examine the job and its rows, try some steps, list likely mistakes, and "+
		"exit; the status is 1 if training would fail")
	fs.BoolVar(&c.unlooked, "nocheck", false, "do not look for mistakes in up to 100,000 rows in memory, and in some "+
		"steps, in the second before training")
	fs.StringVar(&c.predict, "predict", "", "file, pattern or directory of rows: write the predictions of the saved "+
		"model (-load, or below -out) for each, and exit")
	fs.StringVar(&c.eval, "eval", "", "file, pattern or directory of rows: report the loss, metrics, calibration "+
		"and confusion matrix of the saved model on them, and exit")
	fs.StringVar(&c.by, "by", "", "a field of the rows: -eval, and a job of days before each, also report the "+
		"loss and metrics for each of its values")
	fs.BoolVar(&c.importance, "importance", false, "-eval also reports the importance of each field, on 10,000 rows")
	fs.StringVar(&c.TensorBoard, "tensorboard", c.TensorBoard, "directory for TensorBoard: losses, metrics, "+
		"histograms, the graph, embeddings; empty means none")
	fs.StringVar(&c.LogJSON, "log_json", c.LogJSON, "file for evaluations as lines of JSON, with names that W&B and "+
		"MLflow accept; - prints them; empty means none")
	fs.StringVar(&c.Out, "out", c.Out, "output directory: checkpoint, model, history, curves; empty saves nothing")
}

func modes() string {
	var names []string
	for _, m := range strategy.Modes() {
		names = append(names, string(m))
	}
	return strings.Join(names, ", ") + "; without servers, in a collective job, sync"
}

// Check returns an error if the options are invalid.
func (c *Options) Check() error {
	c.fill()
	switch {
	case c.Epochs < 0 || c.Batch < 0 || c.Epochs == 0 && c.named("epochs") || c.Batch == 0 && c.named("batch"):
		return fmt.Errorf("train: -epochs=%d -batch=%d: both count from 1; a flag that is left out has its default",
			c.Epochs, c.Batch)
	case c.Threads < 1:
		return fmt.Errorf("train: -threads=%d: they count from 1", c.Threads)
	case c.goBack < 0:
		return fmt.Errorf("train: -goback=%d: it counts from 0", c.goBack)
	case c.passOver != "" && !isName(strings.Replace(c.passOver, partMark, "-", 1)):
		return fmt.Errorf("train: -pass_over=%s: want the name of a day, or of a part of one", c.passOver)
	case c.EvalEvery < 0:
		return fmt.Errorf("train: -eval_every=%d: it counts steps, from 0", c.EvalEvery)
	case c.look && c.predict+c.eval != "" || c.predict != "" && c.eval != "":
		return errors.New("train: -check, -predict and -eval each end the program: name one of them")
	case c.look && c.unlooked:
		return errors.New("train: -check examines the job, and -nocheck says not to: leave one of them out")
	case c.eval == "" && c.importance:
		return errors.New("train: -importance is of what -eval says: name rows with -eval")
	case c.named("lr") && c.LR == 0:
		return errors.New("train: -lr=0: nothing is learnt at this rate, and rules take 0 for their own: name one " +
			"above 0, or leave the flag out for the program's")
	case c.Patience < 0:
		return fmt.Errorf("train: -patience=%d: it counts evaluations, from 0", c.Patience)
	}
	for _, dir := range []struct{ flag, name string }{
		{"out", c.Out}, {"load", c.Load}, {"checkpoint", c.Checkpoint}, {"journal", c.journal}, {"log_json", c.LogJSON},
		{"tensorboard", c.TensorBoard},
	} {
		check := files.Check
		if dir.flag == "journal" || dir.flag == "tensorboard" { // files there are appended to
			check = files.CheckLocal
		}
		if err := check(dir.name); err != nil { // reported before hours of training
			return fmt.Errorf("train: -%s: %w", dir.flag, err)
		}
	}
	if c.journal != "" && c.Checkpoint == "" && c.amend == "" { // amend may name a directory too
		return fmt.Errorf("train: -journal=%s without -checkpoint: a journal begins from a checkpoint, else it would "+
			"grow without end: give the job a directory for checkpoints too", c.journal)
	}
	_, err := c.Strategy()
	return err
}

// Strategy returns the preset of the mode, amended by the other flags.
func (c *Options) Strategy() (strategy.Strategy, error) {
	s, err := strategy.Strategy{}, error(nil)
	if c.Mode != "" {
		s, err = strategy.Named(c.Mode)
	}
	if err != nil {
		return s, fmt.Errorf("train: -mode=%s: %w", c.Mode, err)
	}
	s.Placement, s.Codec, s.Payload = c.placement, c.codec, strategy.Payload(c.payload)
	s.Recovery = c.recovery()
	if c.kSteps != 0 {
		if err := amend(&s, fmt.Sprintf(`{"k_steps": %d}`, c.kSteps)); err != nil {
			return s, fmt.Errorf("train: -k_steps=%d: %w", c.kSteps, err)
		}
	}
	if c.amend != "" {
		if err := amend(&s, c.amend); err != nil {
			return s, fmt.Errorf("train: -strategy=%s: %w", c.amend, err)
		}
	}
	return s, s.Validate()
}

// recovery is the Recovery of -checkpoint.
func (c *Options) recovery() strategy.Recovery {
	r := strategy.Recovery{Dir: c.Checkpoint, Every: strategy.Duration(c.checkpointEvery)}
	if r.Dir != "" && r.Every == 0 {
		r.Every = strategy.Duration(time.Minute)
	}
	if r.JournalDir = c.journal; r.JournalDir != "" {
		r.Journal = strategy.JournalProcess
	}
	return r
}

func amend(s *strategy.Strategy, fields string) error {
	if err := json.Unmarshal([]byte(fields), s); err != nil {
		if !json.Valid([]byte(fields)) {
			return fmt.Errorf(`%w: want JSON, such as {"worker_timeout": "10s"}, in single quotes for the shell`, err)
		}
		return err
	}
	return s.Validate()
}

// Rate returns the learning rate of -lr, or usual if -lr is not given.
func (c *Options) Rate(usual float64) float64 {
	return cmp.Or(c.LR, usual)
}

// AdamOrSGD returns a rule that works in every mode: Adam at the rate adam or, in geo mode, which needs SGD, SGD at the
// rate sgd. The rate of -lr replaces both.
func (c *Options) AdamOrSGD(adam, sgd float64) optimizer.Rule {
	if mode.Of(strategy.Mode(c.Mode)).Copies {
		return optimizer.SGD{LR: c.Rate(sgd)}
	}
	return optimizer.Adam{LR: c.Rate(adam)}
}
