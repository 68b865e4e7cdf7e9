package weights

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
)

// spool stores rows in a temporary file until all have been read, so that their number can be written first, and
// returns them by ascending id. Only the ids are in memory.
type spool struct {
	dim   int
	ids   []uint64 // in the order of reading
	order []int    // positions by ascending id; nil if read in that order
	file  *os.File
}

// spooled writes rows whose number is needed first.
func spooled(what string, rows iter.Seq2[Row, error], write func(s *spool) error) error {
	s, err := keep(rows)
	if err == nil {
		defer s.close()
		err = write(s)
	}
	if err != nil {
		return fmt.Errorf("weights: %s: %w", what, err)
	}
	return nil
}

// keep reads all rows. The spool must be closed.
func keep(rows iter.Seq2[Row, error]) (*spool, error) {
	file, err := os.CreateTemp("", "gofleet-rows-*")
	if err != nil {
		return nil, err
	}
	s := &spool{file: file}
	if err := errors.Join(s.fill(rows), s.sort()); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *spool) close() {
	s.file.Close()
	os.Remove(s.file.Name())
}

func (s *spool) fill(rows iter.Seq2[Row, error]) error {
	out := bufio.NewWriterSize(s.file, 1<<18)
	var b []byte
	for r, err := range rows {
		if err == nil && len(s.ids) == 0 {
			s.dim = len(r.W)
			err = checkDim(s.dim)
		}
		if err == nil && len(r.W) != s.dim {
			err = fmt.Errorf("the row of id %d has %d numbers, those before it %d", r.ID, len(r.W), s.dim)
		}
		if err == nil {
			s.ids = append(s.ids, r.ID)
			b, _ = binary.Append(b[:0], binary.LittleEndian, r.W)
			_, err = out.Write(b)
		}
		if err != nil {
			return err
		}
	}
	return out.Flush()
}

// sort sorts the ids. A duplicate id is an error, since its row would be ambiguous.
func (s *spool) sort() error {
	if !slices.IsSorted(s.ids) {
		s.order = make([]int, len(s.ids))
		for i := range s.order {
			s.order[i] = i
		}
		slices.SortFunc(s.order, func(a, b int) int { return cmp.Compare(s.ids[a], s.ids[b]) })
	}
	for i := 1; i < len(s.ids); i++ {
		if s.id(i) == s.id(i-1) {
			return fmt.Errorf("the row of id %d comes twice", s.id(i))
		}
	}
	return nil
}

// at returns the position of the row with the i-th id.
func (s *spool) at(i int) int {
	if s.order == nil {
		return i
	}
	return s.order[i]
}

// id returns the i-th id.
func (s *spool) id(i int) uint64 { return s.ids[s.at(i)] }

// pageBytes is the approximate memory of rows that are handled at once.
const pageBytes = 1 << 18

// pages calls do with some ids, ascending, and the bytes of their rows one after the other; both are valid until do
// returns.
func (s *spool) pages(do func(ids []uint64, rows []byte) error) error {
	size := 4 * s.dim
	most := max(1, pageBytes/max(1, size))
	b, ids := make([]byte, min(most, len(s.ids))*size), make([]uint64, 0, min(most, len(s.ids)))
	for i := 0; i < len(s.ids); i += len(ids) {
		ids = ids[:0]
		for len(ids) < min(most, len(s.ids)-i) {
			run := s.run(i+len(ids), min(most, len(s.ids)-i)-len(ids))
			part := b[len(ids)*size:][:run*size]
			if _, err := s.file.ReadAt(part, int64(s.at(i+len(ids)))*int64(size)); err != nil {
				return err
			}
			for range run {
				ids = append(ids, s.id(i+len(ids)))
			}
		}
		if err := do(ids, b[:len(ids)*size]); err != nil {
			return err
		}
	}
	return nil
}

// run returns the number of rows from the i-th id on, at most most, that are stored one after the other.
func (s *spool) run(i, most int) int {
	n := 1
	for n < most && s.at(i+n) == s.at(i)+n {
		n++
	}
	return n
}

// writeRows writes all rows in the form of other programs' files.
func (s *spool) writeRows(w io.Writer) error {
	return s.pages(func(_ []uint64, rows []byte) error {
		_, err := w.Write(rows)
		return err
	})
}

// writeIDs writes all ids.
func (s *spool) writeIDs(w io.Writer) error {
	out := bufio.NewWriterSize(w, 1<<16)
	for i := range s.ids {
		if _, err := out.Write(binary.LittleEndian.AppendUint64(nil, s.id(i))); err != nil {
			return err
		}
	}
	return out.Flush()
}
