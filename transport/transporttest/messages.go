package transporttest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/gofleet/gofleet/transport"
)

// text returns a message of n bytes that compresses a little and differs for each kind.
func text(n int, kind uint64) []byte {
	r := rand.New(rand.NewPCG(kind, uint64(n)))
	b := make([]byte, 0, n+8)
	for len(b) < n {
		b = binary.LittleEndian.AppendUint64(b, r.Uint64()&0x1f1f1f1f1f1f1f1f)
	}
	return b[:n:n]
}

// echo sends messages of many sizes there and back, among them sizes around powers of two and of buffers.
func echo(r *room) {
	l := r.serve(echoes)
	for _, n := range []int{0, 1, 7, 8, 100, 1023, 1024, 4096, 8192, 8193, 32 << 10, 1<<15 + 1, 1 << 20, 8 << 20} {
		want := string(text(n, 1))
		got, err := r.ask(r.ctx, l.Endpoint(), []byte(want))
		if err != nil {
			r.Fatalf("%d bytes: %v", n, err)
		}
		if got != want {
			r.Fatalf("%d bytes: the answer has %d and differs", n, len(got))
		}
	}
}

// parts sends answers in many divisions into parts, also with empty parts and without any part.
func parts(r *room) {
	l := r.serve(func(req []byte, reply *transport.Reply) {
		reply.Parts = cut(append([]byte(nil), req...), uint64(len(req)))
	})
	for n := range uint64(60) {
		message := text(int(n*n*n/3), n)
		got, err := r.ask(r.ctx, l.Endpoint(), cut(message, n)...)
		if err != nil || got != string(message) {
			r.Fatalf("%d bytes in parts: %d came back, %v", len(message), len(got), err)
		}
	}
	if got, err := r.ask(r.ctx, l.Endpoint()); err != nil || got != "" {
		r.Errorf("no parts at all: %q, %v", got, err)
	}
}

func cut(message []byte, seed uint64) [][]byte {
	r := rand.New(rand.NewPCG(seed, 99))
	var parts [][]byte
	for len(message) > 0 {
		n := min(len(message), r.IntN(2+len(message)))
		parts = append(parts, message[:n])
		message = message[n:]
	}
	return append(parts, nil)
}

// callBeforeServe calls an endpoint that is claimed but not served yet; the call waits.
func callBeforeServe(r *room) {
	l := r.listen()
	type result struct {
		answer string
		err    error
	}
	answered := make(chan result, 1)
	go func() {
		answer, err := r.ask(r.ctx, l.Endpoint(), []byte("early"))
		answered <- result{answer, err}
	}()
	served := r.start(l, echoes)
	if got := await(r, "answer", answered); got.err != nil || got.answer != "early" {
		r.Errorf("early call: %q, %v", got.answer, got.err)
	}
	if err := l.Close(r.ctx); err != nil {
		r.Error(err)
	}
	if err := await(r, "Serve", served); err != nil {
		r.Error(err)
	}
}

// concurrent keeps many calls in their handlers at the same time; each must get its own answer.
func concurrent(r *room) {
	const n = 64
	var all sync.WaitGroup
	all.Add(n)
	l := r.serve(func(req []byte, reply *transport.Reply) {
		all.Done()
		all.Wait()
		echoes(req, reply)
	})
	errs := make(chan error, n)
	for i := range uint64(n) {
		go func() {
			want := string(text(int(i*1000), i))
			got, err := r.ask(r.ctx, l.Endpoint(), []byte(want))
			if err == nil && got != want {
				err = fmt.Errorf("call %d got the answer of another", i)
			}
			errs <- err
		}()
	}
	for range n {
		if err := await(r, "concurrent call", errs); err != nil {
			r.Error(err)
		}
	}
}

// manyEndpoints checks that several listeners of one transport answer with their own names.
func manyEndpoints(r *room) {
	seen := map[string]bool{}
	for i := range 5 {
		name := fmt.Sprint("server ", i)
		l := r.serve(func(_ []byte, reply *transport.Reply) { reply.Parts = [][]byte{[]byte(name)} })
		if seen[l.Endpoint()] {
			r.Fatalf("two listeners have the endpoint %s", l.Endpoint())
		}
		seen[l.Endpoint()] = true
		if got, err := r.ask(r.ctx, l.Endpoint()); err != nil || got != name {
			r.Errorf("%s answers %q, %v; want %q", l.Endpoint(), got, err, name)
		}
	}
}

// readError checks that an error of read is returned by Call.
func readError(r *room) {
	l := r.serve(echoes)
	mine := errors.New("mine")
	for range 3 {
		if err := r.Call(r.ctx, l.Endpoint(), nil, func([]byte) error { return mine }); err != mine {
			r.Errorf("Call returns %v instead of what read returned", err)
		}
	}
	if _, err := r.ask(r.ctx, l.Endpoint()); err != nil {
		r.Errorf("the call after it: %v", err)
	}
}
