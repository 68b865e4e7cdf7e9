package journal

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gofleet/gofleet/internal/files"
)

// Options configures a journal.
type Options struct {
	// Dir is a directory on a local disk; Open makes it if it does not exist, readable by its owner only, like the
	// journal's files. Name begins the files' names.
	Dir, Name string
	// Durable makes [Journal.Durable] wait until appended records are on the disk.
	Durable bool
}

// Journal is the journal of one process. Its methods may be called at the same time.
type Journal struct {
	o        Options
	lockFile *os.File

	mu       sync.Mutex // guards all that follows
	segments []Segment
	life     uint32   // of this process
	file     *os.File // of the last segment; nil before the first
	number   uint64   // of the last record
	size     int64    // of the last segment and those before it that it continues
	buffer   []byte
	err      error // no records are appended after it
	void     bool  // appended records are dropped

	sync durable
}

// ErrLocked is the error of a journal that another process has; its text names the process.
var ErrLocked = errors.New("another process has it")

// ErrReboot is the error of a journal that is not durable and was written before the machine's last start.
var ErrReboot = errors.New("the machine was started again since, and the journal does not survive that")

// Open opens a journal for this process, with the segments of earlier processes. [Journal.Close] releases it. It
// returns ErrLocked if another process has it.
func Open(o Options) (*Journal, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(o.Dir, o.Name+".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	j := &Journal{o: o, lockFile: f}
	j.sync.done.L = &j.sync.mu
	switch mine, locking := files.TryLock(f); {
	case errors.Is(locking, errors.ErrUnsupported): // this system has no locks
	case locking != nil:
		err = locking
	case !mine:
		err = taken(f)
	default:
		own(f)
	}
	if err == nil {
		err = j.find()
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("journal: %s: %w", filepath.Join(o.Dir, o.Name), err)
	}
	return j, nil
}

// own writes into a lock's file which process has it, for people. It ignores errors: a full disk does not prevent a
// journal.
func own(f *os.File) {
	host, _ := os.Hostname() // an unknown name is empty
	who := fmt.Sprintf("process %d on host %s since %s\n", os.Getpid(), cmp.Or(host, "unknown"),
		time.Now().UTC().Format(time.DateTime+" MST"))
	if f.Truncate(0) == nil {
		_, _ = f.WriteAt([]byte(who), 0)
	}
}

// taken returns the error of a lock that another process has.
func taken(f *os.File) error {
	const longest = 400
	text, _ := io.ReadAll(io.NewSectionReader(f, 0, longest)) // a file that can't be read names no process
	who, _, _ := strings.Cut(string(text), "\n")
	if who != "" {
		who = ": " + who
	}
	return fmt.Errorf("%w%s: give this job a journal directory of its own, or let the other end first", ErrLocked, who)
}

// find reads the heads of the segments. It removes a last segment that was incomplete when its process died. Any other
// segment that can't be read stays, with its error.
func (j *Journal) find() error {
	all, err := j.list()
	if err != nil {
		return err
	}
	chain := chained(all)
	for i, f := range chain {
		path := filepath.Join(j.o.Dir, f.String())
		s, err := readSegment(path, f.number)
		s.Err = err
		if i == len(chain)-1 {
			s.Err = torn(path, 0, 1, j.o.Durable, err)
		}
		if s.Err == nil && (err != nil || s.first == 0) {
			if err := os.Remove(path); err != nil {
				return err
			}
			continue
		}
		j.segments = append(j.segments, s)
	}
	if len(all) > 0 {
		j.life = all[0].life + 1
	}
	return nil
}

// path returns the path of a segment of this process.
func (j *Journal) path(number int) string {
	return filepath.Join(j.o.Dir, named{j.o.Name, number, j.life}.String())
}

// Life returns how many processes have restarted from this journal, this one included.
func (j *Journal) Life() uint32 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.life
}

// Segments returns the existing segments, the oldest first.
func (j *Journal) Segments() []Segment {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.segments)
}

// Play passes the records of a segment and of all after it to do, in order, and makes the journal ready for more. A
// body is valid until do returns.
func (j *Journal) Play(from int, do func(kind Kind, body []byte) error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	at := slices.IndexFunc(j.segments, func(s Segment) bool { return s.Number == from })
	if at < 0 {
		return fmt.Errorf("journal: missing segment %d", from)
	}
	now, err := boot()
	if err != nil {
		return err
	}
	j.number, j.size = j.segments[at].first-1, 0
	for i := at; i < len(j.segments); i++ {
		s, end := &j.segments[i], uint64(math.MaxUint64)
		if s.Err != nil {
			return s.Err
		}
		if !s.Durable && s.Boot != now {
			return fmt.Errorf("journal: %s: %w", s.path, ErrReboot)
		}
		if s.first != j.number+1 {
			return fmt.Errorf("journal: %s begins with record %d after %d: %w", s.path, s.first, j.number, ErrDamaged)
		}
		if i+1 < len(j.segments) && j.segments[i+1].Err == nil {
			end = j.segments[i+1].first - 1
		}
		size, number, err := s.play(end, do)
		if err != nil {
			return err
		}
		if !s.Continues {
			j.size = 0
		}
		j.number, j.size = number, j.size+size
	}
	return j.take()
}

