package rolemaker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/porttest"
	"github.com/gofleet/gofleet/rolemaker/internal/rendezvous"
)

const envRendezvous = rendezvous.Variable

// ranks is the environment of one rank of a job on one machine.
func ranks(rank, size int, more ...string) env {
	vars := map[string]string{
		"OMPI_COMM_WORLD_RANK":       fmt.Sprint(rank),
		"OMPI_COMM_WORLD_SIZE":       fmt.Sprint(size),
		"OMPI_COMM_WORLD_LOCAL_SIZE": fmt.Sprint(size),
		"PMIX_NAMESPACE":             "job 1",
	}
	for i := 0; i < len(more); i += 2 {
		vars[more[i]] = more[i+1]
	}
	return func(name string) string { return vars[name] }
}

// outcome is what Resolve gave one rank.
type outcome struct {
	id  Identity
	err error
}

// resolveAll lets those role makers resolve at once.
func resolveAll(ctx context.Context, makers []MPISymmetric) []outcome {
	done := make([]chan outcome, len(makers))
	for i, m := range makers {
		done[i] = make(chan outcome, 1)
		go func() {
			id, err := m.Resolve(ctx)
			done[i] <- outcome{id, err}
		}()
	}
	all := make([]outcome, len(makers))
	for i := range all {
		all[i] = <-done[i]
	}
	return all
}

// job is a role maker for each rank.
func job(size int, more ...string) []MPISymmetric {
	makers := make([]MPISymmetric, size)
	for r := range makers {
		makers[r] = MPISymmetric{Getenv: ranks(r, size, more...), Timeout: time.Minute}
	}
	return makers
}

// checkAgreement wants every rank's role and number, one list of servers, and their ports free to listen on.
func checkAgreement(t *testing.T, all []outcome) {
	t.Helper()
	for r, o := range all {
		if o.err != nil {
			t.Fatalf("rank %d: %v", r, o.err)
		}
		if o.id.Index != r/2 || o.id.IsServer() != (r%2 == 0) || o.id.Workers != len(all)/2 {
			t.Errorf("rank %d of %d is %v", r, len(all), o.id)
		}
		if !slices.Equal(o.id.Servers, all[0].id.Servers) || len(o.id.Servers) != len(all)/2 {
			t.Errorf("rank %d knows servers %v, rank 0 knows %v", r, o.id.Servers, all[0].id.Servers)
		}
	}
	for _, s := range all[0].id.Servers {
		l, err := net.Listen("tcp", s)
		if err != nil {
			t.Errorf("a server can't listen: %v", err)
			continue
		}
		l.Close()
	}
}

func TestRanksMeet(t *testing.T) {
	places := map[string]func(t *testing.T) string{
		"nowhere said":  func(t *testing.T) string { t.Setenv("TMPDIR", t.TempDir()); return "" },
		"host and port": func(t *testing.T) string { return porttest.Free(t, 1)[0] },
		"a directory":   func(t *testing.T) string { return "file://" + filepath.ToSlash(t.TempDir()) },
	}
	for name, place := range places {
		for _, size := range []int{2, 4, 10} {
			t.Run(fmt.Sprint(name, ", ", size, " ranks"), func(t *testing.T) {
				checkAgreement(t, resolveAll(t.Context(), job(size, envRendezvous, place(t))))
			})
		}
	}
}

// Jobs of one user on one machine do not meet each other.
func TestTwoJobsAtOnce(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	makers := append(job(4), job(4, "PMIX_NAMESPACE", "job 2")...)
	all := resolveAll(t.Context(), makers)
	checkAgreement(t, all[:4])
	checkAgreement(t, all[4:])
	if slices.Equal(all[0].id.Servers, all[4].id.Servers) {
		t.Errorf("two jobs have the servers %v", all[0].id.Servers)
	}
}

func TestHost(t *testing.T) {
	makers := job(4, envRendezvous, porttest.Free(t, 1)[0])
	makers[0].Host, makers[2].Host = "node0", "node1"
	all := resolveAll(t.Context(), makers)
	for r, o := range all {
		if o.err != nil || len(o.id.Servers) != 2 ||
			!strings.HasPrefix(o.id.Servers[0], "node0:") || !strings.HasPrefix(o.id.Servers[1], "node1:") {
			t.Errorf("rank %d: %v, error %v", r, o.id, o.err)
		}
	}
}

func TestSeveralMachinesNeedARendezvous(t *testing.T) {
	for r := range 2 {
		_, err := MPISymmetric{Getenv: ranks(r, 2, "OMPI_COMM_WORLD_LOCAL_SIZE", "1")}.Resolve(t.Context())
		if !errors.Is(err, rendezvous.ErrNowhere) {
			t.Errorf("rank %d: error %v", r, err)
		}
	}
}

func TestPMIFDRefuses(t *testing.T) {
	for fd, want := range map[string]string{
		"x":      `PMI_FD is "x"; it must be a number`,
		"-3":     "PMI_FD is -3",
		"987654": "PMI_FD is 987654, which is not a connection to a process manager",
	} {
		vars := map[string]string{"PMI_RANK": "1", "PMI_SIZE": "2", "PMI_FD": fd}
		_, err := MPISymmetric{Getenv: func(n string) string { return vars[n] }}.Resolve(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("PMI_FD=%s: error %v, want %q", fd, err, want)
		}
	}
}
