package rolemaker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

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

// freeAddress is a loopback address that was free a moment ago.
func freeAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
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
		"nowhere said":      func(t *testing.T) string { t.Setenv("TMPDIR", t.TempDir()); return "" },
		"host and port":     freeAddress,
		"a named host":      func(t *testing.T) string { return strings.Replace(freeAddress(t), "127.0.0.1", "localhost", 1) },
		"a directory":       func(t *testing.T) string { return "file://" + filepath.ToSlash(t.TempDir()) },
		"a stale directory": func(t *testing.T) string { return "file://" + filepath.ToSlash(staleDir(t)) },
	}
	for name, place := range places {
		for _, size := range []int{2, 4, 10} {
			t.Run(fmt.Sprint(name, ", ", size, " ranks"), func(t *testing.T) {
				checkAgreement(t, resolveAll(t.Context(), job(size, envRendezvous, place(t))))
			})
		}
	}
}

// staleDir is a directory with the address that an earlier run of the job has left, where another service listens by now.
func staleDir(t *testing.T) string {
	dir := t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Write([]byte("220 mail.example.com ready\r\n"))
			conn.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	if err := os.WriteFile(filepath.Join(dir, fileName("job 1")), []byte(l.Addr().String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestNothingIsLeftBehind(t *testing.T) {
	dir := t.TempDir()
	checkAgreement(t, resolveAll(t.Context(), job(4, envRendezvous, "file://"+filepath.ToSlash(dir))))
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("the meeting left %v, error %v", left, err)
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

func TestMissingRanksAreNamed(t *testing.T) {
	m := job(6, envRendezvous, freeAddress(t))[0]
	m.Timeout = 50 * time.Millisecond
	_, err := m.Resolve(t.Context())
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "rank 0 waited at "+m.Getenv(envRendezvous)) ||
		!strings.HasSuffix(err.Error(), "missing: rank 1, 2, 3, 4, 5") {
		t.Errorf("error %v", err)
	}
}

// Those who have come are told who has not.
func TestMissingRanksAreToldToTheOthers(t *testing.T) {
	table := &table{meeting: meeting{world: world{size: 4}, place: fixedPlace("node0:1")}, calls: make([]call, 4)}
	theirs, ours := net.Pipe()
	defer theirs.Close()
	if err := table.add(call{ours, hello{Rank: 2}}); err != nil {
		t.Fatal(err)
	}
	err := table.gaveUp(context.DeadlineExceeded)
	told := make(chan error)
	go func() { told <- table.answer(answer{Error: err.Error(), Final: true}) }()
	var a answer
	if err := receiveMessage(theirs, &a); err != nil {
		t.Fatal(err)
	}
	if err := <-told; err != nil {
		t.Error(err)
	}
	_, err = a.result(4)
	const want = "rank 0 called the rendezvous off: rank 0 waited at node0:1 for all 4 ranks: context deadline exceeded; missing: rank 1, 3"
	if err == nil || err.Error() != want {
		t.Errorf("rank 2 is told %v, want %q", err, want)
	}
}

func TestRankZeroIsMissing(t *testing.T) {
	at := freeAddress(t)
	m := job(2, envRendezvous, at)[1]
	m.Timeout = 200 * time.Millisecond
	_, err := m.Resolve(t.Context())
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "rank 1 of 2 did not get through to rank 0 at "+at) {
		t.Errorf("error %v", err)
	}
}

func TestCancelEndsTheMeeting(t *testing.T) {
	why := errors.New("the user pressed ^C")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	for r, o := range resolveAll(ctx, job(4, envRendezvous, freeAddress(t))) {
		if o.err == nil {
			t.Errorf("rank %d met nobody and is %v", r, o.id)
		}
	}
	m := job(2, envRendezvous, "file://"+filepath.ToSlash(t.TempDir()))[1]
	if _, err := m.Resolve(ctx); !errors.Is(err, why) {
		t.Errorf("error %v does not give the cause", err)
	}
}

func TestTwoProcessesOfOneRank(t *testing.T) {
	makers := job(4, envRendezvous, freeAddress(t))
	all := resolveAll(t.Context(), []MPISymmetric{makers[0], makers[1], makers[1]})
	if err := all[0].err; err == nil || !strings.Contains(err.Error(), "two processes say that they are rank 1") {
		t.Errorf("rank 0: error %v", err)
	}
	for _, o := range all[1:] {
		if o.err == nil || !strings.Contains(o.err.Error(), "rank 0 called the rendezvous off") {
			t.Errorf("rank 1: error %v", o.err)
		}
	}
}

func TestSomeoneListensAtTheRendezvous(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = job(2, envRendezvous, l.Addr().String())[0].Resolve(t.Context())
	if err == nil || !strings.Contains(err.Error(), "rank 0 can't listen for the others") || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Errorf("error %v", err)
	}
}

// Strangers at the door — silent, noisy, of another job, size, version or rank — do not keep the ranks from meeting.
func TestStrangers(t *testing.T) {
	m := meeting{world: world{rank: 0, size: 2, job: "mine"}, port: 6001, place: newDoor(t)}
	type result struct {
		endpoints []string
		err       error
	}
	done := make(chan result)
	go func() {
		endpoints, err := m.run(t.Context())
		done <- result{endpoints, err}
	}()
	address, _ := m.place.address()

	silent, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	noisy, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer noisy.Close()
	noisy.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
	mine := hello{meetingVersion, "mine", 1, 2, "127.0.0.1", 0}
	for _, tt := range []struct {
		change func(h *hello)
		want   string
	}{
		{func(h *hello) { h.Version = 9 }, "rank 0 speaks version 1 of the rendezvous, the caller version 9"},
		{func(h *hello) { h.Job = "yours" }, `here meets job "mine", not job "yours"`},
		{func(h *hello) { h.Size = 4 }, "here meet 2 ranks, the caller says 4"},
		{func(h *hello) { h.Rank = 0 }, "no rank 0 with port 0 can be among 2"},
		{func(h *hello) { h.Rank = 2 }, "no rank 2"},
		{func(h *hello) { h.Rank = -1 }, "no rank -1"},
		{func(h *hello) { h.Port = 80 }, "no rank 1 with port 80"},
	} {
		h := mine
		tt.change(&h)
		if a := knock(t, address, h); a.Final || !strings.Contains(a.Error, tt.want) {
			t.Errorf("hello %+v is answered by %+v, want %q", h, a, tt.want)
		}
	}
	want := []string{"127.0.0.1:6001", ""}
	if a := knock(t, address, mine); a.Error != "" || !slices.Equal(a.Endpoints, want) {
		t.Errorf("the rank that was waited for is answered by %+v", a)
	}
	if r := <-done; r.err != nil || !slices.Equal(r.endpoints, want) {
		t.Errorf("rank 0 got %v, error %v", r.endpoints, r.err)
	}
}

// knock says hello and hears the answer.
func knock(t *testing.T, address string, h hello) (a answer) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := send(conn, h); err != nil {
		t.Fatal(err)
	}
	if err := receiveMessage(conn, &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// door is a place that is open before the meeting starts.
type door struct{ net.Listener }

func newDoor(t *testing.T) door {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return door{l}
}

func (d door) open(context.Context) (net.Listener, func(), error) { return d.Listener, func() {}, nil }
func (d door) address() (string, error)                           { return d.Addr().String(), nil }
func (d door) String() string                                     { return d.Addr().String() }

// fakeConn is a connection that only has ends.
type fakeConn struct {
	net.Conn
	local string
}

func (f fakeConn) LocalAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(f.local), Port: 1} }