// use makes f the file of the last segment. mu is held.
func (j *Journal) use(f *os.File) {
	if j.file != nil {
		j.file.Close()
	}
	j.file = f
}

// Next begins another segment with a head. The first call for a new journal makes it ready for records.
func (j *Journal) Next(head []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil || j.void {
		return j.err
	}
	if j.file != nil && j.o.Durable { // a later flush syncs the next segment only
		if err := j.file.Sync(); err != nil {
			return j.fail(err)
		}
	}
	j.size = 0
	return j.next(start{Head: head})
}

// next begins a segment. mu is held.
func (j *Journal) next(begins start) error {
	now, err := boot()
	if err != nil {
		return err
	}
	begins.Boot, begins.Durable = now, j.o.Durable
	s := Segment{Number: 1, Head: begins.Head, first: j.number + 1, start: begins}
	if n := len(j.segments); n > 0 {
		s.Number = j.segments[n-1].Number + 1
	}
	s.path = j.path(s.Number)
	body, err := json.Marshal(begins)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	f, err := os.OpenFile(s.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return j.fail(err)
	}
	j.use(f)
	if err := j.append(beginKind, body); err != nil {
		return err
	}
	j.segments = append(j.segments, s)
	if j.o.Durable {
		if err := files.SyncDir(j.o.Dir); err != nil {
			return j.fail(err)
		}
	}
	return nil
}

// Append appends a record, whose body is in parts. The record survives this process when Append returns.
func (j *Journal) Append(kind Kind, parts ...[]byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.err != nil || j.void:
		return j.err
	case j.file == nil:
		return errors.New("journal: no segment has begun")
	}
	return j.append(kind, parts...)
}

// append writes a record to the last segment. mu is held.
func (j *Journal) append(kind Kind, parts ...[]byte) error {
	err := j.write(kind, j.number+1, parts...)
	if err == nil {
		j.number++
	}
	return err
}

// write writes to the last segment. mu is held.
func (j *Journal) write(kind Kind, number uint64, parts ...[]byte) error {
	j.buffer = appendRecord(j.buffer[:0], kind, number, parts...)
	n, err := j.file.Write(j.buffer)
	j.size += int64(n)
	if err != nil {
		return j.fail(err)
	}
	if cap(j.buffer) > keepBuffer {
		j.buffer = nil
	}
	return nil
}

// keepBuffer is the largest buffer that is kept for the next record.
const keepBuffer = 16 << 20

// fail ends the journal. mu is held.
func (j *Journal) fail(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		err = fmt.Errorf("%w: make room in %s, or name another directory for journals; they need less room where "+
			"checkpoints are saved more often", err, j.o.Dir)
	}
	j.err = fmt.Errorf("journal: nothing more can be recorded: %w", err)
	return j.err
}

// Last returns the number of the last record, which only grows.
func (j *Journal) Last() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.number
}

// Size returns the bytes of the last segment and those before it that it continues.
func (j *Journal) Size() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.size
}

// Forget removes the segments before number before. Records may be appended meanwhile.
func (j *Journal) Forget(before int) error {
	for {
		oldest := j.oldest()
		if oldest.Number >= before {
			return nil
		}
		if err := remove(oldest.path); err != nil {
			return err
		}
		j.mu.Lock()
		if len(j.segments) > 0 && j.segments[0].Number == oldest.Number {
			j.segments = j.segments[1:]
		}
		j.mu.Unlock()
	}
}

// oldest returns the first segment; one with the highest number if there is none.
func (j *Journal) oldest() Segment {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.segments) == 0 {
		return Segment{Number: math.MaxInt}
	}
	return j.segments[0]
}

// Void removes all segments. Later records are dropped without an error, as if there were no journal.
func (j *Journal) Void() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.use(nil)
	j.void = true
	// Strays are removed first, since they would form a journal. Segments are removed from the last to the first, so
	// that the rest is never replayed without what came before.
	err := j.sweep()
	for len(j.segments) > 0 {
		last := len(j.segments) - 1
		if err := remove(j.segments[last].path); err != nil {
			return err
		}
		j.segments = j.segments[:last]
	}
	return err
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// Close releases the journal.
func (j *Journal) Close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.use(nil)
	if j.err == nil {
		j.err = errors.New("journal: it is closed")
	}
	j.lockFile.Close()
}
