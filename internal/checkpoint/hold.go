package checkpoint

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gofleet/gofleet/internal/awake"
	"github.com/gofleet/gofleet/internal/files"
)

// hold keeps a directory on a disk for one job. It is a file that names the process, is locked as long as that process
// lives, and contains a number that grows (a beat). A free lock shows that a process of this machine has ended. A
// network file system may have no locks that reach other machines: of their processes, a number that stands still shows
// it. No clocks are compared.
type hold struct {
	name string
	file *os.File

	sure bool // the previous holder's process is sure to have ended

	mu    sync.Mutex
	owner owner
	timer *time.Timer // nil after release
	lost  error       // set when another job has taken the directory
}

// owner describes the process that saves into a directory.
type owner struct {
	Job  string `json:"job"` // of this claim alone
	Of   string `json:"of,omitempty"`
	Host string `json:"host"`
	PID  int    `json:"pid"`
	// Boot identifies the machine since its last start; empty if that is not known.
	Boot  string    `json:"boot"`
	Since time.Time `json:"since"`
	Beat  int64     `json:"beat"`
	// Every is the time between beats in a store, whose answers take a while; 0 means beatEvery.
	Every time.Duration `json:"every,omitempty"`
}

// patience returns how long the beat may stand still before the process counts as gone.
func (o owner) patience() time.Duration { return min(max(silent, 4*o.Every), mostSilent) }

// ErrTaken is the error of a directory into which another job saves. ErrOurs wraps it if that is another process of the
// same job, as [Claims.Of] says.
var (
	ErrTaken = errors.New("another job saves here")
	ErrOurs  = fmt.Errorf("%w: another process of this job", ErrTaken)
)

const (
	lockName   = "job.lock"
	ownerBytes = 512 // the fixed size of the file
	beatEvery  = 5 * time.Second
	// silent is how long the beat of a process that may live must stand still before the process counts as gone.
	silent     = 4 * beatEvery
	mostSilent = 10 * time.Minute // whatever Every is
	// ending is how long a process that was asked to end may take before a later process of its job gives up.
	ending    = 3 * time.Second
	lookEvery = 500 * time.Millisecond
)

// newOwner returns the owner for this process, with a new id.
func newOwner(of string) owner {
	host, _ := os.Hostname() // an unknown name is empty
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return owner{Job: rand.Text(), Of: of, Host: host, PID: os.Getpid(), Boot: strings.TrimSpace(string(boot)),
		Since: time.Now().UTC()}
}

// taken returns the error for another owner.
func (o owner) taken(dir string, by owner) error {
	err := ErrTaken
	if o.Of != "" && o.Of == by.Of {
		err = ErrOurs
	}
	return fmt.Errorf("checkpoint: %w: process %d on host %s saves into %s since %s: give this job a directory of its "+
		"own, or let the other end first", err, o.PID, cmp.Or(o.Host, "unknown"), dir,
		o.Since.Format(time.DateTime+" MST"))
}

// take makes a directory if it does not exist, and takes it. It waits for a holder that is about to end, and as long as
// it takes to see whether a holder on another machine lives.
func take(ctx context.Context, dir, of string) (*hold, error) {
	if err := files.MakeDir(disk, dir); err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	h := &hold{name: filepath.Join(dir, lockName), owner: newOwner(of)}
	if err := await(ctx, h.try); err != nil {
		return nil, err
	}
	return h, h.announce()
}

// await calls try until it takes the directory or fails: as long as it takes to see whether the holder lives, or to let
// a holder that is about to end do so.
func await(ctx context.Context, try func(context.Context, *watched) (mine bool, err error)) error {
	w := watched{from: time.Now()}
	for {
		mine, err := try(ctx, &w)
		if mine || err != nil {
			return err
		}
		if err := awake.Rest(ctx, lookEvery); err != nil {
			return err
		}
	}
}

// watched records what await has seen of a directory's holder.
type watched struct {
	from, changed time.Time
	last          owner
	lives         bool
}

// see records what the file says now.
func (w *watched) see(o owner) {
	if w.last.Job == o.Job && w.last.Beat != o.Beat {
		w.lives = true
	}
	if w.last != o {
		w.last, w.changed = o, time.Now()
	}
}

