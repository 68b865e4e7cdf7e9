// Stranger does to a server of a job what somebody without its secrets may try, and says how much memory that costs the server:
//
//	go run ./internal/stranger -to 127.0.0.1:36000 -pid 4711 bombs
//
// The attacks, each the same whatever the job is:
//
//	bombs      small messages that decode to 1,000 MB, in every codec, eight at once
//	fits       64 messages in the job's codec (-codec) that decode to as much as a frame of the default size
//	halves     4,200 requests that announce 1 MiB and stop after 30 kB
//	announces  200 requests that announce 64 MiB and stop after 100 kB
//	stays      5,000 connections that make a request which is refused, and stay
//	silent     5,000 connections that say nothing
//
// With -pid it reads the server's memory from /proc: before, the most during the attack, and ten seconds after it.
package main

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofleet/gofleet/transport/codec"
)

func main() {
	to := flag.String("to", "127.0.0.1:36000", "the server's `address`")
	pid := flag.Int("pid", 0, "the server's `process`, to read its memory")
	job := flag.String("codec", "none", "the job's `codec`, for fits")
	hold := flag.Duration("hold", 10*time.Second, "how long connections are kept `open`")
	flag.Parse()
	attack, ok := attacks[flag.Arg(0)]
	if !ok {
		fmt.Fprintf(os.Stderr, "stranger: %q is no attack; see go doc ./internal/stranger\n", flag.Arg(0))
		os.Exit(2)
	}
	s := &stranger{to: *to, codec: *job, hold: *hold, answers: map[string]int{}}
	before := memory(*pid)
	most, stop := watch(*pid)
	if err := attack(s); err != nil {
		fmt.Fprintln(os.Stderr, "stranger:", err)
	}
	stop()
	time.Sleep(10 * time.Second)
	fmt.Printf("%s: %d MB before, %d MB at most, %d MB after\n", flag.Arg(0), before, most(), memory(*pid))
	for answer, n := range s.answers {
		fmt.Printf("%6d × %s\n", n, answer)
	}
}

var attacks = map[string]func(*stranger) error{
	"bombs":     (*stranger).bombs,
	"fits":      (*stranger).fits,
	"halves":    func(s *stranger) error { return s.halves(4200, 1<<20, 30_000) },
	"announces": func(s *stranger) error { return s.halves(200, 64<<20, 100_000) },
	"stays":     func(s *stranger) error { return s.keep(5000, request(nil, 0)) },
	"silent":    func(s *stranger) error { return s.keep(5000, "") },
}

type stranger struct {
	to, codec string
	hold      time.Duration
	mu        sync.Mutex
	answers   map[string]int
}

// head begins a request of n bytes.
func head(n int) string {
	return fmt.Sprintf("POST /gofleet/1 HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-gofleet\r\nContent-Length: %d\r\n\r\n", n)
}

// request is a message in the envelope of package transport, which says how long it will be once it is decoded.
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

// together sends a request on n connections at once, and notes the answers.
func (s *stranger) together(n int, request string) {
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			conn, err := net.Dial("tcp", s.to)
			if err != nil {
				s.note(err.Error())
				return
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, request)
			s.note(answer(conn))
		})
	}
	all.Wait()
}

func (s *stranger) note(answer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[answer]++
}

// answer is what may be read of one.
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

// halves announces n bytes on each connection and sends a part.
func (s *stranger) halves(connections, n, sent int) error {
	return s.keep(connections, head(n)+strings.Repeat("x", sent))
}

// keep says something on many connections and holds them, then counts those that the server has closed.
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
			s.note("still open")
		} else {
			s.note("closed by the server")
		}
		conn.Close()
	}
	return errors.Join(errs[:min(len(errs), 3)]...)
}

// watch looks at a process's memory until stop is called; most is the largest, in MB.
func watch(pid int) (most func() int, stop func()) {
	largest, end, ended := 0, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			largest = max(largest, memory(pid))
			select {
			case <-time.After(50 * time.Millisecond):
			case <-end:
				return
			}
		}
	}()
	return func() int { return largest }, func() { close(end); <-ended }
}

// memory is what a process has of it now, in MB.
func memory(pid int) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, _ := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")))
			return kb >> 10
		}
	}
	return 0
}
