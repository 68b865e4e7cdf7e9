package checkpoint

import (
	"context"
	"fmt"

	"github.com/gofleet/gofleet/internal/files"
)

// Base returns the base of the next checkpoint, nil if it must be whole: if mustBeWhole, after Deltas checkpoints in a
// row that have bases, if these together have at least half as many bytes as the whole one below them, or if
// [Series.Look] missed a file of the base. If it must be whole, so must each later one until one is committed. Base
// does not access a disk.
func (s *Series) Base(mustBeWhole bool) *Base {
	s.last.Lock()
	defer s.last.Unlock()
	if l := &s.last.committed; mustBeWhole || l.deltas >= s.Deltas || 2*l.bytes >= l.whole {
		*l = committed{}
	}
	return s.last.base
}

// Look prepares the next checkpoint before servers hold pushes: it checks that all files of its base exist, and in a
// store finds the checkpoint's number.
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

// Based returns the base of a checkpoint that is about to be committed, by the base's id; nil for "". It returns an
// error if the series has saved another checkpoint last.
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

// Committed records that a checkpoint of this series was committed to dir, which makes it the next base.
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
