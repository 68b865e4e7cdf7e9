package journal

import (
	"errors"
	"os"
	"sync"
)

// durable lets callers that wait for their records to survive the machine share one write to the disk: a caller that
// comes while one is under way waits for the next.
type durable struct {
	mu     sync.Mutex
	done   sync.Cond
	busy   bool
	number uint64 // up to which records survive
}

// Durable waits until all that was appended before survives what the options ask for.
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

// flush writes the last segment to its disk, and returns the record up to which that was. Earlier segments were written
// before the last began.
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

// mark says in the last segment, if that is the same still, that all records up to a number have reached the disk.
func (j *Journal) mark(file *os.File, number uint64) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil || j.file != file {
		return nil
	}
	return j.write(markKind, number)
}
