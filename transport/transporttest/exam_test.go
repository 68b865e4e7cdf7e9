package transporttest_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/transport"
	"github.com/gofleet/gofleet/transport/transporttest"
)

// bad is a memory network with one thing wrong.
type bad struct {
	*transport.Memory
	call  func(b *bad, ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error
	serve func(transport.Handler) transport.Handler
}

func (b *bad) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	if b.call == nil {
		return b.Memory.Call(ctx, endpoint, req, read)
	}
	return b.call(b, ctx, endpoint, req, read)
}

func (b *bad) Listen(endpoint string) (transport.Listener, error) {
	l, err := b.Memory.Listen(endpoint)
	if err != nil || b.serve == nil {
		return l, err
	}
	return badListener{l, b.serve}, nil
}

type badListener struct {
	transport.Listener
	wrong func(transport.Handler) transport.Handler
}

func (l badListener) Serve(h transport.Handler) error { return l.Listener.Serve(l.wrong(h)) }

var errLost = errors.New("something went wrong")

// failures are transports that must not pass, and the exam that must notice.
var failures = map[string]struct {
	bad     bad
	noticed string
}{
	"deaf to ctx": {bad{call: func(b *bad, ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
		return b.Memory.Call(context.WithoutCancel(ctx), endpoint, req, read)
	}}, "EndedBefore"},
	"repeats requests": {bad{call: func(b *bad, ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
		_ = b.Memory.Call(ctx, endpoint, req, func([]byte) error { return nil })
		return b.Memory.Call(ctx, endpoint, req, read)
	}}, "TooLarge"},
	"forgets Done": {bad{serve: func(h transport.Handler) transport.Handler {
		return func(req []byte, reply *transport.Reply) {
			h(req, reply)
			reply.Done = nil
		}
	}}, "Done"},
	"calls Done early": {bad{serve: func(h transport.Handler) transport.Handler {
		return func(req []byte, reply *transport.Reply) {
			h(req, reply)
			if reply.Done != nil {
				reply.Done()
				reply.Done = nil
			}
		}
	}}, "Lent"},
	"hides read's error": {bad{call: func(b *bad, ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
		return b.Memory.Call(ctx, endpoint, req, func(body []byte) error {
			_ = read(body)
			return nil
		})
	}}, "ReadError"},
	"has no sentinels": {bad{call: func(b *bad, ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
		if err := b.Memory.Call(ctx, endpoint, req, read); err != nil {
			return errLost
		}
		return nil
	}}, "Unreachable"},
	"loses the last byte": {bad{serve: func(h transport.Handler) transport.Handler {
		return func(req []byte, reply *transport.Reply) { h(req[:max(len(req), 1)-1], reply) }
	}}, "Echo"},
	"answers one by one": {bad{serve: func(h transport.Handler) transport.Handler {
		one := make(chan struct{}, 1)
		return func(req []byte, reply *transport.Reply) {
			one <- struct{}{}
			defer func() { <-one }()
			h(req, reply)
		}
	}}, "Concurrent"},
	"counts wrongly": {bad{call: func(b *bad, ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
		_ = b.Memory.Call(ctx, "nobody", nil, nil) // a call that nobody made
		return b.Memory.Call(ctx, endpoint, req, read)
	}}, "Counts"},
	"leaves goroutines": {bad{call: func(b *bad, ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
		go func() { select {} }()
		return b.Memory.Call(ctx, endpoint, req, read)
	}}, "Parts"},
}

const badEnv = "TRANSPORTTEST_BAD"

// TestBad sits the exam with a transport that must fail; TestExamFailsBadTransports runs it in a process of its own.
func TestBad(t *testing.T) {
	f, ok := failures[os.Getenv(badEnv)]
	if !ok {
		t.Skip("runs in a process of its own only")
	}
	transporttest.SetPatience(time.Second / 2)
	transporttest.Run(t, func() transport.Transport {
		b := f.bad
		b.Memory = &transport.Memory{MaxMessage: 9 << 20}
		return &b
	}, func() string { return "server:0" })
}

// TestExamFailsBadTransports checks that the exam fails those who deserve it.
func TestExamFailsBadTransports(t *testing.T) {
	law.Slow(t)
	for name, f := range failures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			exam := exec.Command(os.Args[0], "-test.run", "^TestBad$/^"+f.noticed+"$", "-test.v")
			exam.Env = append(os.Environ(), badEnv+"="+name)
			var out bytes.Buffer
			exam.Stdout, exam.Stderr = &out, &out
			err := exam.Run()
			failed := regexp.MustCompile(`(?m)^\s+--- FAIL: TestBad/` + f.noticed).Match(out.Bytes())
			if err == nil || !failed {
				t.Errorf("the exam %s did not notice: %v\n%s", f.noticed, err, tail(out.String()))
			}
		})
	}
}

func tail(s string) string {
	lines := strings.Split(s, "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}
