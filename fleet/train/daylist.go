package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/store"
	"github.com/gofleet/gofleet/internal/files"
)

// days are the days of a job, as a worker knows them.
type days struct {
	*Days
	dir     string               // of their lists
	begun   int                  // days so far
	known   []entry              // the last of them
	since   map[string]time.Time // when this process began to wait for what is late
	came    map[string]arrival   // files of a day that is not complete, by path
	lost    map[string]bool      // of what can't be read a warning was given
	pass    string               // the day that -pass_over names
	now     *dayRows
	next    *ahead // nil if no day is read ahead
	facts   dayFacts
	counts  map[[2]int]int // rows of epochs and workers
	workers int            // of the job
	titled  bool           // the columns of the lines about days were printed
	ended   []done         // days about which this process has printed a line
}

// entry is what the leader of the job's epochs knows of a day: its name, and the checksum of its list.
type entry struct {
	Name string `json:"n"`
	Sum  string `json:"s"`
}

// mostDays is how many days the leader knows, in at most mostChosen bytes.
const mostDays, mostChosen = 300, 16 << 10

// take takes what the leader knows of so many days.
func (d *days) take(begun int, chosen []byte) error {
	d.begun, d.known = begun, nil
	if err := json.Unmarshal(chosen, &d.known); err != nil {
		return fmt.Errorf("train: the days of the job can't be decoded; do all roles run the same build? %w", err)
	}
	return nil
}

// with are the days with one more, as the leader knows them.
func (d *days) with(e entry) ([]byte, error) {
	all := append(slices.Clone(d.known), e)
	for all = all[max(0, len(all)-mostDays):]; ; all = all[1+len(all)/8:] {
		text, err := json.Marshal(all)
		if err != nil || len(text) <= mostChosen {
			return text, err
		}
	}
}

// past are the names of the days so far.
func (d *days) past() (names []string) {
	for _, e := range d.known {
		names = append(names, e.Name)
	}
	return names
}

// of is the day of an epoch.
func (d *days) of(epoch int) (entry, error) {
	at := epoch - d.begun + len(d.known)
	if at < 0 || at >= len(d.known) {
		return entry{}, fmt.Errorf("train: day %d of the job is not among the last %d, which are known: a worker that "+
			"was away for so long can't train its share of it", epoch+1, len(d.known))
	}
	return d.known[at], nil
}

// dayList says which files a day has, whether it ends no period, and how it ends.
type dayList struct {
	Name   string `json:"name"`
	Within bool   `json:"within,omitempty"`
	// Part reports that it is a part of a day that was not complete. In is the day's directory; Had are the files of
	// its earlier parts, by paths within, and Altered those that are not as they were, with the reasons.
	Part    bool                `json:"part,omitempty"`
	In      string              `json:"in,omitempty"`
	Files   []dayFile           `json:"files"`
	Had     []dayFile           `json:"had,omitempty"`
	Altered map[string]string   `json:"altered,omitempty"`
	Shrink  fleet.ShrinkOptions `json:"shrink"`
	Publish Publish             `json:"publish"`
}

// dayFile is a file of a day: its size, and the checksum of its bytes, or its version in a store that has some.
type dayFile struct {
	Path    string `json:"path"`
	Bytes   int64  `json:"bytes"`
	Sum     string `json:"sum,omitempty"`
	Version string `json:"version,omitempty"`
}

// sealed describes the first bytes of a file as it is.
func sealed(ctx context.Context, path string, most int64) (dayFile, error) {
	st, err := files.Stat(path)
	if err != nil {
		return dayFile{}, err
	}
	f := dayFile{Path: path, Bytes: min(st.Size(), most)}
	if in, is := st.Sys().(store.Info); is && in.Version != "" {
		f.Version = in.Version
		return f, nil
	}
	r, err := openDay(ctx, path)
	if err != nil {
		return f, err
	}
	defer r.Close()
	f.Sum, err = files.SumReader(ctx, io.LimitReader(r, f.Bytes))
	return f, err
}

// changed returns why a file is not as it was.
func (f dayFile) changed(ctx context.Context) error {
	now, err := sealed(ctx, f.Path, f.Bytes)
	switch {
	case err != nil:
		return err
	case now.Bytes < f.Bytes:
		return fmt.Errorf("it had %d bytes, and has %d", f.Bytes, now.Bytes)
	case now != f:
		return errors.New("it has changed since")
	}
	return nil
}

func openDay(ctx context.Context, path string) (io.ReadCloser, error) {
	if files.IsURL(path) {
		return files.OpenStream(ctx, path)
	}
	return files.OpenLocal(path)
}

