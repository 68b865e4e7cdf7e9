package rendezvous

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// callers are the ranks that have called rank 0, out of all that it waits for.
type callers struct {
	meeting
	calls []call // by rank; conn is nil for a rank that has not called
}

// call is the open call of a rank.
type call struct {
	conn  net.Conn
	hello hello
}

// missing is the number of ranks that have not called.
func (all *callers) missing() int {
	n := 0
	for _, c := range all.calls[1:] {
		if c.conn == nil {
			n++
		}
	}
	return n
}

func (all *callers) add(c call) error {
	first := all.calls[c.hello.Rank]
	if first.conn == nil {
		all.calls[c.hello.Rank] = c
		return nil
	}
	err := fmt.Errorf("two processes say that they are rank %d, from %v and %v",
		c.hello.Rank, first.conn.RemoteAddr(), c.conn.RemoteAddr())
	send(c.conn, answer{Error: err.Error(), Final: true})
	c.conn.Close()
	return err
}

// gaveUp is an error that names the ranks that have not called.
func (all *callers) gaveUp(cause error) error {
	var names []string
	for rank, c := range all.calls {
		if rank > 0 && c.conn == nil {
			names = append(names, fmt.Sprint(rank))
		}
	}
	return fmt.Errorf("rank 0 waited at %v for all %d ranks: %w; missing: rank %s",
		all.place, all.Size, cause, strings.Join(names, ", "))
}

// endpoints are the endpoints of all ranks. A rank that called over loopback is on this machine: if others are not, it
// has rank 0's address.
func (all *callers) endpoints() []string {
	own := all.ownHost()
	list := make([]string, all.Size)
	if all.port != 0 {
		list[0] = endpoint(own, all.port)
	}
	for rank, c := range all.calls {
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

// ownHost is the address at which others have reached rank 0, not loopback if there is another.
func (all *callers) ownHost() string {
	own := "127.0.0.1"
	for _, c := range all.calls {
		if c.conn == nil {
			continue
		}
		if ip := ipOf(c.conn.LocalAddr()); ip != "" && !isLoopback(ip) {
			own = ip
		}
	}
	return cmp.Or(all.Host, own)
}

// answer answers all open calls and closes them.
func (all *callers) answer(a answer) error {
	var errs []error
	for rank, c := range all.calls {
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
