package rolemaker

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// table is what rank 0 knows of the others.
type table struct {
	meeting
	calls []call // by rank; a rank that has called has a conn
}

// call is a rank on the line.
type call struct {
	conn  net.Conn
	hello hello
}

// missing is how many ranks have not called.
func (t *table) missing() int {
	n := 0
	for _, c := range t.calls[1:] {
		if c.conn == nil {
			n++
		}
	}
	return n
}

func (t *table) add(c call) error {
	first := t.calls[c.hello.Rank]
	if first.conn == nil {
		t.calls[c.hello.Rank] = c
		return nil
	}
	err := fmt.Errorf("two processes say that they are rank %d, from %v and %v",
		c.hello.Rank, first.conn.RemoteAddr(), c.conn.RemoteAddr())
	send(c.conn, answer{Error: err.Error(), Final: true})
	c.conn.Close()
	return err
}

// gaveUp names the ranks that have not called.
func (t *table) gaveUp(cause error) error {
	var names []string
	for rank, c := range t.calls {
		if rank > 0 && c.conn == nil {
			names = append(names, fmt.Sprint(rank))
		}
	}
	return fmt.Errorf("rank 0 waited at %v for all %d ranks: %w; missing: rank %s",
		t.place, t.size, cause, strings.Join(names, ", "))
}

// endpoints are those of all ranks. Who called over loopback is on this machine, so if others are not, it is reached
// like rank 0.
func (t *table) endpoints() []string {
	own := t.ownHost()
	list := make([]string, t.size)
	list[0] = endpoint(own, t.port)
	for rank, c := range t.calls {
		if c.conn == nil || c.hello.Port == 0 {
			continue
		}
		host := c.hello.Host
		if isLoopback(host) {
			host = own
		}
		list[rank] = endpoint(host, c.hello.Port)
	}
	return list
}

// ownHost is where others have reached rank 0: not over loopback, if any has.
func (t *table) ownHost() string {
	own := "127.0.0.1"
	for _, c := range t.calls {
		if c.conn == nil {
			continue
		}
		if ip := ipOf(c.conn.LocalAddr()); ip != "" && !isLoopback(ip) {
			own = ip
		}
	}
	return cmp.Or(t.host, own)
}

// answer tells everybody on the line and hangs up.
func (t *table) answer(a answer) error {
	var errs []error
	for rank, c := range t.calls {
		if c.conn == nil {
			continue
		}
		c.conn.SetWriteDeadline(time.Now().Add(5 * time.Second))
		if err := send(c.conn, a); err != nil {
			errs = append(errs, fmt.Errorf("answering rank %d: %w", rank, err))
		}
		c.conn.Close()
	}
	return errors.Join(errs...)
}

// A message between ranks is a big-endian uint32 with its length and then JSON.
const (
	meetingVersion = 1
	maxMessage     = 4 << 20
)

// hello is what a rank says.
type hello struct {
	Version int    `json:"version"`
	Job     string `json:"job"`
	Rank    int    `json:"rank"`
	Size    int    `json:"size"`
	Host    string `json:"host"`
	Port    int    `json:"port"`
}

// answer is what rank 0 says: the endpoints of all ranks, or an error. Final means that there will be no better answer.
type answer struct {
	Endpoints []string `json:"endpoints,omitempty"`
	Error     string   `json:"error,omitempty"`
	Final     bool     `json:"final,omitempty"`
}

func send(w io.Writer, message any) error {
	body, err := json.Marshal(message)
	if err != nil {
		return err
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...))
	return err
}

func receiveMessage(r io.Reader, message any) error {
	var prefix [4]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(prefix[:])
	if n > maxMessage {
		return fmt.Errorf("a message of %d bytes is no message of the rendezvous", n)
	}
	// ReadAll grows with what arrives, not with what is claimed.
	body, err := io.ReadAll(io.LimitReader(r, int64(n)))
	switch {
	case err != nil:
		return err
	case len(body) < int(n):
		return io.ErrUnexpectedEOF
	}
	return json.Unmarshal(body, message)
}
