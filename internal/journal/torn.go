package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/gofleet/gofleet/internal/files"
)

// The record that a process was writing as it died is the last of its journal, and no answer was sent for it. If the
// process was killed, a part of the record is in the file. A machine that loses power writes unsynced bytes in any
// order: some of them, zeros, or whole records after a missing one. So in a durable journal, whole records do not show
// that those before them were ever complete, but a mark does: the records up to its number were on the disk.

// torn returns nil if an error in the last segment of a journal is about the record that was being written, which has
// the given number and should be at byte at; else it returns err.
func torn(path string, at int64, number uint64, durable bool, err error) error {
	switch {
	case errors.Is(err, errTorn):
		return nil
	case !durable || !errors.Is(err, ErrDamaged):
		return err
	}
	switch mark, failed := markBehind(path, at, number); {
	case failed != nil:
		return errors.Join(err, failed)
	case mark >= number:
		return fmt.Errorf("%w: the records up to %d were on the disk, and this one is lost", err, mark)
	}
	return nil
}

// markBehind returns the number of the first mark in a file, behind byte at, that is at least number; 0 if there is
// none.
func markBehind(path string, at int64, number uint64) (mark uint64, err error) {
	f, err := files.Open(path)
	if err != nil {
		return 0, fmt.Errorf("journal: %w", err)
	}
	defer f.Close()
	begins := binary.LittleEndian.AppendUint32(nil, magic)
	begins = binary.LittleEndian.AppendUint32(begins, uint32(markKind))
	room, have := make([]byte, 1<<16), 0
	for {
		n, err := f.ReadAt(room[have:], at)
		at, have = at+int64(n), have+n
		for b := room[:have]; ; {
			i := bytes.Index(b, begins)
			if i < 0 || len(b)-i < headSize {
				break
			}
			if mark = binary.LittleEndian.Uint64(b[i+8:]); isHead(b[i:]) && mark >= number {
				return mark, nil
			}
			b = b[i+1:]
		}
		switch {
		case err == io.EOF:
			return 0, nil
		case err != nil:
			return 0, fmt.Errorf("journal: %w", err)
		}
		have = copy(room, room[max(0, have-headSize+1):have]) // a mark may begin there
	}
}
