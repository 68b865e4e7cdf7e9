//go:build unix

package rendezvous

import (
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/law"
)

// inherit is what mpiexec leaves in a rank: the number of an open file that is a connection to the manager.
func (m *manager) inherit(t *testing.T) string {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	law.Check(t, err)
	f := os.NewFile(uintptr(fds[1]), "manager")
	conn, err := net.FileConn(f)
	f.Close()
	law.Check(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.serve(conn)
	}()
	t.Cleanup(func() { conn.Close(); <-done })
	return fmt.Sprint(fds[0])
}

// managed is a job whose ranks have a process manager.
func managed(t *testing.T, size int) []Process {
	m, all := newManager(size), job(size, "")
	for r := range all {
		all[r].PMI = m.inherit(t)
	}
	return all
}

func TestRanksMeetByPMI(t *testing.T) {
	checkAgreement(t, meetAll(within(t, time.Minute), managed(t, 4)))
}

// TestHostByPMI: servers are known by the names that they were given, also where the process manager tells the ranks of each other.
func TestHostByPMI(t *testing.T) {
	all := managed(t, 2)
	all[0].Host, all[1].Host = "node-a", "node-a"
	for r, o := range meetAll(within(t, time.Minute), all) {
		if o.err != nil || !strings.HasPrefix(o.endpoints[0], "node-a:") {
			t.Errorf("rank %d: %v, error %v", r, o.endpoints, o.err)
		}
	}
}
