package peer

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/transport"
)

// frames are reused for answers, whose sections are read before Once returns.
var frames = sync.Pool{New: func() any { return new(wire.Frame) }}

// Once makes one attempt at a server: it sends a request to the endpoint and passes the answer to read, which may be
// nil. answered reports whether an answer came, including a refusal, which is then the error. A request that was
// damaged on its way counts as not answered, and so does one that was answered by a process of an earlier life of the
// server; life is nil for a server whose lives are not counted.
func Once(ctx context.Context, t transport.Transport, to string, life *Life, req [][]byte,
	read func(*wire.Frame) error) (answered bool, err error) {
	f := frames.Get().(*wire.Frame)
	defer func() {
		clear(f.Sections) // they would keep the answer's memory alive
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
