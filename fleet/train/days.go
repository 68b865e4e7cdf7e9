package train

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/internal/files"
)

// Days are rows that come by the day, for a job that goes on as long as there are more. Each day is an epoch of the
// job: its rows are read into memory, evaluated before the model has seen any of them, and trained on once.
//
//	train.Job{…,
//		Files: train.Files{Format: format},
//		Days:  &train.Days{Dir: "logs", Wait: time.Hour, BadFiles: 2, Shrink: fleet.ShrinkOptions{Unseen: 30}},
//	}
//
// Which files a day has, with their sizes and checksums, is settled before its first step, by a file below "days" in
// the directory for checkpoints, which such a job must have, and goes when 600 more have begun. What comes later into a
// day's directory is not trained on, a file that grows is read to the size that it had, and one that was changed or is
// gone ends the job with an error. Files are dealt to workers by size; of fewer than 4 a worker each takes its share of
// lines.
//
// A day ends when all workers have trained on it: hooks end the epoch, a period ends under the day's name, as by
// [fleet.Fleet.Shrink], a base is published, a checkpoint is saved, and what was done is written. Each happens once,
// whoever dies when. [Run.Stop] ends the job at the day's end; started again, it goes on with the next one.
//
// The evaluation in the middle of a day's epoch has the loss and the metrics of its rows before training, beside those
// of the constant prediction by the labels of all days before; the one at its end has no test rows.
type Days struct {
	// Dir is a directory, or a URL of one, whose directories are days: complete once a file named Mark, by default
	// "_SUCCESS", is in them. They come in the order of their names; one that sorts before a day that has begun is
	// passed over. A directory 0412-2 trains the day 0412 once more: it comes first, and ends no period.
	Dir, Mark string
	// Last is the day in Dir with which the job ends; "" means never.
	Last string
	// Next, in place of Dir, returns the day behind those of past, of which it gets the last 300 names. The error
	// io.EOF ends the job. It waits for a day until ctx ends, and is then called again. One worker's call counts; all
	// call it too, to read what may be the next day while they train.
	Next func(ctx context.Context, past []string) (Day, error)
	// Every trains what has come of a day in Dir while it lacks its mark, as parts of it, 0412~01, 0412~02 and so on: a
	// file counts once its size has stood still for half of Every, and a part begins once one has for Every. A part is
	// evaluated and trained as a day is, ends no period, and publishes a delta; the mark ends the day, with the files
	// that no part has. Files must come whole, under names that begin with "." until they are: one that is renamed,
	// grows or changes behind its part is damaged. 0 waits for whole days. A job remembers 300 days and parts.
	Every time.Duration
	// Wait is how long a day in Dir that lacks its mark is waited for when a later one has its own, or a file of Next
	// that is not there. Late says what follows: "" passes over the day, "take" takes the files that are there, and
	// "fail" ends the job.
	Wait time.Duration
	Late string
	// BadFiles is how many files of a day may be damaged, such as packed ones that end early, and SkipBad how many
	// lines: these are left out, counted and named. More end the job before it trains on the day.
	BadFiles, SkipBad int
	// By is a field of CSV or JSONLines, or of other formats a column with one number a row: a day's evaluation before
	// training is also made of the rows with each of its twenty commonest values that day, and of all others, with what
	// was predicted and observed. It is printed as a table, and is in done/NAME.json. The flag -by replaces it.
	By string
	// Shrink is how a day's period ends, without a Period; the zero value drops no rows.
	Shrink fleet.ShrinkOptions
	// Publish says where models for serving go. A day ends with the Shrink and the thresholds with which it has begun.
	Publish Publish
}

// Day is what Days.Next returns: a name of letters, digits and "._-=" that no day before has, and files, patterns or
// directories. One that is trained Again, or lies Within a longer day, ends no period.
type Day struct {
	Name          string
	Files         []string
	Again, Within bool
}

// check returns what is wrong with the days of a job.
func (d *Days) check(j *Job) error {
	refuse := func(format string, args ...any) error { return fmt.Errorf("train: Job.Days "+format, args...) }
	f, o, save := j.Files, j.Options, d.Publish.Save
	switch {
	case (d.Dir == "") == (d.Next == nil):
		return refuse("have Dir %q and Next %t: want one of them", d.Dir, d.Next != nil)
	case d.Next != nil && (d.Mark+d.Last != "" || d.Every != 0):
		return refuse("have Mark, Last or Every, which are of a Dir, and Next: Next's io.EOF ends the job, and a " +
			"part of a day is a Day Within it")
	case d.Late != "" && d.Late != lateTake && d.Late != lateFail:
		return refuse("have Late %q: want %q, %q, or nothing to pass over the day", d.Late, lateTake, lateFail)
	case d.Every < 0 || d.Wait < 0 || d.BadFiles < 0 || d.SkipBad < 0:
		return refuse("have Every %v, Wait %v, BadFiles %d, SkipBad %d: want none below 0", d.Every, d.Wait, d.BadFiles,
			d.SkipBad)
	case d.Shrink.Period != "":
		return refuse("have Shrink.Period %q: a period has the name of its day", d.Shrink.Period)
	case save.Mode != 0 || save.Model != nil || save.Published+save.Name != "" || save.Shrink != fleet.ShrinkOptions{}:
		return refuse("have Publish.Save %+v: leave out all but thresholds and Rows", save)
	case d.Publish.Deltas < 0 || d.Publish.Keep < 0 || d.Publish.Dir == "" && d.Publish != (Publish{}):
		return refuse("have Publish %+v: want a Dir, and nothing below 0", d.Publish)
	case d.Publish.Dir != "" && len(j.Outputs) == 0:
		return refuse("are published in %s, and Job.Outputs is empty: they are the model for serving", d.Publish.Dir)
	case f.Format == nil || len(f.Paths)+len(f.Test) > 0 || f.LastBy+f.GroupBy != "" || f.Last || f.Take != 0 ||
		f.HeldOut != 0:
		return refuse("take of Job.Files the Format alone, and it must have one")
	case j.Data != nil || j.Rows != nil || j.Sharded || j.Linear != nil:
		return refuse("give the job its rows, day by day: leave Data, Rows, Sharded and Linear out")
	case o.Epochs > 0 || o.Patience > 0 || o.EvalEvery > 0:
		return refuse("with -epochs, -patience or -eval_every: each day is one epoch, evaluated before it is trained")
	}
	_, _, _, err := parted(f.Format, j.sliceBy())
	return errors.Join(err, files.Check(d.Dir), files.Check(d.Publish.Dir))
}

const lateTake, lateFail = "take", "fail"

// mark is the name of the file that says that a day is complete.
func (d *Days) mark() string {
	if d.Mark == "" {
		return "_SUCCESS"
	}
	return d.Mark
}

// isName reports whether a day may have such a name, which names files too.
func isName(name string) bool {
	return name != "" && name[0] != '.' && name[0] != '_' && strings.Trim(name, dayLetters) == "" &&
		len(name) <= mostName
}

const (
	dayLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" + dayMarks
	dayMarks   = "._-="
	mostName   = 100
)
