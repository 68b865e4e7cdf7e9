package checkpoint

import (
	"context"
	"fmt"

	"github.com/gofleet/gofleet/internal/files"
)

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

// Look does for the next checkpoint what need not wait until all servers hold: it sees whether all is there that the
// next may be based on, and in a store which number it will have.
func (s *Series) Look(ctx context.Context) {
	if files.IsURL(s.Dir) {
		s.reserve(ctx, false)
	}
	s.last.Lock()
	base := s.last.base
	s.last.Unlock()
	if base == nil {
		return
	}
	m, err := whole(files.Join(s.Dir, base.Dir))
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
	s.last.base = &Base{Dir: files.Base(dir), ID: m.ID, Sum: m.Sum}
}
