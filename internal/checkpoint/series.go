package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/gofleet/gofleet/internal/files"
)

// Series is the checkpoints that a job makes by itself, each in its own directory ckpt-<number> below Dir. One job at a
// time saves there, the one that has claimed Dir. Directories are still made exclusively. A job removes the checkpoint
// it began from, those before it, and its own, and no others.
type Series struct {
	// Dir is the directory of the checkpoints; empty for a job that makes none.
	Dir string
	// Keep is how many complete checkpoints are kept, together with all their bases.
	Keep int
	// Deltas is how many checkpoints in a row may have bases.
	Deltas int
	Log    *slog.Logger

	claims Claims

	// tidying is held while directories are removed, which takes as long as the disk or the store does. mu is not held
	// then, since pushes wait for Make.
	tidying sync.Mutex
	left    map[int]bool // numbers whose directories stay, with files that are not a checkpoint's

	mu   sync.Mutex
	next reserved
	base int          // the number of the checkpoint that the job began from, 0 for none
	own  map[int]bool // numbers made by this process, or by the process that it has replaced
	made int          // the last of own
	last last
}

// numbers returns the numbers of a series' directories, the highest first.
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

// Verify reads the manifest of a checkpoint and checks the checksums of all its parts, and of the parts of all its
// bases.
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

// Latest returns the newest complete checkpoint of a series; ErrNone if there is none.
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

// Resume calls load for the newest complete checkpoint, from which the series continues; found is false if there is
// none. A torn one, by its files or by load's error, is skipped for the one before, with a warning.
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
				"from the one before", err, dir)
		case !Torn(err):
			return false, err
		}
		s.Log.Warn("skipped a checkpoint that is not complete", "dir", dir, "why", err)
	}
	return false, nil
}

// GoOn makes the series continue from a checkpoint as if this process had begun from it. It is for a process that
// replaces another of this job.
func (s *Series) GoOn(dir string) {
	if n, is := numberOf(files.Base(dir)); is {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.base = n
	}
}

// Own records that the replaced process has made a directory, which now is this process's.
func (s *Series) Own(dir string) {
	if n, is := numberOf(files.Base(dir)); is {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.owns(n)
	}
}

// owns records a directory of this process. mu is held.
func (s *Series) owns(n int) {
	if s.own == nil {
		s.own = map[int]bool{}
	}
	s.own[n], s.made = true, n
}

// Claim takes Dir for this job, before it trains. It returns an error if another job has Dir, if the store can't keep
// jobs apart, or if ctx ends. It only logs other errors, since each checkpoint tries again.
func (s *Series) Claim(ctx context.Context) error {
	if s.Dir == "" {
		return nil
	}
	err := s.claims.Take(ctx, s.Dir)
	if errors.Is(err, ErrTaken) || errors.Is(err, ErrNoConditions) || err != nil && ctx.Err() != nil {
		return err
	}
	if err != nil {
		s.Log.Warn("checkpoints can't be saved now", "dir", s.Dir, "error", err)
	}
	return nil
}

// Release releases what Claim or Make has taken.
func (s *Series) Release() { s.claims.Release() }

// Commit is [Claims.Commit] for a checkpoint of the series.
func (s *Series) Commit(ctx context.Context, dir string, m Manifest) error {
	return s.claims.Commit(ctx, dir, m)
}

// reserved is the number of the next checkpoint, or the error of reserving it.
type reserved struct {
	number int // 0 before reserve
	err    error
}

// reserve claims Dir and finds a free number. In a store no other process takes that number: another job does not have
// the claim, and a job that has lost the claim commits nothing. over says that the checkpoint made last is not under
// way any more.
func (s *Series) reserve(ctx context.Context, over bool) {
	var all []int
	err := s.claims.Take(ctx, s.Dir)
	if err == nil {
		all, err = numbers(s.Dir)
	}
	s.sweep(over)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next = (reserved{err: err}); err != nil {
		return
	}
	for n := range s.own {
		all = append(all, n)
	}
	s.next.number = slices.Max(append(all, s.base)) + 1
}

