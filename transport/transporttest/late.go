package transporttest

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/gofleet/gofleet/transport"
)

// lateBox holds messages that will be sent again, and the calls that send them.
type lateBox struct {
	mu      sync.Mutex
	waiting map[string][][]byte               // by endpoint
	sent    map[string]map[*lateCall]struct{} // by endpoint
}

// lateCall is a call that sends a message again.
type lateCall struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// add stores a copy of a message, to be sent again before the next call to its endpoint.
func (b *lateBox) add(endpoint string, req [][]byte) {
	message := join(req)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting == nil {
		b.waiting, b.sent = map[string][][]byte{}, map[string]map[*lateCall]struct{}{}
	}
	b.waiting[endpoint] = append(b.waiting[endpoint], message)
}

// deliver sends the messages stored for an endpoint, and waits for each answer, but at most for patience: the server
// may answer only after it has received the next call.
func (b *lateBox) deliver(ctx context.Context, t transport.Transport, endpoint string, patience time.Duration) {
	for message := b.remove(endpoint); message != nil; message = b.remove(endpoint) {
		c := b.send(ctx, t, endpoint, message)
		timer := time.NewTimer(patience)
		select {
		case <-c.done:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

func (b *lateBox) remove(endpoint string) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	waiting := b.waiting[endpoint]
	if len(waiting) == 0 {
		return nil
	}
	b.waiting[endpoint] = waiting[1:]
	return waiting[0]
}

// send starts a late call, which outlives the call that waits for it. end waits for it to return.
func (b *lateBox) send(ctx context.Context, t transport.Transport, endpoint string, message []byte) *lateCall {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c := &lateCall{cancel: cancel, done: make(chan struct{})}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sent[endpoint] == nil {
		b.sent[endpoint] = map[*lateCall]struct{}{}
	}
	b.sent[endpoint][c] = struct{}{}
	go func() {
		defer close(c.done)
		defer b.forget(endpoint, c)
		defer cancel()
		_ = t.Call(ctx, endpoint, [][]byte{message}, ignore)
	}()
	return c
}

func (b *lateBox) forget(endpoint string, c *lateCall) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.sent[endpoint], c)
}

// end cancels the late calls to an endpoint, or with "" to all, and waits until they have returned.
func (b *lateBox) end(endpoint string) {
	for _, c := range b.under(endpoint) {
		c.cancel()
		<-c.done
	}
}

// under lists the calls that are under way.
func (b *lateBox) under(endpoint string) (calls []*lateCall) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for to, sent := range b.sent {
		if endpoint == "" || to == endpoint {
			calls = slices.AppendSeq(calls, maps.Keys(sent))
		}
	}
	return calls
}

// lateListener ends the late calls to it when it is closed.
type lateListener struct {
	transport.Listener
	box *lateBox
}

// Close implements transport.Listener.
func (l *lateListener) Close(ctx context.Context) error {
	err := l.Listener.Close(ctx)
	l.box.end(l.Endpoint())
	return err
}
