package porttest

import (
	"errors"
	"net"
	"slices"
	"syscall"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// TestKept: at a kept endpoint connections are refused, who asks for any port does not get it, and who names it listens there, again and
// again.
func TestKept(t *testing.T) {
	kept := Kept(t, 400)
	if all := append(Free(t, 400), kept...); len(slices.Compact(slices.Sorted(slices.Values(all)))) != 800 {
		t.Error("a kept endpoint is given away")
	}
	for range 2 {
		for _, endpoint := range kept[:3] {
			if _, err := net.Dial("tcp", endpoint); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("where nobody listens: %v", err)
			}
			l, err := net.Listen("tcp", endpoint)
			law.Check(t, err)
			c, err := net.Dial("tcp", endpoint)
			law.Check(t, err)
			served, err := l.Accept()
			law.Check(t, err)
			served.Close() // the listener's side first, whose port lingers
			c.Close()
			l.Close()
		}
	}
}
