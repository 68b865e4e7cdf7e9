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

// lease keeps a directory of a store for one job. It is a file that says who saves here, which its holder replaces
// again and again, each time in the place of the version that it has written before. Who finds a version that stands
// still for long replaces that one, and of two one is refused. No clocks are compared. How long that is depends on the
// beats before, which the holder times: a store may be slow, and small files take it half a minute.
type lease struct {
	name    string
	owner   owner  // of the beats, once they have begun
	version string // likewise

	pause time.Duration // between one answer and the next beat
	ends  context.CancelFunc
	beats sync.WaitGroup

	mu   sync.Mutex
	lost error // that another job has taken the directory
}

// takeLease holds a directory. It waits as take does.
func takeLease(ctx context.Context, dir string) (*lease, error) {
	l := &lease{name: files.Join(dir, lockName), owner: newOwner(), pause: cmp.Or(files.Beat(dir), beatEvery)}
	l.owner.Every = l.pause
	if err := await(ctx, l.try); err != nil {
		return nil, err
	}
	return l, l.begin(ctx)
}

// try takes the directory if no process has it, or its process says nothing. The error says which process has it.
func (l *lease) try(ctx context.Context, w *watched) (mine bool, err error) {
	other, version, err := l.read(ctx)
	if err != nil {
		return false, err
	}
	if version != "" {
		w.see(other)
		switch waited := time.Since(w.from) >= ending; {
		case waited && w.lives:
			return false, other.taken(l.dir())
		case time.Since(w.changed) < other.patience():
			return false, nil
		}
	}
	l.version = version
	if err = l.write(ctx); errors.Is(err, files.ErrChanged) {
		return false, nil // another was faster
	}
	return err == nil, err
}

// read is who the file names, and its version; that is empty where there is no file.
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

// write replaces the version that is known. The next one says how long it took.
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

// begin sees that the store keeps conditions, on which all of this rests, and goes on saying whose the directory is.
func (l *lease) begin(ctx context.Context) error {
	if _, err := files.Publish(ctx, disk, l.name, "", []byte("{}\n")); !errors.Is(err, files.ErrChanged) {
		_ = files.Remove(l.name)
		if err == nil {
			err = errors.New("it has replaced a file on condition that there is none")
		}
		return fmt.Errorf("checkpoint: %s: this store can't keep two jobs apart, since it must write a file on "+
			"condition that it is absent, or of a version (S3: If-None-Match and If-Match): %w", l.dir(), err)
	}
	if l.owner.Every > l.pause { // which others are to know before they take it for gone
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

// again writes that this process lives.
func (l *lease) again(ctx context.Context) error {
	l.owner.Beat++
	ctx, cancel := context.WithTimeout(ctx, l.owner.patience()) // then others may have it
	defer cancel()
	return l.write(ctx)
}

// beat has the number grow until ctx ends, or the directory is not this job's any more. Nothing waits for it: a store
// may take its time.
func (l *lease) beat(ctx context.Context) {
	for awake.Rest(ctx, l.pause) == nil {
		if err := l.again(ctx); !errors.Is(err, files.ErrChanged) {
			continue // also where the store has not answered
		}
		there, version := l.look(ctx)
		if !there {
			return
		}
		l.version = cmp.Or(version, l.version) // it was written, and the answer lost
	}
}

// look says whether the file still names this process, and of which version it is. What can't be read is taken to.
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
	l.lost = other.taken(l.dir())
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
	ctx, cancel := context.WithTimeout(context.Background(), l.owner.patience()) // then others may have it
	defer cancel()
	there, version := l.look(ctx)
	if l.version = version; !there || version == "" {
		return // one that stays says nothing more
	}
	l.owner.Beat++
	if l.write(ctx) == nil { // no process takes at once what lives
		_ = on(ctx, l.name).Remove(l.name)
	}
}