// Make makes the directory of the next checkpoint, which is this job's alone. dir is absolute. Its name is durable only
// when the checkpoint is committed: pushes are held while a directory is made, and need not wait for the disk. In a
// store, which may be slow, [Series.Look] has reserved the number, and no directory needs to be made.
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
			err = nil // the next number may be free
		}
	}
	return "", fmt.Errorf("checkpoint: %w", err)
}

// sweep removes this process's checkpoints that were never committed; the last one only if over, since it may be under
// way. A committed one stays, even while a part of it can't be seen. It logs what it can't remove: the next checkpoint
// has another number.
func (s *Series) sweep(over bool) {
	if !s.tidying.TryLock() {
		return // the next call sweeps
	}
	defer s.tidying.Unlock()
	s.mu.Lock()
	own := maps.Clone(s.own)
	if !over {
		delete(own, s.made)
	}
	s.mu.Unlock()
	for n := range own {
		dir := files.Join(s.Dir, name(n))
		if hasCheckpoint(dir) { // which is cheaper to see than to read
			continue
		}
		if _, err := Read(dir); errors.Is(err, ErrNone) {
			s.drop(n)
		}
	}
}

// drop removes the directory of a number, and reports whether it is no checkpoint's any more. A directory that stays
// because it has other files is logged once. tidying is held.
func (s *Series) drop(n int) bool {
	if s.left[n] {
		return true
	}
	dir := files.Join(s.Dir, name(n))
	gone, err := remove(dir)
	s.mu.Lock()
	defer s.mu.Unlock()
	if gone {
		delete(s.own, n)
	}
	if gone && err != nil {
		if s.left == nil {
			s.left = map[int]bool{}
		}
		s.left[n] = true
	}
	if err != nil {
		s.Log.Warn("an old checkpoint could not be removed, and the job goes on", "dir", dir, "error", err)
	}
	return gone
}

// Prune removes, after a new checkpoint, this job's checkpoints that are older than the last Keep and are no base of
// one that stays, and incomplete ones. Pinned ones stay, and don't count. It logs what it can't remove. It leaves
// everything older than a checkpoint that can't be read, which may be based on it.
func (s *Series) Prune() {
	if !s.tidying.TryLock() {
		return // the next call prunes
	}
	defer s.tidying.Unlock()
	s.mu.Lock()
	own, base := maps.Clone(s.own), s.base
	s.mu.Unlock()
	all, err := numbers(s.Dir)
	kept, needed := 0, map[string]bool{} // names of bases, which have lower numbers and so come later
	for _, n := range all {
		dir := files.Join(s.Dir, name(n))
		m, torn := whole(dir)
		another := !own[n] && n > base
		if !another && torn != nil && !Torn(torn) {
			err = errors.Join(err, torn)
			break
		}
		switch {
		case another, Pinned(dir): // another job's, or pinned
		case torn == nil && kept < s.Keep:
			kept++
		case needed[name(n)]:
		case torn != nil && (kept == 0 || !own[n] && young(dir)): // a save may be under way, above the newest
		case s.drop(n):
			continue
		}
		if m.Base != nil {
			needed[m.Base.Dir] = true
		}
	}
	if err != nil {
		s.Log.Warn("old checkpoints can't be looked through, and stay", "dir", s.Dir, "error", err)
	}
}

// remove removes the directory of a checkpoint. The manifest goes first, so that an incomplete rest is never taken for
// a checkpoint; it comes back if the checkpoint was pinned meanwhile, and gone is false. Files that do not belong to a
// checkpoint stay; if they alone keep the directory, gone is true, with an error.
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
		left, unread := files.ReadDir(dir)
		return unread == nil && len(left) > 0, err
	}
	return true, nil
}

// last is the checkpoint that this process has committed last. Its lock is never held during an access to a disk.
type last struct {
	sync.Mutex
	committed
}

// committed describes a checkpoint that this process has committed.
type committed struct {
	base   *Base
	deltas int   // checkpoints with bases in a row, up to this one
	whole  int64 // bytes of the whole checkpoint below these
	bytes  int64 // bytes of these
}