// try takes the directory if its holder has ended. An error names the process that has it.
func (h *hold) try(_ context.Context, w *watched) (mine bool, err error) {
	f, err := os.OpenFile(h.name, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return false, fmt.Errorf("checkpoint: %w", err)
	}
	defer func() {
		if !mine {
			f.Close()
		}
	}()
	locked, locking := files.TryLock(f)
	if locked && !h.names(f) {
		return false, nil // removed between opening and locking
	}
	other, known, err := readOwner(f)
	if err != nil {
		return false, err
	}
	here := h.owner.Boot != "" && other.Boot == h.owner.Boot
	if !known && (locked || locking != nil) || locked && here {
		h.file, h.sure = f, true
		return true, nil
	}
	w.see(other)
	waited := time.Since(w.from) >= ending
	switch {
	case waited && (w.lives || locking == nil && !locked && here):
		return false, other.taken(filepath.Dir(h.name), h.owner)
	case time.Since(w.changed) < silent:
		return false, nil
	case locked:
		h.file = f
		return true, nil
	}
	return h.replace()
}

// names reports whether f is the file at this hold's path.
func (h *hold) names(f *os.File) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(h.name)
	return err == nil && os.SameFile(a, b)
}

// replace replaces the file of a process that counts as gone but whose lock is still held.
func (h *hold) replace() (bool, error) {
	f, err := os.CreateTemp(filepath.Dir(h.name), "."+lockName+".*"+files.TempSuffix)
	if err != nil {
		return false, fmt.Errorf("checkpoint: %w", err)
	}
	_, _ = files.TryLock(f) // without locks the beat suffices
	if err := os.Rename(f.Name(), h.name); err != nil {
		f.Close()
		os.Remove(f.Name())
		return false, fmt.Errorf("checkpoint: %w", err)
	}
	h.file = f
	return true, nil
}

// readOwner reads the owner from a file; known is false if it names none.
func readOwner(r io.ReaderAt) (o owner, known bool, err error) {
	text, err := io.ReadAll(io.NewSectionReader(r, 0, 1<<12))
	if err != nil {
		return o, false, fmt.Errorf("checkpoint: who saves here can't be read: %w", err)
	}
	if json.Unmarshal(text, &o) != nil {
		return owner{}, false, nil
	}
	return o, o.Job != "", nil
}

// announce writes the owner to the file and starts the beats.
func (h *hold) announce() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	err := h.write()
	if err == nil {
		err = h.file.Truncate(ownerBytes) // after the write, so that the file is never empty
	}
	if err != nil {
		h.file.Close()
		return fmt.Errorf("checkpoint: %w", err)
	}
	h.timer = time.AfterFunc(beatEvery, h.beat)
	return nil
}

// write writes the owner, padded to ownerBytes.
func (h *hold) write() error {
	o := h.owner
	text, err := json.Marshal(o)
	if err == nil {
		_, err = h.file.WriteAt(fmt.Appendf(nil, "%-*s\n", ownerBytes-1, text), 0)
	}
	if err == nil {
		err = h.file.Sync()
	}
	return err
}

// beat increments the beat, unless another job has taken the directory because this process was suspended for long.
func (h *hold) beat() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.timer == nil || h.look() != nil {
		return
	}
	h.owner.Beat++
	_ = h.write() // a full disk can overwrite bytes; other jobs wait for the beat
	h.timer.Reset(beatEvery)
}

// look checks whether the file still names this process. mu is held.
func (h *hold) look() error {
	if h.lost != nil {
		return h.lost
	}
	f, err := os.Open(h.name)
	if err != nil {
		return nil // a file that can't be opened names no other job
	}
	defer f.Close()
	if other, known, err := readOwner(f); err == nil && known && other.Job != h.owner.Job {
		h.lost = other.taken(filepath.Dir(h.name), h.owner)
	}
	return h.lost
}

func (h *hold) dir() string { return filepath.Dir(h.name) }

func (h *hold) certain() bool { return h.sure }

func (h *hold) held(context.Context) (bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	err := h.look()
	return err == nil && h.names(h.file), err
}

// release gives the directory back.
func (h *hold) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.timer == nil {
		return
	}
	h.timer.Stop()
	h.timer = nil
	if h.look() == nil && h.names(h.file) {
		os.Remove(h.name)
	}
	h.file.Close()
}
