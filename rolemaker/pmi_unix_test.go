//go:build unix

package rolemaker

import (
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// inherit is what mpiexec leaves in a rank: the number of an open file that is a connection to the manager.
func (m *manager) inherit(t *testing.T) string {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fds[1]), "manager")
	conn, err := net.FileConn(f)
	f.Close()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.serve(conn)
	}()
	t.Cleanup(func() { conn.Close(); <-done })
	return fmt.Sprint(fds[0])
}

func TestRanksMeetByPMI(t *testing.T) {
	m := newManager(4)
	var makers []MPISymmetric
	for r := range 4 {
		vars := map[string]string{"PMI_RANK": fmt.Sprint(r), "PMI_SIZE": "4", "MPI_LOCALNRANKS": "4", "PMI_FD": m.inherit(t)}
		makers = append(makers, MPISymmetric{Getenv: func(n string) string { return vars[n] }, Timeout: time.Minute})
	}
	checkAgreement(t, resolveAll(t.Context(), makers))
}

// TestHostByPMI: servers are known by the names that they were given, also where the process manager tells the ranks of each other.
func TestHostByPMI(t *testing.T) {
	m := newManager(2)
	var makers []MPISymmetric
	for r := range 2 {
		vars := map[string]string{"PMI_RANK": fmt.Sprint(r), "PMI_SIZE": "2", "MPI_LOCALNRANKS": "2", "PMI_FD": m.inherit(t)}
		makers = append(makers, MPISymmetric{Getenv: func(n string) string { return vars[n] }, Timeout: time.Minute, Host: "node-a"})
	}
	for r, o := range resolveAll(t.Context(), makers) {
		if o.err != nil || !strings.HasPrefix(o.id.Servers[0], "node-a:") {
			t.Errorf("rank %d: %v, error %v", r, o.id.Servers, o.err)
		}
	}
}

func TestPMIFDRefuses(t *testing.T) {
	for fd, want := range map[string]string{
		"x":      `PMI_FD is "x"; it must be a number`,
		"-3":     "PMI_FD is -3",
		"987654": "PMI_FD is 987654, which is no connection to a process manager",
	} {
		vars := map[string]string{"PMI_RANK": "1", "PMI_SIZE": "2", "PMI_FD": fd}
		_, err := MPISymmetric{Getenv: func(n string) string { return vars[n] }}.Resolve(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("PMI_FD=%s: error %v, want %q", fd, err, want)
		}
	}
}
