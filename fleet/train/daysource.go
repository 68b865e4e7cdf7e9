package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofleet/gofleet/internal/awake"
	"github.com/gofleet/gofleet/internal/epoch"
	"github.com/gofleet/gofleet/internal/files"
)

// A worker looks for a day for lookTime, again and again after pauses of firstPause up to lookPause: workers of a job
// without servers wait for it. The others ask as often whether it has found one.
const lookTime, firstPause, lookPause = 10 * time.Second, 20 * time.Millisecond, 2 * time.Second

// choose looks for the next day, as the leader of the job's epochs tells this worker to.
func (r *Run) choose(ctx context.Context, t *epoch.Told) error {
	d := r.days
	insist := func(do func() error) error { return insist(ctx, 6, "the list of a day's files", do) }
	var e entry
	var is bool
	if err := insist(func() (err error) { e, is, err = d.listed(ctx, t.Epoch); return err }); err != nil {
		return err
	}
	if !is {
		day, paths, last, err := d.look(ctx)
		if err != nil {
			return err
		}
		if day == nil {
			r.course.member.Chose(nil, last)
			return nil
		}
		if err := insist(func() (err error) { e, err = d.seal(ctx, t.Epoch, day, paths); return err }); err != nil {
			return fmt.Errorf("train: the files of day %s: %w", day.Name, err)
		}
	}
	chosen, err := d.with(e)
	if err == nil {
		r.course.member.Chose(chosen, false)
	}
	return err
}

// look looks for the next day. It returns none if there is none yet, or, with last, no more. paths are its files.
func (d *days) look(ctx context.Context) (day *Day, paths []string, last bool, err error) {
	within, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	for pause := firstPause; ; pause = min(2*pause, lookPause) {
		switch day, paths, err = d.find(within); {
		case errors.Is(err, io.EOF):
			return nil, nil, true, nil
		case err != nil && ctx.Err() == nil && within.Err() != nil:
			return nil, nil, false, nil
		case err != nil || day != nil:
			return day, paths, false, err
		}
		if awake.Rest(within, pause) != nil {
			return nil, nil, false, files.Ended(ctx)
		}
	}
}

// find looks once for the next day, nil if there is none yet, and returns it with its files.
func (d *days) find(ctx context.Context) (*Day, []string, error) {
	if d.Next != nil {
		return d.inNext(ctx)
	}
	return d.inDir(ctx)
}

// seal writes the list of a day's files as they are now.
func (d *days) seal(ctx context.Context, epoch int, day *Day, paths []string) (entry, error) {
	l := &dayList{Name: day.Name, Within: day.Again || day.Within, Shrink: d.Shrink, Publish: d.Publish}
	whole, _, is := dayOf(day.Name)
	if l.Part = is; is {
		l.Publish.Deltas = 0
	}
	if d.Dir != "" {
		var err error
		if _, l.Had, err = d.parts(ctx, whole); err != nil {
			return entry{}, err
		}
		l.In = files.Join(d.Dir, whole)
		l.Altered = altered(ctx, l.In, l.Had)
	}
	for _, path := range paths {
		f, err := sealed(ctx, path, math.MaxInt64)
		if err != nil {
			return entry{}, err
		}
		l.Files = append(l.Files, f)
		delete(d.came, path)
	}
	return d.write(epoch, l)
}

// firstDay has a job that is looked at read its first day, or what has come of it, as it would read Files.
func (j *Job) firstDay(ctx context.Context) error {
	of := *j.Days
	of.Every = min(of.Every, time.Second)
	d := &days{Days: &of, since: map[string]time.Time{}, came: map[string]arrival{}, lost: map[string]bool{}}
	day, paths, _, err := d.look(ctx)
	if err == nil && (day == nil || len(paths) == 0) {
		err = fmt.Errorf("train: Job.Days has no day with files yet: looked in %q for %v", d.Dir, lookTime)
	}
	j.Files.Paths, j.Files.HeldOut, j.Days, j.Sharded = paths, -1, nil, false
	j.Data, j.files = j.Files.withLabels(j.Loss).Load, true
	return err
}

// inDir finds the next day in the directory of days, nil if there is none yet, with its files. What can't be read is
// looked at again: it makes no day late.
func (d *days) inDir(ctx context.Context) (*Day, []string, error) {
	names, err := d.dirs()
	if d.unread("the directory of days", err, "dir", d.Dir); err != nil {
		return nil, nil, nil
	}
	newest, begun, past := "", "", d.past() // the last day that has ended, and one of which parts were trained
	for _, name := range past {
		if day, _, is := dayOf(name); is {
			begun = max(begun, day)
		} else if !anew(name, past) {
			newest = max(newest, name)
		}
	}
	var lost error
	defer func() { d.unread("the mark of a day", lost, "dir", d.Dir) }()
	marked := func(name string) bool {
		is, err := d.marked(name)
		lost = errors.Join(lost, err)
		return is
	}
	for _, name := range names {
		if anew(name, past) && marked(name) {
			return d.filesIn(ctx, Day{Name: name, Again: true})
		}
	}
	for i, name := range names {
		switch {
		case anew(name, past) || name <= newest || name < begun:
			continue
		case d.Last != "" && name > d.Last:
			return nil, nil, io.EOF
		case marked(name):
			return d.filesIn(ctx, Day{Name: name})
		case !slices.ContainsFunc(names[i+1:], marked):
			return d.part(ctx, name)
		case marked(name): // both were marked between the two looks
			return d.filesIn(ctx, Day{Name: name})
		case lost != nil:
			return nil, nil, nil
		}
		switch how, err := d.late(name, "the directory lacks "+d.mark()+", and a later one has it"); {
		case err != nil:
			return nil, nil, err
		case how == waitsFor:
			return d.part(ctx, name)
		case how == takes:
			return d.filesIn(ctx, Day{Name: name})
		case name == begun: // what was trained of it ends its period
			return &Day{Name: name}, nil, nil
		}
	}
	if d.Last != "" && newest >= d.Last {
		return nil, nil, io.EOF
	}
	return nil, nil, nil
}

