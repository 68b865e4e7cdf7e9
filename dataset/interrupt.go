package dataset

import (
	"context"
	"fmt"
	"io"
	"time"
)

// interruptible is f with reads that end with ctx, where what lies behind f can be given a deadline: pipes, FIFOs,
// connections. Others have their data at hand.
func interruptible(ctx context.Context, f io.ReadCloser, behind any) io.ReadCloser {
	d, ok := behind.(interface{ SetReadDeadline(time.Time) error })
	if !ok || ctx.Done() == nil {
		return f
	}
	stop := context.AfterFunc(ctx, func() { _ = d.SetReadDeadline(time.Unix(1, 0)) }) // a regular file takes none
	return &interrupted{f, ctx, stop}
}

// interrupted is a file under a context.
type interrupted struct {
	io.ReadCloser
	ctx  context.Context
	stop func() bool
}

func (f *interrupted) Read(b []byte) (int, error) {
	n, err := f.ReadCloser.Read(b)
	if ended := context.Cause(f.ctx); err != nil && ended != nil {
		return n, fmt.Errorf("reading was ended: %w", ended)
	}
	return n, err
}

func (f *interrupted) Close() error {
	f.stop()
	return f.ReadCloser.Close()
}
