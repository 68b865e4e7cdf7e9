package dataset

import (
	"context"
	"fmt"
	"io"
	"time"
)

// interruptible returns f with reads that end with ctx, if the file behind f accepts a deadline: pipes, FIFOs,
// connections. Other files do not wait for data.
func interruptible(ctx context.Context, f io.ReadCloser, behind any) io.ReadCloser {
	d, ok := behind.(interface{ SetReadDeadline(time.Time) error })
	if !ok || ctx.Done() == nil {
		return f
	}
	stop := context.AfterFunc(ctx, func() { _ = d.SetReadDeadline(time.Unix(1, 0)) }) // a regular file has no deadlines
	return &interrupted{f, ctx, stop}
}

// interrupted is a file whose reads end with a context.
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