// dirs are the names of days in the directory that have not begun. A link to a directory is one.
func (d *days) dirs() (names []string, err error) {
	entries, err := files.ReadDir(d.Dir)
	past := d.past()
	for _, e := range entries {
		name, is := e.Name(), e.IsDir()
		if slices.Contains(past, name) || name[0] == '.' || name[0] == '_' {
			continue
		}
		if !is && e.Type()&fs.ModeSymlink != 0 {
			st, lost := files.Stat(files.Join(d.Dir, name))
			if is = lost == nil && st.IsDir(); lost != nil && !errors.Is(lost, fs.ErrNotExist) {
				err = errors.Join(err, lost)
			}
		}
		if is && isName(name) {
			names = append(names, name)
		} else if is {
			d.misnamed(name)
		}
	}
	slices.Sort(names)
	return names, err
}

// misnamed warns once of a directory that is complete as days are, and whose name no day may have.
func (d *days) misnamed(name string) {
	if is, _ := d.marked(name); is && d.since != nil && !d.lost[name] {
		d.lost[name] = true
		slog.Warn("train: a directory is not taken for a day because of its name: a day has up to "+
			strconv.Itoa(mostName)+" letters, digits and \""+dayMarks+"\"", "dir", files.Join(d.Dir, name))
	}
}

// anew reports whether a name is that of a day trained once more, such as 0412-2 of 0412, which is among past.
func anew(name string, past []string) bool {
	at := strings.LastIndexByte(name, '-')
	if at < 0 || !slices.Contains(past, name[:at]) {
		return false
	}
	n, err := strconv.Atoi(name[at+1:])
	return err == nil && n > 1
}

func (d *days) marked(name string) (bool, error) {
	return files.Exists(files.Join(d.Dir, name, d.mark()))
}

// filesIn returns a day of the directory with its files that no part of it has, which may be none. There is no day yet
// if they can't be listed.
func (d *days) filesIn(ctx context.Context, day Day) (*Day, []string, error) {
	_, had, err := d.parts(ctx, day.Name)
	if err != nil {
		return nil, nil, err
	}
	paths, err := d.left(day.Name, had)
	if d.unread("the directory of a day", err, "day", day.Name); err != nil {
		return nil, nil, nil
	}
	return &day, paths, nil
}

// left are the files in the directory of a day but those that parts of it had.
func (d *days) left(day string, had []dayFile) ([]string, error) {
	gone := map[string]bool{files.Join(d.Dir, day, d.mark()): true}
	for _, f := range had {
		gone[files.Join(d.Dir, day, f.Path)] = true
	}
	paths, err := filesOf(files.Join(d.Dir, day))
	if errors.Is(err, errNoFiles) {
		err = nil
	}
	return slices.DeleteFunc(paths, func(path string) bool { return gone[path] }), err
}

// inNext asks for the next day, nil if there is none yet, and returns it with its files.
func (d *days) inNext(ctx context.Context) (*Day, []string, error) {
	day, err := d.Next(ctx, d.past())
	switch {
	case err != nil:
		return nil, nil, err
	case !isName(day.Name) || slices.Contains(d.past(), day.Name):
		return nil, nil, fmt.Errorf("train: Days.Next returned the day %q: want a name that no day before has, of up "+
			"to %d letters, digits and %q, that begins with neither . nor _", day.Name, mostName, dayMarks)
	}
	var paths []string
	for _, path := range day.Files {
		found, err := filesOf(path)
		if paths = append(paths, found...); err == nil {
			continue
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, err
		}
		switch how, err := d.late(day.Name, path+" is not there"); {
		case err != nil || how == waitsFor:
			return nil, nil, err
		case how == passesOver:
			return &day, nil, nil
		}
	}
	return &day, paths, nil
}

// What becomes of a day that is late.
const (
	waitsFor = iota
	takes
	passesOver // it has no rows
)

// late says what becomes of a day that is late.
func (d *days) late(name, why string) (how int, err error) {
	began, known := d.since[name]
	if d.since == nil { // it is read ahead
		return waitsFor, nil
	}
	if !known {
		began = time.Now()
		d.since[name] = began
	}
	switch how = passesOver; {
	case time.Since(began) < d.Wait:
		return waitsFor, nil
	case d.Late == lateFail:
		return how, fmt.Errorf("train: day %s was waited for %v: %s: complete it, or pass over such days with "+
			"Days.Late", name, d.Wait, why)
	case d.Late == lateTake:
		how = takes
	}
	slog.Warn("train: a day is late, and was waited for long enough", "day", name, "why", why, "waited", d.Wait,
		"taken as it is", how == takes)
	return how, nil
}
