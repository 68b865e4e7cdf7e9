package journal

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A lock keeps a second process from a journal, but not on a machine that the lock doesn't reach, such as one to which
// the disk was moved. So each process that comes back has a life, one higher than any before, and writes files of its
// own name; segments it has played take its name too. What a process of a lower life still writes is behind the last
// record that counts, or in a file of its own, and what it removes has other names.
//
//	NAME.000007.2   played up to the record before the next file's first
//	NAME.000008.2   where life 2 goes on
//	NAME.000008     of life 0, which ran on: a stray

// named is the name of a segment's file.
type named struct {
	journal string
	number  int
	life    uint32 // without one, 0
}

func (f named) String() string {
	if f.life == 0 {
		return fmt.Sprintf("%s.%06d", f.journal, f.number)
	}
	return fmt.Sprintf("%s.%06d.%d", f.journal, f.number, f.life)
}

// parseName reads the name of a file of a journal.
func parseName(journal, name string) (f named, is bool) {
	text, is := strings.CutPrefix(name, journal+".")
	if !is {
		return f, false
	}
	number, life, _ := strings.Cut(text, ".")
	n, err := strconv.Atoi(number)
	l, _ := strconv.ParseUint(life, 10, 32) // what is no number is no file of a journal, as the name made anew shows
	f = named{journal, n, uint32(l)}
	return f, err == nil && f.String() == name
}

// list is all files of a journal.
func (j *Journal) list() (all []named, err error) {
	entries, err := os.ReadDir(j.o.Dir)
	for _, e := range entries {
		if f, is := parseName(j.o.Name, e.Name()); is {
			all = append(all, f)
		}
	}
	return all, err
}

// chained are the files of a journal that follow each other: a life's files go up to where the next life's begin.
// Others are strays. It sorts all by life, the highest first.
func chained(all []named) (chain []named) {
	slices.SortFunc(all, func(a, b named) int {
		return cmp.Or(cmp.Compare(b.life, a.life), cmp.Compare(b.number, a.number))
	})
	next := math.MaxInt
	for _, f := range all {
		if f.number < next {
			chain, next = append(chain, f), f.number
		}
	}
	slices.Reverse(chain)
	return chain
}

// sweep removes the strays, be they new: files of lower lives that are no segments of this process. Locked.
func (j *Journal) sweep() error {
	all, err := j.list()
	for _, f := range all {
		path := filepath.Join(j.o.Dir, f.String())
		if f.life < j.life && !slices.ContainsFunc(j.segments, func(s Segment) bool { return s.path == path }) {
			err = errors.Join(err, remove(path))
		}
	}
	return err
}

// take makes what was played this process's own, and goes on in a new file: a process that was replaced may have the
// last one open. The newest is renamed first, so that a process which comes when this one has died finds all. Locked.
func (j *Journal) take() error {
	for i, s := range slices.Backward(j.segments) {
		if i == len(j.segments)-1 && j.o.Durable {
			if err := syncFile(s.path); err != nil {
				return j.fail(err)
			}
		}
		mine := j.path(s.Number)
		if err := os.Rename(s.path, mine); err != nil {
			return j.fail(err)
		}
		j.segments[i].path = mine
	}
	if err := j.sweep(); err != nil {
		return j.fail(err)
	}
	return j.next(start{Continues: true})
}

// syncFile has a file reach its disk, which the process that wrote it may not have waited for. Windows flushes only
// what is open for writing.
func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
