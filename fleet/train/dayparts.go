package train

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofleet/gofleet/internal/files"
)

// partMark is between the name of a day and the number of a part of it, which is trained before the day is complete:
// 0412~01. No day's name has it.
const partMark = "~"

// dayOf is the day of which name is a part, and the part's number.
func dayOf(name string) (day string, n int, is bool) {
	day, number, is := strings.Cut(name, partMark)
	n, err := strconv.Atoi(number)
	return day, n, is && err == nil
}

// parts are the number of parts of a day so far, and their files, by paths within the day's directory.
func (d *days) parts(ctx context.Context, day string) (n int, had []dayFile, err error) {
	for i, e := range slices.Backward(d.known) {
		of, number, is := dayOf(e.Name)
		if !is || of != day {
			continue
		}
		n = max(n, number)
		l, err := d.read(ctx, d.begun-len(d.known)+i, e)
		if err != nil && e.Name == d.pass {
			d.unread("the list of a part that is passed over, so that files which it had are trained again,", err)
			continue
		}
		if err != nil {
			return 0, nil, err
		}
		for i := range l.Files {
			l.Files[i].Path = strings.TrimPrefix(l.Files[i].Path, l.In+"/")
		}
		return n, append(l.Had, l.Files...), nil
	}
	return n, nil, nil
}

// part finds the next part of a day that is not complete, nil if there is none yet: the files of no earlier part that
// have kept their sizes for half of Every, once one of them has for all of it.
func (d *days) part(ctx context.Context, day string) (*Day, []string, error) {
	if d.Every == 0 || d.since == nil { // or it is read ahead
		return nil, nil, nil
	}
	n, had, err := d.parts(ctx, day)
	if err != nil {
		return nil, nil, err
	}
	paths, err := d.left(day, had)
	var stand []string
	due := false
	for _, path := range paths {
		st, wrong := files.Stat(path)
		if wrong != nil && !errors.Is(wrong, fs.ErrNotExist) {
			err = wrong
		}
		if wrong != nil || st.Size() == 0 {
			continue // it is renamed, or has not begun
		}
		if f, known := d.came[path]; !known || f.bytes != st.Size() {
			d.came[path] = arrival{st.Size(), time.Now()}
		}
		if age := time.Since(d.came[path].at); age >= d.Every/2 {
			stand, due = append(stand, path), due || age >= d.Every
		}
	}
	d.unread("a file of a day that is not complete", err, "day", day)
	if !due {
		return nil, nil, nil
	}
	return &Day{Name: fmt.Sprintf("%s%s%02d", day, partMark, n+1), Within: true}, stand, nil
}

// unread warns once of what can't be read and is looked at again.
func (d *days) unread(what string, err error, args ...any) {
	if lost := err != nil && !errors.Is(err, fs.ErrNotExist) && d.since != nil; lost != d.lost[what] {
		if d.lost[what] = lost; lost {
			slog.Warn("train: "+what+" can't be read; it is looked at again", append(args, "error", err)...)
		}
	}
}

// arrival is when a file was first seen with its size.
type arrival struct {
	bytes int64
	at    time.Time
}

// altered are files of a day's earlier parts that are not as they were, with the reasons why that is damage.
func altered(ctx context.Context, in string, had []dayFile) map[string]string {
	all := map[string]string{}
	for _, f := range had {
		f.Path = files.Join(in, f.Path)
		st, err := files.Stat(f.Path)
		why := ""
		switch {
		case err != nil:
			why = err.Error()
		case st.Size() != f.Bytes:
			why = fmt.Sprintf("it had %d bytes, and has %d", f.Bytes, st.Size())
		case f.Version != "" && f.changed(ctx) != nil:
			why = "it has changed since"
		default:
			continue
		}
		all[f.Path] = "a part of the day was trained with it: " + why + "; write a file under a name that begins " +
			"with \".\", and rename it when it is whole"
	}
	return all
}
