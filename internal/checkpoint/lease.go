package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/gofleet/gofleet/internal/files"
)

// lease keeps a directory of a store for one job. It is a file that says who saves here, which its holder replaces
// again and again, each time in the place of the version that it has written before. Who finds a version that stands
// still for long replaces that one, and of two one is refused. No clocks are compared.
type lease struct {
	name string
	ends context.CancelFunc // of the beats

	mu      sync.Mutex
	owner   owner
	version string
	timer   *time.Timer // nil when it has ended
	lost    error       // that another job has taken the directory
}

// takeLease holds a directory. It waits as take does.
func takeLease(ctx context.Context, dir string) (*lease, error) {
	l := &lease{name: files.Join(dir, lockName), owner: newOwner()}
	w := watched{from: time.Now()}
	for {
		mine, err := l.try(ctx, &w)
		if err != nil {
			return nil, err
		}
		if mine {
			return l, l.begin(ctx)
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(lookEvery):
		}
	}
}

// try takes the directory if nobody has it, or who has it says nothing. The error says which process has it.
func (l *lease) try(ctx context.Context, w *watched) (mine bool, err error) {
	other, version, err := l.read()
	if err != nil {
		return false, err
	}
	if version != "" {
		w.see(other)
		switch waited := time.Since(w.from) >= ending; {
		case waited && w.lives:
			return false, other.taken(l.dir())
		case time.Since(w.changed) < silent:
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
func (l *lease) read() (o owner, version string, err error) {
	text, version, err := files.ReadVersion(l.name)
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

// write replaces the version that is known. Locked, or known to one goroutine.
func (l *lease) write(ctx context.Context) error {
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
	beats, ends := context.WithCancel(context.Background())
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ends = ends
	l.timer = time.AfterFunc(beatEvery, func() { l.beat(beats) })
	return nil
}

// beat has the number grow, unless the directory is not this job's any more.
func (l *lease) beat(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, silent) // then others may have it
	defer cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer == nil || l.lost != nil {
		return
	}
	l.owner.Beat++
	if err := l.write(ctx); errors.Is(err, files.ErrChanged) && !l.look() {
		return
	}
	l.timer.Reset(beatEvery) // also where the store has not answered
}

// look says whether the file still names this process. What can't be read is taken to. Locked.
func (l *lease) look() (there bool) {
	other, version, err := l.read()
	switch {
	case err != nil:
		return true
	case version == "":
		return false
	case other.Job == l.owner.Job:
		l.version = version
		return true
	}
	l.lost = other.taken(l.dir())
	return false
}

func (l *lease) dir() string { return files.Dir(l.name) }

func (l *lease) certain() bool { return false }

func (l *lease) held() (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.look(), l.lost
}

func (l *lease) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer == nil {
		return
	}
	l.timer.Stop()
	l.timer = nil
	l.ends()
	if l.look() {
		_ = files.Remove(l.name) // one that stays says nothing more
	}
}
