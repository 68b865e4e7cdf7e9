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

// hold keeps a directory for one job. It is a file that says who saves here, which is locked as long as its process
// lives, and in which a number grows: processes of this machine are known to have ended by the lock, processes of
// others, where a network file system may have no locks that reach so far, by a number that stands still. No clocks are
// compared.
type hold struct {
	name string
	file *os.File

	sure bool // who had the directory before has ended

	mu    sync.Mutex
	owner owner
	timer *time.Timer // nil when it has ended
	lost  error       // that another job has taken the directory
}

// owner is who saves into a directory.
type owner struct {
	Job  string `json:"job"`
	Host string `json:"host"`
	PID  int    `json:"pid"`
	// Boot is a machine's, from its start to its end; empty where that is not known.
	Boot  string    `json:"boot"`
	Since time.Time `json:"since"`
	Beat  int64     `json:"beat"`
	// Every is the time from one beat to the next, of those in a store, whose answers take a while; 0 is beatEvery.
	Every time.Duration `json:"every,omitempty"`
}

// patience is how long the number may stand still before the process counts as gone.
func (o owner) patience() time.Duration { return min(max(silent, 4*o.Every), mostSilent) }

// ErrTaken says that another job saves into a directory.
var ErrTaken = errors.New("another job saves here")

const (
	lockName   = "job.lock"
	ownerBytes = 512 // of the file, always
	beatEvery  = 5 * time.Second
	// silent is how long the number of a process that may live stands still before it counts as gone.
	silent     = 4 * beatEvery
	mostSilent = 10 * time.Minute // whatever it has said of itself
	// ending is what a process that has been asked to end has to do so before the next of its job gives up.
	ending    = 3 * time.Second
	lookEvery = 500 * time.Millisecond
)

// newOwner is this process, for a job of its own.
func newOwner() owner {
	host, _ := os.Hostname() // empty is a name too
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return owner{Job: rand.Text(), Host: host, PID: os.Getpid(), Boot: strings.TrimSpace(string(boot)),
		Since: time.Now().UTC()}
}

// taken is what the others are told.
func (o owner) taken(dir string) error {
	return fmt.Errorf("checkpoint: %w: process %d on host %s saves into %s since %s: give this job a directory of its "+
		"own, or let the other end first", ErrTaken, o.PID, cmp.Or(o.Host, "unknown"), dir,
		o.Since.Format(time.DateTime+" MST"))
}

// take makes a directory, if need be, and holds it. It waits for a holder that is about to end, and for as long as it
// takes to see whether one of another machine lives.
func take(ctx context.Context, dir string) (*hold, error) {
	if err := files.MakeDir(disk, dir); err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	h := &hold{name: filepath.Join(dir, lockName), owner: newOwner()}
	if err := await(ctx, h.try); err != nil {
		return nil, err
	}
	return h, h.announce()
}

// await tries to take a directory, as long as it takes to see whether its holder lives, or to end for a holder that is
// about to.
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

// watched is what is known of the one who holds a directory.
type watched struct {
	from, changed time.Time
	last          owner
	lives         bool
}

// see notes what the file says now.
func (w *watched) see(o owner) {
	if w.last.Job == o.Job && w.last.Beat != o.Beat {
		w.lives = true
	}
	if w.last != o {
		w.last, w.changed = o, time.Now()
	}
}

// try takes the lock if it is free. The error says which process has it.
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
		return false, other.taken(filepath.Dir(h.name))
	case time.Since(w.changed) < silent:
		return false, nil
	case locked:
		h.file = f
		return true, nil
	}
	return h.replace()
}

// names says whether the file of this hold's name is f.
func (h *hold) names(f *os.File) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(h.name)
	return err == nil && os.SameFile(a, b)
}

// replace puts a file of this process in the place of one whose lock is not given back.
func (h *hold) replace() (bool, error) {
	f, err := os.CreateTemp(filepath.Dir(h.name), "."+lockName+".*"+files.TempSuffix)
	if err != nil {
		return false, fmt.Errorf("checkpoint: %w", err)
	}
	_, _ = files.TryLock(f) // where there are no locks the number in the file does
	if err := os.Rename(f.Name(), h.name); err != nil {
		f.Close()
		os.Remove(f.Name())
		return false, fmt.Errorf("checkpoint: %w", err)
	}
	h.file = f
	return true, nil
}

// readOwner reads who a file names, if it names anybody.
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

// announce says whose the directory is, and goes on saying so.
func (h *hold) announce() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	err := h.write()
	if err == nil {
		err = h.file.Truncate(ownerBytes) // after it: the file is empty at no moment
	}
	if err != nil {
		h.file.Close()
		return fmt.Errorf("checkpoint: %w", err)
	}
	h.timer = time.AfterFunc(beatEvery, h.beat)
	return nil
}

// write writes the owner, always as many bytes.
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

// beat has the number grow, unless another job has taken the directory: that happens to a process that stood still for
// long.
func (h *hold) beat() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.timer == nil || h.look() != nil {
		return
	}
	h.owner.Beat++
	_ = h.write() // a disk that is full has room for what is there already; others wait for the number
	h.timer.Reset(beatEvery)
}

// look finds out whether the file still names this process. Locked.
func (h *hold) look() error {
	if h.lost != nil {
		return h.lost
	}
	f, err := os.Open(h.name)
	if err != nil {
		return nil // it has no owner
	}
	defer f.Close()
	if other, known, err := readOwner(f); err == nil && known && other.Job != h.owner.Job {
		h.lost = other.taken(filepath.Dir(h.name))
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

// release lets others have the directory.
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
