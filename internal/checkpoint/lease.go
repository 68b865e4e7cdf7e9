package checkpoint

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/gofleet/gofleet/internal/awake"
	"github.com/gofleet/gofleet/internal/files"
)

// lease keeps a directory of a store for one job. It is a file that names the process, and that the process replaces
// again and again, each time on condition that the file is the version it has written before. Another job takes the
// directory when the version has stood still for long, by replacing that version; if two try, the store refuses one.
// How long the version must stand still depends on the duration of earlier beats, which the holder measures and writes:
// a store may take half a minute for a small file. No clocks are compared.
type lease struct {
	name    string
	owner   owner  // used by the beats alone once they have begun
	version string // likewise

	pause time.Duration // between the answer to one beat and the next beat
	ends  context.CancelFunc
	beats sync.WaitGroup

	mu   sync.Mutex
	lost error // set when another job has taken the directory
}

// takeLease takes a directory. It waits as take does.
func takeLease(ctx context.Context, dir, of string) (*lease, error) {
	l := &lease{name: files.Join(dir, lockName), owner: newOwner(of), pause: cmp.Or(files.Beat(dir), beatEvery)}
	l.owner.Every = l.pause
	if err := await(ctx, l.try); err != nil {
		return nil, err
	}
	return l, l.begin(ctx)
}

// try takes the directory if no process has it, or its process is silent. An error names the process that has it.
func (l *lease) try(ctx context.Context, w *watched) (mine bool, err error) {
	other, version, err := l.read(ctx)
	if err != nil {
		return false, err
	}
	if version != "" {
		w.see(other)
		if l.is(other, version) {
			return true, nil
		}
		switch waited := time.Since(w.from) >= ending; {
		case waited && w.lives:
			return false, other.taken(l.dir(), l.owner)
		case time.Since(w.changed) < other.patience():
			return false, nil
		}
	}
	l.version = version
	if err = l.write(ctx); errors.Is(err, files.ErrChanged) {
		return false, nil // another job was faster
	}
	if err != nil { // it may be written, and the answer lost
		if other, version, unread := l.read(ctx); unread == nil && l.is(other, version) {
			return true, nil
		}
	}
	return err == nil, err
}

// is reports whether the file is of this claim already.
func (l *lease) is(o owner, version string) bool {
	if o.Job == l.owner.Job {
		l.version = version
	}
	return o.Job == l.owner.Job
}

// ErrNoConditions is the error of a store that can't keep two jobs apart.
var ErrNoConditions = errors.New("this store can't keep two jobs apart, since it must write a file on condition that " +
	"it is absent, or of a version (S3: If-None-Match and If-Match)")

// mostProbes is how often a store is asked for its conditions while it does not answer.
const mostProbes = 3

// read returns the owner that the file names, and the file's version, which is empty if there is no file.
func (l *lease) read(ctx context.Context) (o owner, version string, err error) {
	text, version, err := files.ReadVersion(ctx, l.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return o, "", nil
	case err != nil:
		return o, "", fmt.Errorf("checkpoint: who saves here can't be read: %w", err)
	case json.Unmarshal(text, &o) != nil:
		return owner{}, version, nil
	}
	return o, version, nil
}

// write replaces the file, on condition that it still has the version of the last write or read. The next write records
// in Every how long this one took.
func (l *lease) write(ctx context.Context) error {
	began := time.Now()
	defer func() {
		l.owner.Every = l.pause + max(time.Since(began), (l.owner.Every-l.pause)/2).Round(time.Second)
	}()
	text, err := json.Marshal(l.owner)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	version, err := files.Publish(ctx, disk, l.name, l.version, append(text, '\n'))
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	l.version = version
	return nil
}

// begin checks that the store honours conditions on writes, on which the lease rests, and starts the beats.
func (l *lease) begin(ctx context.Context) error {
	text, err := json.Marshal(l.owner) // if it comes late it is still this claim's
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	for range mostProbes {
		if _, err = files.Publish(ctx, disk, l.name, "", text); err == nil || errors.Is(err, files.ErrChanged) ||
			ctx.Err() != nil {
			break
		}
	}
	switch {
	case errors.Is(err, files.ErrChanged):
	case err == nil || errors.Is(err, errors.ErrUnsupported):
		_ = files.Remove(l.name)
		return fmt.Errorf("checkpoint: %s: %w: save elsewhere", l.dir(), errors.Join(ErrNoConditions, err))
	default:
		_ = files.Remove(l.name)
		return fmt.Errorf("checkpoint: %s: whether the store keeps two jobs apart could not be asked: %w", l.dir(), err)
	}
	if l.owner.Every > l.pause { // other jobs must read Every before they count this one as gone
		if err := l.again(ctx); errors.Is(err, files.ErrChanged) {
			if mine, err := l.held(ctx); !mine {
				return cmp.Or(err, fmt.Errorf("checkpoint: %s: %w", l.dir(), files.ErrChanged))
			}
		}
	}
	ctx, l.ends = context.WithCancel(context.Background())
	l.beats.Go(func() { l.beat(ctx) })
	return nil
}

// again writes the next beat.
func (l *lease) again(ctx context.Context) error {
	l.owner.Beat++
	ctx, cancel := context.WithTimeout(ctx, l.owner.patience()) // other jobs may have it after that
	defer cancel()
	return l.write(ctx)
}

// beat writes beats until ctx ends or the directory belongs to another job. It runs on a goroutine of its own, since a
// store may be slow.
func (l *lease) beat(ctx context.Context) {
	for awake.Rest(ctx, l.pause) == nil {
		if err := l.again(ctx); !errors.Is(err, files.ErrChanged) {
			continue // also without an answer of the store
		}
		there, version := l.look(ctx)
		if !there {
			return
		}
		l.version = cmp.Or(version, l.version) // if it was written and the answer lost
	}
}

// look reports whether the file still names this process, and returns its version. A file that can't be read is taken
// to name this process.
func (l *lease) look(ctx context.Context) (there bool, version string) {
	other, version, err := l.read(ctx)
	switch {
	case err != nil:
		return true, version
	case version == "":
		return false, ""
	case other.Job == l.owner.Job:
		return true, version
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost = other.taken(l.dir(), l.owner)
	return false, ""
}

func (l *lease) dir() string { return files.Dir(l.name) }

func (l *lease) certain() bool { return false }

func (l *lease) held(ctx context.Context) (bool, error) {
	there, _ := l.look(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	return there && l.lost == nil, l.lost
}

func (l *lease) release() {
	l.ends()
	l.beats.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), l.owner.patience()) // other jobs may have it after that
	defer cancel()
	there, version := l.look(ctx)
	if l.version = version; !there || version == "" {
		return // if the file stays, its beats have ended
	}
	l.owner.Beat++
	if l.write(ctx) == nil { // after a fresh beat no job takes the directory while the file is removed
		_ = on(ctx, l.name).Remove(l.name)
	}
}
