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

// A lock keeps a second process from a journal, but not on a machine that the lock does not reach, such as one to which
// the disk was moved. So each process that restarts from a journal has a life, one higher than any before, and writes
// files with names of its own; it also renames the segments that it has replayed. What a process of a lower life still
// writes goes after the last record that counts, or into a file of its own, and what it removes has other names.
//
//	NAME.000007.2   replayed up to the record before the next file's first
//	NAME.000008.2   where life 2 continues
//	NAME.000008     of life 0, which was still running: a stray

// named is the name of a segment's file.
type named struct {
	journal string
	number  int
	life    uint32 // 0 for a name without a life
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
	l, _ := strconv.ParseUint(life, 10, 32) // the comparison of names below excludes what is not a number
	f = named{journal, n, uint32(l)}
	return f, err == nil && f.String() == name
}

// list returns the names of all files of a journal.
func (j *Journal) list() (all []named, err error) {
	entries, err := os.ReadDir(j.o.Dir)
	for _, e := range entries {
		if f, is := parseName(j.o.Name, e.Name()); is {
			all = append(all, f)
		}
	}
	return all, err
}

// chained returns the files of a journal that follow each other: a life's files up to where the next life's begin. The
// others are strays. It sorts all by life, the highest first.
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

// sweep removes the strays, however new: files of lower lives that are not segments of this process. mu is held.
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

// take renames the replayed segments to this process's names, and continues in a new file, since a replaced process may
// have the last one open. The newest is renamed first, so that a later process finds all if this one dies meanwhile. mu
// is held.
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

// syncFile syncs a file, since the process that wrote it may not have. It opens the file for writing because Windows
// syncs only such files.
func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
