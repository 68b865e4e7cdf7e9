package main

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/gofleet/gofleet/transport/codec"
)

// head returns the head of a request of n bytes.
func head(n int) string {
	return fmt.Sprintf("POST /gofleet/1 HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-gofleet\r\nContent-Length: "+
		"%d\r\n\r\n", n)
}

// request returns a message in the envelope of package transport, which states the decoded length raw.
func request(message []byte, raw int, codec ...byte) string {
	envelope := uint64(raw) << 16
	for _, id := range codec {
		envelope |= uint64(id)
	}
	b := binary.LittleEndian.AppendUint64(nil, envelope)
	b = append(append(b, make([]byte, 8)...), message...)
	return head(len(b)) + string(b)
}

// bombs sends eight messages of zeros in every codec there is.
func (s *stranger) bombs() error {
	zeros := make([]byte, 1000<<20)
	for _, name := range codec.Names() {
		c, err := codec.ByName(name)
		if err != nil {
			return err
		}
		if c.ID() != codec.NoneID {
			s.together(8, request(c.Encode(nil, zeros), len(zeros), c.ID()))
		}
	}
	return nil
}

func (s *stranger) fits() error {
	c, err := codec.ByName(s.codec)
	if err != nil {
		return err
	}
	zeros := make([]byte, 64<<20)
	s.together(64, request(append(zeros[:64:64], c.Encode(nil, zeros[64:])...), len(zeros), c.ID()))
	return nil
}

// together sends a request on n connections at once, and counts the answers.
func (s *stranger) together(n int, request string) {
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			conn, err := net.Dial("tcp", s.to)
			if err != nil {
				s.count(err.Error())
				return
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, request)
			s.count(answer(conn))
		})
	}
	all.Wait()
}

func (s *stranger) count(answer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[answer]++
}

// answer reads an answer, as far as it can be read.
func answer(conn net.Conn) string {
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	b := make([]byte, 2048)
	n, err := io.ReadAtLeast(conn, b, 100)
	if n == 0 {
		return fmt.Sprint(err)
	}
	readable := func(r rune) rune {
		if r < ' ' || r > '~' {
			return ' '
		}
		return r
	}
	return fmt.Sprintf("%.240s", strings.Join(strings.Fields(strings.Map(readable, string(b[:n]))), " "))
}

// halves announces n bytes on each connection and sends a part of them.
func (s *stranger) halves(connections, n, sent int) error {
	return s.keep(connections, head(n)+strings.Repeat("x", sent))
}

// keep sends a text on many connections and holds them, then counts the connections that the server has closed.
func (s *stranger) keep(connections int, say string) error {
	var conns []net.Conn
	var errs []error
	for range connections {
		conn, err := net.Dial("tcp", s.to)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		conns = append(conns, conn)
		_, err = io.WriteString(conn, say)
		errs = append(errs, err)
	}
	time.Sleep(s.hold)
	for _, conn := range conns {
		_ = conn.SetReadDeadline(time.Now().Add(time.Millisecond))
		_, err := io.Copy(io.Discard, conn)
		if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
			s.count("still open")
		} else {
			s.count("closed by the server")
		}
		conn.Close()
	}
	return errors.Join(errs[:min(len(errs), 3)]...)
}

// garbage sends many kinds of data that are not requests of gofleet.
func (s *stranger) garbage() error {
	noise := make([]byte, 100_000)
	_, _ = rand.Read(noise)
	post := "POST /gofleet/1 HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-gofleet\r\n"
	for _, say := range []string{
		string(noise), "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + string(noise[:512]),
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		post + "Content-Length: -1\r\n\r\n", post + "Content-Length: 18446744073709551616\r\n\r\n",
		post + "Content-Length: 10000000000\r\n\r\n",
		post + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", post + "Transfer-Encoding: " +
			"chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
		post + strings.Repeat("X: y\r\n", 200_000), post + "Expect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
		head(3) + "abc", request(noise, len(noise)), request(make([]byte, 200), 200),
	} {
		s.together(8, say)
	}
	return nil
}
