package rendezvous

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// Those who have come are told who has not.
func TestMissingRanksAreToldToTheOthers(t *testing.T) {
	all := &callers{meeting: meeting{Process: Process{Size: 4}, place: fixedPlace("node0:1")}, calls: make([]call, 4)}
	theirs, ours := net.Pipe()
	defer theirs.Close()
	law.Check(t, all.add(call{ours, hello{Rank: 2}}))
	err := all.gaveUp(context.DeadlineExceeded)
	told := make(chan error)
	go func() { told <- all.answer(answer{Error: err.Error(), Final: true}) }()
	var a answer
	law.Check(t, receiveMessage(theirs, &a))
	if err := <-told; err != nil {
		t.Error(err)
	}
	_, err = a.result(4)
	const want = "rank 0 called the rendezvous off: rank 0 waited at node0:1 for all 4 ranks: context deadline exceeded; missing: rank 1, 3"
	if err == nil || err.Error() != want {
		t.Errorf("rank 2 is told %v, want %q", err, want)
	}
}

// Strangers at the door — silent, noisy, of another job, size, version or rank — do not keep the ranks from meeting.
func TestStrangers(t *testing.T) {
	m := meeting{Process: Process{Rank: 0, Size: 2, Job: "mine"}, port: 6001, place: newDoor(t)}
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
	law.Check(t, err)
	defer silent.Close()
	noisy, err := net.Dial("tcp", address)
	law.Check(t, err)
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
		{func(h *hello) { h.Port = 65536 }, "no rank 1 with port 65536"},
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
	law.Check(t, err)
	defer conn.Close()
	law.Check(t, send(conn, h))
	law.Check(t, receiveMessage(conn, &a))
	return a
}

// door is a place that is open before the meeting starts.
type door struct{ net.Listener }

func newDoor(t *testing.T) door {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	law.Check(t, err)
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
			m := meeting{Process: Process{Size: len(tt.calls), Host: tt.host}, port: 5}
			got := (&callers{meeting: m, calls: tt.calls}).endpoints()
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
