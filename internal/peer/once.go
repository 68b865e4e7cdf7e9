package peer

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/transport"
)

// frames are for answers, whose sections are read before Once returns.
var frames = sync.Pool{New: func() any { return new(wire.Frame) }}

// Once makes one attempt at a server: it sends a request to the endpoint and gives the answer to read, which may be
// nil. answered says that an answer came, be it a refusal, which is the error then. A request that was damaged on its
// way has none, and neither has one that a process took whose place another has, by the server's life; nil is for a
// server of which none is known.
func Once(ctx context.Context, t transport.Transport, to string, life *Life, req [][]byte,
	read func(*wire.Frame) error) (answered bool, err error) {
	f := frames.Get().(*wire.Frame)
	defer func() {
		clear(f.Sections) // they would hold on to the answer's memory
		frames.Put(f)
	}()
	err = t.Call(ctx, to, req, func(body []byte) error {
		if err := f.Parse(body); err != nil {
			return err
		}
		if life != nil && f.Job != 0 { // the answer proves that the sender is of this run of the job
			if err := life.Heard(f.ServerLife); err != nil {
				return err
			}
		}
		err := f.Refusal()
		if errors.Is(err, wire.ErrDamaged) {
			return fmt.Errorf("the server has not taken the request: %w", wire.ErrDamaged)
		}
		answered = true
		if err != nil || read == nil {
			return err
		}
		return read(f)
	})
	return answered, err
}
