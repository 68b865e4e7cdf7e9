package files

import (
	"context"
	"io"
	"sync"
)

const (
	aheadBytes  = 1 << 20 // of one piece
	aheadPieces = 16
)

// ahead reads a file of a store from start to end, some pieces ahead of its reader.
type ahead struct {
	cancel context.CancelFunc
	ended  sync.WaitGroup
	free   chan []byte
	full   chan piece
	now    piece
	rest   []byte // of now
}

// piece is the result of one read.
type piece struct {
	bytes []byte
	err   error // after these bytes
}

// OpenStream opens a file of a store for reading from start to end. ctx ends the reads.
func OpenStream(ctx context.Context, name string) (io.ReadCloser, error) {
	f, err := openRemote(ctx, name)
	if err != nil {
		return nil, err
	}
	return f.stream(ctx), nil
}

func (f *remote) stream(ctx context.Context) *ahead {
	ctx, cancel := context.WithCancel(ctx)
	a := &ahead{cancel: cancel, free: make(chan []byte, aheadPieces), full: make(chan piece, aheadPieces+1)}
	size := min(aheadBytes, max(1, f.info.Size))
	for range min(aheadPieces, f.info.Size/aheadBytes+2) {
		a.free <- make([]byte, size)
	}
	p := &puller{file: f, ctx: ctx, end: f.info.Size}
	a.ended.Go(func() { a.run(ctx, p) })
	return a
}

// run reads until the end of the file, an error, or Close.
func (a *ahead) run(ctx context.Context, p *puller) {
	defer p.Close()
	for {
		select {
		case b := <-a.free:
			n, err := io.ReadFull(p, b)
			if err == io.ErrUnexpectedEOF {
				err = io.EOF
			}
			a.full <- piece{b[:n], err} // full has room for all pieces
			if err != nil {
				return
			}
		case <-ctx.Done():
			a.full <- piece{nil, Ended(ctx)}
			return
		}
	}
}

// Read implements io.Reader.
func (a *ahead) Read(b []byte) (int, error) {
	for len(a.rest) == 0 {
		if a.now.err != nil {
			return 0, a.now.err
		}
		if a.now.bytes != nil {
			a.free <- a.now.bytes[:cap(a.now.bytes)]
		}
		a.now = <-a.full
		a.rest = a.now.bytes
	}
	n := copy(b, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

// Close stops reading and waits for the goroutine.
func (a *ahead) Close() error {
	a.cancel()
	a.ended.Wait()
	return nil
}
