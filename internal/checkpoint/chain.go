package checkpoint

import (
	"fmt"
	"path/filepath"
	"sync"
)

// Base names the checkpoint of the same series that another is based on.
type Base struct {
	// Dir is the name of its directory, beside the other's.
	Dir string `json:"dir"`
	ID  string `json:"id"`
	// Sum is that of its manifest, and so of all that it has.
	Sum string `json:"xxhash64"`
}

// link is a checkpoint of a chain.
type link struct {
	Manifest
	dir string
}

// chain is a checkpoint, the one that it is based on, and so on down to one that is whole by itself. Each is the very
// one that it is said to be.
func chain(dir string, m Manifest) (links []link, err error) {
	at := link{m, dir}
	links = append(links, at)
	for at.Base != nil {
		below, err := at.below()
		if err != nil {
			return links, err
		}
		if len(links) > 1 && filepath.Base(at.dir) <= at.Base.Dir { // the first may have been given another name
			return links, fmt.Errorf("checkpoint: %s is based on %s, which is not older: %w", at.dir, below.dir,
				ErrDamaged)
		}
		at = below
		links = append(links, at)
	}
	return links, nil
}

// below is what a checkpoint is based on.
func (l link) below() (link, error) {
	dir, want := filepath.Join(l.dir, "..", l.Base.Dir), *l.Base
	m, err := Read(dir)
	switch {
	case err != nil && Torn(err):
		return link{}, fmt.Errorf("checkpoint: %s is based on %s, and good for nothing without it: %w: %v", l.dir, dir,
			ErrDamaged, err)
	case err != nil:
		return link{}, err
	case m.ID != want.ID || m.Sum != want.Sum:
		return link{}, fmt.Errorf("checkpoint: %s is based on checkpoint %s (%s), and in %s is %s (%s): %w",
			l.dir, want.ID, want.Sum, dir, m.ID, m.Sum, ErrDamaged)
	}
	return link{m, dir}, nil
}

// wholeChain is chain where all parts are there, of the sizes that the manifests say.
func wholeChain(dir string, m Manifest) ([]link, error) {
	links, err := chain(dir, m)
	for _, link := range links {
		for _, p := range link.Parts {
			if err == nil {
				err = visible(link.dir, p)
			}
		}
	}
	return links, err
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

// Base is what the next checkpoint is to be based on; nil if it is to be whole: if the caller must have it so, after so
// many that were based on others, when these have half as many bytes as the whole one below them, and when
// [Series.Look] found that anything of them is not there. If it is to be whole the next is too, until one is committed.
// It waits for no disk.
func (s *Series) Base(mustBeWhole bool) *Base {
	s.last.Lock()
	defer s.last.Unlock()
	if l := &s.last.committed; mustBeWhole || l.deltas >= s.Deltas || 2*l.bytes >= l.whole {
		*l = committed{}
	}
	return s.last.base
}

// Look sees whether all of the checkpoint is there that the next may be based on.
func (s *Series) Look() {
	s.last.Lock()
	base := s.last.base
	s.last.Unlock()
	if base == nil {
		return
	}
	m, err := whole(filepath.Join(s.Dir, base.Dir))
	s.last.Lock()
	defer s.last.Unlock()
	if s.last.base == base && (err != nil || m.Sum != base.Sum) {
		s.last.committed = committed{}
	}
}

// Based is what a checkpoint is based on that is about to be committed: the base of that id, nil for "".
func (s *Series) Based(id string) (*Base, error) {
	s.last.Lock()
	defer s.last.Unlock()
	switch {
	case id == "":
		return nil, nil
	case s.last.base == nil || s.last.base.ID != id:
		return nil, fmt.Errorf("checkpoint: %s is not what this job has saved last, and no base for the next: save "+
			"again", id)
	}
	return s.last.base, nil
}

// Committed takes note that a checkpoint of this series is whole.
func (s *Series) Committed(dir string) {
	m, err := Read(dir)
	s.last.Lock()
	defer s.last.Unlock()
	if err != nil {
		s.last.committed = committed{}
		return
	}
	bytes := int64(0)
	for _, p := range m.Parts {
		bytes += p.Bytes
	}
	if m.Base == nil {
		s.last.committed = committed{whole: bytes}
	} else {
		s.last.deltas, s.last.bytes = s.last.deltas+1, s.last.bytes+bytes
	}
	s.last.base = &Base{Dir: filepath.Base(dir), ID: m.ID, Sum: m.Sum}
}
