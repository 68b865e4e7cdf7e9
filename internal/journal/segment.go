package journal

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/gofleet/gofleet/internal/files"
)

// Segment is one file of a journal.
type Segment struct {
	// Number orders the segments of a journal.
	Number int
	// Head is the argument of [Journal.Next].
	Head []byte
	// Err says why the segment can't be read, nil if it can.
	Err error

	path  string
	first uint64 // the number of its first record
	start
}

// start is the content of a segment's first record, with the caller's head.
type start struct {
	Boot    string `json:"boot,omitempty"`
	Durable bool   `json:"durable,omitempty"`
	Head    []byte `json:"head"`
	// Continues says that the segment continues the one before, for a process that has restarted, and that no replay
	// can begin at it.
	Continues bool `json:"continues,omitempty"`
}

// readSegment reads a segment's first record.
func readSegment(path string, number int) (s Segment, err error) {
	s = Segment{Number: number, path: path}
	err = s.each(func(_ int64, r *record) error {
		if r.kind != beginKind {
			return fmt.Errorf("it does not begin with what it begins from: %w", ErrDamaged)
		}
		s.first = r.number
		if err := json.Unmarshal(r.body, &s.start); err != nil {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		return io.EOF
	})
	s.Head = s.start.Head
	return s, err
}

// each passes the segment's records, the first included, to do until do fails; io.EOF ends it without an error. end is
// the byte where a record ends. A body is valid until do returns.
func (s *Segment) each(do func(end int64, r *record) error) error {
	f, err := files.Open(s.path)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	from, at, room, r := bufio.NewReaderSize(f, 1<<16), int64(0), []byte(nil), record{}
	for err == nil {
		if err = r.read(from, info.Size()-at, &room); err == nil {
			at += headSize + int64(len(r.body))
			err = do(at, &r)
		}
	}
	if err == io.EOF {
		return nil
	}
	return fmt.Errorf("journal: %s, byte %d: %w", s.path, at, err)
}

// play passes the records after the first to do, up to record last, and returns where the last one ends and its number.
// Records after it are those of a replaced process. In the last segment of a journal, where last is the highest number,
// all records count, and only there may the end be torn.
func (s *Segment) play(last uint64, do func(Kind, []byte) error) (end int64, number uint64, err error) {
	number = s.first - 1
	err = s.each(func(at int64, r *record) error {
		switch {
		case r.kind == markKind:
			end = at
			return nil
		case r.number != number+1:
			return fmt.Errorf("record %d follows %d: %w", r.number, number, ErrDamaged)
		case r.kind != beginKind:
			if err := do(r.kind, r.body); err != nil {
				return fmt.Errorf("record %d: %w", r.number, err)
			}
		}
		if end, number = at, r.number; number == last {
			return io.EOF
		}
		return nil
	})
	if last == math.MaxUint64 {
		err = torn(s.path, end, number+1, s.Durable, err)
	}
	return end, number, err
}