// pinned is a file system that has a file of a day, as far as it went.
type pinned struct {
	dayFile
	ctx context.Context
}

// Open implements fs.FS.
func (p pinned) Open(path string) (fs.File, error) {
	r, err := openDay(p.ctx, path)
	return upTo{io.LimitReader(r, p.Bytes), r}, err
}

// upTo is an open file of a day.
type upTo struct {
	io.Reader
	io.Closer
}

// Stat implements fs.File.
func (upTo) Stat() (fs.FileInfo, error) { return nil, errors.ErrUnsupported }

// listName begins the names of the lists of an epoch.
func listName(epoch int) string { return fmt.Sprintf("%06d-", epoch) }

// write writes the list of an epoch's day, durable before anybody is told of it.
func (d *days) write(epoch int, l *dayList) (entry, error) {
	text, err := json.MarshalIndent(l, "", "  ")
	if err == nil {
		err = files.MakeDirs(d.dir)
	}
	if err != nil {
		return entry{}, err
	}
	e := entry{l.Name, files.SumOf(text)}
	return e, files.Write(d.path(epoch, e), func(w io.Writer) error { _, err := w.Write(text); return err })
}

// path is the file of a day's list. It is named by its content, so that who was paused replaces none.
func (d *days) path(epoch int, e entry) string {
	return files.Join(d.dir, listName(epoch)+e.Name+"-"+e.Sum+".json")
}

// list reads the list of an epoch's day.
func (d *days) list(ctx context.Context, epoch int) (*dayList, error) {
	e, err := d.of(epoch)
	if err != nil {
		return nil, err
	}
	return d.read(ctx, epoch, e)
}

func (d *days) read(ctx context.Context, epoch int, e entry) (*dayList, error) {
	l, name := new(dayList), d.path(epoch, e)
	var text []byte
	var gone error // which no other try brings back
	err := insist(ctx, 3, "the list of a day's files", func() (err error) {
		if text, err = files.ReadFile(name); errors.Is(err, fs.ErrNotExist) {
			gone, err = err, nil
		}
		return err
	})
	if err = errors.Join(err, gone); err == nil && files.SumOf(text) != e.Sum {
		err = fmt.Errorf("%s: %w", name, errOtherSum)
	}
	if err == nil {
		err = json.Unmarshal(text, l)
	}
	if err != nil {
		return nil, fmt.Errorf("train: the list of the files of day %s: %w: put it back, or pass over the rest of the "+
			"day with -pass_over=%s on all workers", e.Name, err, e.Name)
	}
	l.Publish.Dir = d.Publish.Dir // which may have moved
	return l, nil
}

var errOtherSum = errors.New("its text has another checksum")

// listed returns the list of an epoch's day that an earlier life of the job has written, if there is one: the job has
// gone back to before it.
func (d *days) listed(ctx context.Context, epoch int) (e entry, is bool, err error) {
	entries, err := files.ReadDir(d.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return e, false, err
	}
	for _, at := range entries {
		text, begins := strings.CutPrefix(at.Name(), listName(epoch))
		text, ends := strings.CutSuffix(text, ".json")
		i := strings.LastIndexByte(text, '-')
		if !begins || !ends || i < 0 || slices.Contains(d.past(), text[:i]) {
			continue
		}
		e = entry{Sum: text[i+1:], Name: text[:i]}
		l, err := d.read(ctx, epoch, e)
		if errors.Is(err, errOtherSum) {
			continue
		}
		day, _, _ := dayOf(e.Name)
		_, had, lost := d.parts(ctx, day)
		if err := errors.Join(err, lost); err != nil {
			return e, false, err
		}
		if slices.Equal(l.Had, had) { // else it is of a life with other parts before it
			return e, true, nil
		}
	}
	return e, false, nil
}

// forget removes the lists of days behind which twice as many have begun as are known: a life of the job that goes back
// to a checkpoint of one of the last 300 still has those of the 300 before it.
func (d *days) forget() error {
	entries, err := files.ReadDir(d.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, at := range entries {
		number, _, _ := strings.Cut(at.Name(), "-")
		epoch, other := strconv.Atoi(number)
		is := other == nil && strings.HasPrefix(at.Name(), listName(epoch)) && strings.HasSuffix(at.Name(), ".json")
		if is && epoch < d.begun-2*mostDays {
			err = errors.Join(err, files.Remove(files.Join(d.dir, at.Name())))
		}
	}
	return err
}
