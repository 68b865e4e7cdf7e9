package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"sync"

	"github.com/gofleet/gofleet/internal/files"
)

// Series are the checkpoints of one job, each a directory ckpt-<number> of its own below Dir. One job at a time saves
// there, the one that has claimed Dir. Directories are made exclusively all the same, and a job removes the one that
// it began from, what lay before it, and its own, and no others.
type Series struct {
	// Dir has the checkpoints; empty for a job that makes none.
	Dir string
	// Keep is how many whole ones stay, with all that they are based on.
	Keep int
	// Deltas is how many in a row may be based on the one before.
	Deltas int
	Log    *slog.Logger

	claims Claims

	mu   sync.Mutex
	next reserved
	base int          // the number of the one that the job began from, 0 for none
	own  map[int]bool // numbers that this process has made, or the one whose place it has taken
	made int          // the last of these
	last last
}

// numbers are the numbers of a series' directories, the highest first.
func numbers(dir string) (all []int, err error) {
	entries, err := files.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	for _, e := range entries {
		if n, is := numberOf(e.Name()); is {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	slices.Reverse(all)
	return all, nil
}

// Verify reads the manifest of a checkpoint and compares the checksums of all its parts, and of the parts of all that
// it is based on.
func Verify(ctx context.Context, dir string) (Manifest, error) {
	m, err := Read(dir)
	if err != nil {
		return m, err
	}
	links, err := wholeChain(dir, m)
	for _, link := range links {
		for _, p := range link.Parts {
			if err == nil {
				err = spoilt(p.sealed().Check(ctx, files.Join(link.dir, p.File)))
			}
		}
	}
	return m, err
}

// Latest is the newest whole checkpoint of a series; ErrNone if there is none.
func Latest(dir string) (newest string, m Manifest, err error) {
	if err := files.Check(dir); err != nil {
		return "", m, fmt.Errorf("checkpoint: %w", err)
	}
	all, err := numbers(dir)
	if err != nil {
		return "", m, err
	}
	for _, n := range all {
		newest := files.Join(dir, name(n))
		switch m, err := whole(newest); {
		case err == nil:
			return newest, m, nil
		case !Torn(err):
			return "", m, err
		}
	}
	return "", m, fmt.Errorf("checkpoint: %s has no whole checkpoint %s…: %w", dir, seriesPrefix, ErrNone)
}

// Resume has load read the newest whole checkpoint, which the series goes on from; found is false if there is none. One
// that is torn, as its files or load say, is passed over for the one before, with a warning.
func (s *Series) Resume(ctx context.Context, load func(dir string) error) (found bool, err error) {
	if s.Dir == "" {
		return false, nil
	}
	if err := errors.Join(files.Check(s.Dir), files.Ended(ctx)); err != nil {
		return false, fmt.Errorf("checkpoint: %w", err)
	}
	all, err := numbers(s.Dir)
	if err != nil {
		return false, err
	}
	for _, n := range all {
		dir := files.Join(s.Dir, name(n))
		if _, err = whole(dir); err == nil {
			err = load(dir)
		}
		switch {
		case err == nil:
			s.mu.Lock()
			defer s.mu.Unlock()
			s.base = n
			return true, nil
		case files.Unreadable(err):
			return false, fmt.Errorf("%w: %s stays: begin again when it can be read, or move it elsewhere to go on "+
				"from the one before",
				err, dir)
		case !Torn(err):
			return false, err
		}
		s.Log.Warn("skipped a checkpoint that is not complete", "dir", dir, "why", err)
	}
	return false, nil
}

// GoOn is for a process that takes the place of one of this job: the series goes on from a checkpoint as if this
// process had begun from it.
func (s *Series) GoOn(dir string) {
	if n, is := numberOf(files.Base(dir)); is {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.base = n
	}
}

// Own is for such a process: that directory was made by the other.
func (s *Series) Own(dir string) {
	if n, is := numberOf(files.Base(dir)); is {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.owns(n)
	}
}

// owns takes note of a directory that is this process's. mu is held.
func (s *Series) owns(n int) {
	if s.own == nil {
		s.own = map[int]bool{}
	}
	s.own[n], s.made = true, n
}

// Claim takes Dir for this job, before it trains. The error is another job that has it; a directory that can't be
// written now is told of, since each checkpoint tries again.
func (s *Series) Claim(ctx context.Context) error {
	if s.Dir == "" {
		return nil
	}
	err := s.claims.Take(ctx, s.Dir)
	if errors.Is(err, ErrTaken) || err != nil && ctx.Err() != nil {
		return err
	}
	if err != nil {
		s.Log.Warn("checkpoints can't be saved now", "dir", s.Dir, "error", err)
	}
	return nil
}

// Release gives up what Claim or Make took.
func (s *Series) Release() { s.claims.Release() }

// Commit is [Claims.Commit] for one of the series.
func (s *Series) Commit(ctx context.Context, dir string, m Manifest) error {
	return s.claims.Commit(ctx, dir, m)
}

// reserved is the number of the next checkpoint, or why there is none.
type reserved struct {
	number int // 0 before it was looked for
	err    error
}

// reserve claims Dir, and finds out which number is free. No other process takes it in a store: another job has not the
// claim, and one that has lost it commits nothing. over says that the checkpoint which was made last is not under way
// any more.
func (s *Series) reserve(ctx context.Context, over bool) {
	var all []int
	root, err := files.Abs(s.Dir)
	if err == nil {
		err = s.claims.Take(ctx, root)
	}
	if err == nil {
		all, err = numbers(root)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		err = s.sweep(over)
	}
	if s.next = (reserved{err: err}); err != nil {
		return
	}
	for n := range s.own {
		all = append(all, n)
	}
	s.next.number = slices.Max(append(all, s.base)) + 1
}

// Make makes the directory of the next checkpoint, which is this job's alone. The name is absolute, and durable when
// the checkpoint is committed: pushes are held while a directory is made, and need not wait for the disk. In a store,
// which may take its time, [Series.Look] has asked which number is free, and there is nothing to make.
func (s *Series) Make(ctx context.Context) (dir string, err error) {
	s.mu.Lock()
	asked := s.next != reserved{}
	s.mu.Unlock()
	if !asked {
		s.reserve(ctx, true)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.next
	if s.next = (reserved{}); next.err != nil {
		return "", next.err
	}
	root, err := files.Abs(s.Dir)
	for n := next.number; err == nil; n++ {
		dir = files.Join(root, name(n))
		switch err = on(ctx, dir).Mkdir(dir); {
		case err == nil:
			s.owns(n)
			return dir, nil
		case errors.Is(err, fs.ErrExist):
			err = nil // and the next may be free
		}
	}
	return "", fmt.Errorf("checkpoint: %w", err)
}

// sweep removes what is left of this process's own checkpoints that were never committed; of the last one only if that
// is over. A committed one stays, also while a part of it is out of sight. mu is held.
func (s *Series) sweep(over bool) error {
	for n := range s.own {
		if n == s.made && !over {
			continue
		}
		dir := files.Join(s.Dir, name(n))
		if _, err := Read(dir); !errors.Is(err, ErrNone) {
			continue
		}
		if _, err := remove(dir); err != nil {
			return fmt.Errorf("checkpoint: a part of one that failed is left: %w", err)
		}
		delete(s.own, n)
	}
	return nil
}

// Prune removes, now that a new one is whole, the checkpoints of this job that are older than the last Keep and that
// no checkpoint which stays is based on, and what was never finished. Pinned ones stay, and don't count. What can't be
// removed is told of and left, and so is all that lies before one that can't be read: it may be what that is based on.
func (s *Series) Prune() {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, err := numbers(s.Dir)
	kept, needed := 0, map[string]bool{} // names of bases: lower numbers, which come later
	for _, n := range all {
		dir := files.Join(s.Dir, name(n))
		m, torn := whole(dir)
		another := !s.own[n] && n > s.base
		if !another && torn != nil && !Torn(torn) {
			err = errors.Join(err, torn)
			break
		}
		switch {
		case another, Pinned(dir): // another job's, or a person's
		case torn == nil && kept < s.Keep:
			kept++
		case needed[name(n)]:
		case torn != nil && (kept == 0 || !s.own[n] && young(dir)): // the next may be under way, above the newest
		default:
			gone, failed := remove(dir)
			if err = errors.Join(err, failed); gone {
				delete(s.own, n)
				continue
			}
		}
		if m.Base != nil {
			needed[m.Base.Dir] = true
		}
	}
	if err != nil {
		s.Log.Warn("an old checkpoint could not be removed", "dir", s.Dir, "error", err)
	}
}

// remove removes the directory of a checkpoint. The manifest goes first, so that what is left is never whole; it comes
// back if the checkpoint was pinned meanwhile, which is not gone then. What somebody else has put there stays.
func remove(dir string) (gone bool, err error) {
	manifest, aside := files.Join(dir, manifestName), files.Join(dir, asideName)
	disk := on(context.Background(), dir)
	if err := disk.Rename(manifest, aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if Pinned(dir) {
		if err := disk.Rename(aside, manifest); !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
	}
	if err := removeFiles(dir, func(string) bool { return true }); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if err := disk.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	return true, nil
}

// last is the checkpoint that this process has committed last. Its lock is never held while a disk works.
type last struct {
	sync.Mutex
	committed
}

// committed is what a series knows of a checkpoint that this process has committed.
type committed struct {
	base   *Base
	deltas int   // in a row, up to it
	whole  int64 // bytes of the one that they are based on
	bytes  int64 // of them
}
