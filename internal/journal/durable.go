package journal

import (
	"errors"
	"os"
	"sync"
)

// durable lets callers that wait for their records to reach the disk share one write: a caller that comes while a write
// is under way waits for the next.
type durable struct {
	mu     sync.Mutex
	done   sync.Cond
	busy   bool
	number uint64 // of the last record on the disk
}

// Durable waits until all records appended before are on the disk. Without Options.Durable it returns at once.
func (j *Journal) Durable() error {
	j.mu.Lock()
	want, file, err := j.number, j.file, j.err
	j.mu.Unlock()
	if err != nil || !j.o.Durable || file == nil {
		return err
	}
	d := &j.sync
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.number < want {
		if d.busy {
			d.done.Wait()
			continue
		}
		d.busy = true
		d.mu.Unlock()
		number, err := j.flush()
		d.mu.Lock()
		d.busy = false
		d.done.Broadcast()
		if err != nil {
			return err
		}
		d.number = max(d.number, number)
	}
	return nil
}

// flush syncs the last segment, and returns the number of its last record. Earlier segments were synced before the last
// began.
func (j *Journal) flush() (uint64, error) {
	j.mu.Lock()
	number, file, err := j.number, j.file, j.err
	j.mu.Unlock()
	if err != nil || file == nil { // void
		return number, err
	}
	if err := file.Sync(); err != nil && !errors.Is(err, os.ErrClosed) {
		// closed: its records were flushed when the next segment began
		j.mu.Lock()
		defer j.mu.Unlock()
		return 0, j.fail(err)
	}
	return number, j.mark(file, number)
}

// mark writes to the last segment, if it is still file, that all records up to a number are on the disk.
func (j *Journal) mark(file *os.File, number uint64) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil || j.file != file {
		return nil
	}
	return j.write(markKind, number)
}
