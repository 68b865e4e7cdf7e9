package transport_test

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/transport"
	"github.com/gofleet/gofleet/transport/codec"
)

const fuzzLimit = 1 << 16

// FuzzEnvelope gives a compressed listener and a compressed client any bytes at all; where they claim a checksum, also with the
// right one, so that damage is not the only thing that is found.
//
// Promise: [G7] no connection, envelope or misbehaving peer panics a process, or makes it allocate more than its
// bound
// Also: FuzzConnection, FuzzAnswer, TestBomb, TestDecodedBytesAreBounded, TestBadServers, TestStrangers
func FuzzEnvelope(f *testing.F) {
	f.Add([]byte(envelope(0, 0, 3, 1, 2, 3)))
	f.Add([]byte(envelope(255, 1, 2, 'n', 'o')))
	f.Add(rightSum([]byte(envelope(0, 2, 3, 1, 2, 3))))
	for _, name := range codec.Names() {
		c, err := codec.ByName(name)
		law.Check(f, err)
		small := c.Encode(nil, make([]byte, 3000))
		f.Add([]byte(envelope(c.ID(), c.ID(), 3000, small...)))
		f.Add(rightSum([]byte(envelope(c.ID(), c.ID(), 3000, small...))))
	}
	net := transport.NewMemory()
	compressed := transport.Compressed(net, trimmed{}, fuzzLimit)
	inner := make(chan []byte, 1) // what the next answer will be
	echo, _ := start(f, compressed, "echo:0")
	l, err := net.Listen("raw:0")
	law.Check(f, err)
	served := make(chan error, 1)
	go func() {
		served <- l.Serve(func(_ []byte, reply *transport.Reply) { reply.Parts = [][]byte{<-inner} })
	}()
	f.Cleanup(func() {
		_ = l.Close(context.Background())
		<-served
	})
	f.Fuzz(func(t *testing.T, message []byte) {
		for _, message := range [][]byte{message, rightSum(message)} {
			if err := net.Call(t.Context(), echo, [][]byte{message}, func([]byte) error { return nil }); err != nil {
				t.Errorf("a request: %v", err)
			}
			inner <- message
			_ = compressed.Call(t.Context(), l.Endpoint(), nil, func(body []byte) error {
				if len(body) > fuzzLimit {
					t.Errorf("an answer of %d bytes, the bound is %d", len(body), fuzzLimit)
				}
				return nil
			})
		}
	})
}

// rightSum gives a message the checksum it should have, if it is long enough for one.
func rightSum(message []byte) []byte {
	if len(message) < 16 {
		return message
	}
	message = append([]byte(nil), message...)
	table := crc32.MakeTable(crc32.Castagnoli)
	sum := crc32.Update(crc32.Checksum(message[:8], table), table, message[16:])
	binary.LittleEndian.PutUint64(message[8:], 1<<63|uint64(sum))
	return message
}

// FuzzConnection writes any bytes to a listener. It must end the connection, serve nothing over its bound, and go on.
func FuzzConnection(f *testing.F) {
	const head = "POST /gofleet/1 HTTP/1.1\r\nHost: gofleet\r\nContent-Type: application/x-gofleet\r\n"
	for _, say := range []string{
		"", "GET / HTTP/1.1\r\n\r\n", head + "Content-Length: 3\r\n\r\nabc", head + "Content-Length: 3\r\n\r\nabc" + head + "Content-Length: 0\r\n\r\n",
		head + "Content-Length: 99999999999999999999\r\n\r\nabc", head + "Content-Length: -1\r\n\r\n", head + "Content-Length: 70000\r\n\r\nabc",
		head + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", head + "Expect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
		head + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", head + "Gofleet-Cluster: x\r\nContent-Length: 0\r\n\r\n",
		"POST /gofleet/9 HTTP/1.0\r\nContent-Type: application/x-gofleet\r\nContent-Length: 3\r\n\r\nabc",
	} {
		f.Add([]byte(say))
	}
	tr := &transport.FastHTTP{MaxMessage: fuzzLimit, Logger: quietLogger()}
	l, err := tr.Listen(socketNames(f)())
	law.Check(f, err)
	served := make(chan error, 1)
	go func() {
		served <- l.Serve(func(req []byte, _ *transport.Reply) {
			if len(req) > fuzzLimit {
				panic("a request over the bound")
			}
		})
	}()
	f.Cleanup(func() {
		_ = l.Close(context.Background())
		<-served
	})
	f.Fuzz(func(t *testing.T, say []byte) {
		conn, err := net.Dial("unix", l.Endpoint()[len("unix:"):])
		law.Check(t, err)
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
		_, _ = conn.Write(say)
		_ = conn.(*net.UnixConn).CloseWrite()
		if _, err := io.Copy(io.Discard, conn); err != nil && len(say) < fuzzLimit && isTimeout(err) {
			t.Errorf("the connection is still open: %v", err)
		}
		if s := tr.Stats(); s.Served > 0 && s.ServedReceived/s.Served > fuzzLimit {
			t.Errorf("%+v", s)
		}
	})
}

func isTimeout(err error) bool {
	timeout, ok := err.(net.Error)
	return ok && timeout.Timeout()
}

// FuzzAnswer has a server answer a client with any bytes.
func FuzzAnswer(f *testing.F) {
	for _, say := range []string{
		"", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcd", "HTTP/1.1 200 OK\r\n\r\nabc",
		"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\nabc", "HTTP/1.1 503 Busy\r\nContent-Length: 3\r\n\r\nabc",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 426 No\r\nContent-Length: 5\r\n\r\nab", "HTTP/1.1 204 OK\r\n\r\n",
	} {
		f.Add([]byte(say))
	}
	ln, err := net.Listen("unix", filepath.Join(f.TempDir(), "s"))
	law.Check(f, err)
	f.Cleanup(func() { _ = ln.Close() })
	client := &transport.FastHTTP{MaxMessage: fuzzLimit}
	f.Fuzz(func(t *testing.T, say []byte) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = conn.Write(say)
		}()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		err := client.Call(ctx, "unix:"+ln.Addr().String(), [][]byte{[]byte("x")}, func(body []byte) error {
			if len(body) > fuzzLimit || len(body) > len(say) {
				t.Errorf("an answer of %d bytes was read from %d", len(body), len(say))
			}
			return nil
		})
		if ctx.Err() != nil {
			t.Errorf("the call hung: %v", err)
		}
		client.CloseIdleConnections()
		<-done
	})
}