// Who calls rank 0 over loopback is on its machine; the others need another address for it.
func TestEndpointsAcrossMachines(t *testing.T) {
	caller := func(local, host string, port int) call {
		return call{fakeConn{local: local}, hello{Host: host, Port: port}}
	}
	tests := []struct {
		name, host string
		calls      []call
		want       []string
	}{
		{"one machine", "", []call{{}, caller("127.0.0.1", "127.0.0.1", 0), caller("127.0.0.1", "127.0.0.1", 7), caller("127.0.0.1", "127.0.0.1", 0)},
			[]string{"127.0.0.1:5", "", "127.0.0.1:7", ""}},
		{"two machines", "", []call{{}, caller("127.0.0.1", "127.0.0.1", 0), caller("10.0.0.1", "10.0.0.2", 7), caller("10.0.0.1", "10.0.0.2", 0)},
			[]string{"10.0.0.1:5", "", "10.0.0.2:7", ""}},
		{"two servers at rank 0's", "", []call{{}, caller("10.0.0.1", "10.0.0.2", 0), caller("127.0.0.1", "127.0.0.1", 7), caller("127.0.0.1", "127.0.0.1", 0)},
			[]string{"10.0.0.1:5", "", "10.0.0.1:7", ""}},
		{"named host", "node0", []call{{}, caller("10.0.0.1", "10.0.0.2", 0), caller("10.0.0.1", "node1", 7), caller("::1", "::1", 0)},
			[]string{"node0:5", "", "node1:7", ""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := meeting{world: world{size: len(tt.calls)}, host: tt.host, port: 5}
			got := (&table{meeting: m, calls: tt.calls}).endpoints()
			if !slices.Equal(got, tt.want) {
				t.Errorf("endpoints %q, want %q", got, tt.want)
			}
		})
	}
}

func TestAnswersOfTheWrongSize(t *testing.T) {
	if _, err := (answer{Endpoints: []string{"a:1"}}).result(2); err == nil || !strings.Contains(err.Error(), "knows 1 of 2 ranks") {
		t.Errorf("error %v", err)
	}
}

// TestHostByDirectory: rank 0 is looked for at the name that it was given, where it tells of itself in a directory.
func TestHostByDirectory(t *testing.T) {
	makers := job(2, envRendezvous, "file://"+filepath.ToSlash(t.TempDir()))
	makers[0].Host = "192.0.2.9" // an address that no machine has
	for i := range makers {
		makers[i].Timeout = 300 * time.Millisecond
	}
	if err := resolveAll(t.Context(), makers)[1].err; err == nil || !strings.Contains(err.Error(), "192.0.2.9") {
		t.Errorf("rank 1 looked for rank 0 elsewhere: %v", err)
	}
}

func TestHost(t *testing.T) {
	makers := job(4, envRendezvous, freeAddress(t))
	makers[0].Host, makers[2].Host = "node0", "node1"
	all := resolveAll(t.Context(), makers)
	for r, o := range all {
		if o.err != nil || len(o.id.Servers) != 2 ||
			!strings.HasPrefix(o.id.Servers[0], "node0:") || !strings.HasPrefix(o.id.Servers[1], "node1:") {
			t.Errorf("rank %d: %v, error %v", r, o.id, o.err)
		}
	}
}
