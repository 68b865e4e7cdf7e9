package rendezvous

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
)

// manager is a process manager: a key-value space and a barrier, as MPICH's keeps them.
type manager struct {
	mu      sync.Mutex
	values  map[string]string
	waiting int
	size    int
	all     chan struct{} // closed when everybody is at the barrier
	open    func()        // closes it
}

func newManager(size int) *manager {
	all := make(chan struct{})
	return &manager{values: map[string]string{}, size: size, all: all, open: sync.OnceFunc(func() { close(all) })}
}

// serve answers one rank until it says finalize or hangs up.
func (m *manager) serve(conn net.Conn) {
	defer conn.Close()
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		values, err := parsePMI(lines.Text())
		if err != nil {
			return
		}
		fmt.Fprintln(conn, m.reply(values))
		if values["cmd"] == "finalize" {
			return
		}
	}
}

func (m *manager) reply(v map[string]string) string {
	switch v["cmd"] {
	case "init":
		return "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0"
	case "get_my_kvsname":
		return "cmd=my_kvsname kvsname=kvs_7_0"
	case "put":
		m.put(v["kvsname"]+"/"+v["key"], v["value"])
		return "cmd=put_result rc=0 msg=success"
	case "barrier_in":
		m.arrive()
		return "cmd=barrier_out"
	case "get":
		return m.get(v["kvsname"]+"/"+v["key"], v["key"])
	case "finalize":
		return "cmd=finalize_ack"
	}
	return "cmd=unknown"
}

func (m *manager) put(key, value string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.values[key] = value
}

func (m *manager) get(key, short string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if value, ok := m.values[key]; ok {
		return "cmd=get_result rc=0 msg=success value=" + value
	}
	return "cmd=get_result rc=-1 msg=key_" + short + "_not_found value=unknown"
}

func (m *manager) arrive() {
	m.mu.Lock()
	if m.waiting++; m.waiting == m.size {
		m.open()
	}
	m.mu.Unlock()
	<-m.all
}

// attach gives a rank's end of a connection to the manager.
func (m *manager) attach(t *testing.T) net.Conn {
	theirs, ours := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.serve(ours)
	}()
	t.Cleanup(func() { theirs.Close(); ours.Close(); <-done })
	return theirs
}

func TestExchangeByPMI(t *testing.T) {
	const size = 6
	m := newManager(size)
	want := []string{"h:6000", "", "h:6002", "", "h:6004", ""}
	got := make([][]string, size)
	errs := make([]error, size)
	var wg sync.WaitGroup
	for r := range size {
		conn := m.attach(t)
		wg.Go(func() { got[r], errs[r] = Process{Rank: r, Size: size}.exchangePMI(t.Context(), conn, want[r]) })
	}
	wg.Wait()
	for r := range size {
		if errs[r] != nil || !slices.Equal(got[r], want) {
			t.Errorf("rank %d got %v, error %v", r, got[r], errs[r])
		}
	}
}

// If a rank does not come, the barrier does not open: the deadline does.
func TestExchangeByPMIEnds(t *testing.T) {
	m := newManager(2)
	why := errors.New("time is up")
	ctx, cancel := context.WithCancelCause(t.Context())
	conn := m.attach(t)
	t.Cleanup(m.open) // for the manager's sake
	go cancel(why)
	_, err := Process{Rank: 1, Size: 2}.exchangePMI(ctx, conn, "")
	if !errors.Is(err, why) || !strings.Contains(err.Error(), "some rank has not come") {
		t.Errorf("error %v", err)
	}
}

// script answers each line with the next of its lines and then hangs up.
func script(t *testing.T, lines ...string) net.Conn {
	theirs, ours := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer ours.Close()
		asked := bufio.NewScanner(ours)
		for _, l := range lines {
			if !asked.Scan() {
				return
			}
			fmt.Fprint(ours, l)
		}
		asked.Scan()
	}()
	t.Cleanup(func() { theirs.Close(); <-done })
	return theirs
}

func TestExchangeByPMIRefuses(t *testing.T) {
	const (
		begun = "cmd=response_to_init rc=0\n"
		named = "cmd=my_kvsname kvsname=k\n"
		wrote = "cmd=put_result rc=0\n"
		open  = "cmd=barrier_out\n"
	)
	tests := []struct {
		name  string
		lines []string
		want  string
	}{
		{"hangs up", nil, "no answer to init"},
		{"another version", []string{"cmd=response_to_init rc=-1 msg=version\n"}, "init failed: rc=-1 version"},
		{"another answer", []string{"cmd=hello\n"}, `init is answered by "hello", not by response_to_init`},
		{"rubbish", []string{"hello there\n"}, `"hello" of line "hello there`},
		{"no command", []string{"rc=0\n"}, "a line without cmd"},
		{"endless line", []string{strings.Repeat("x", 2*maxPMILine)}, "buffer full"},
		{"no space", []string{begun, "cmd=my_kvsname rc=1\n"}, "get_my_kvsname failed: rc=1"},
		{"can't put", []string{begun, named, "cmd=put_result rc=-1 msg=no_room\n"}, "put failed: rc=-1 no_room"},
		{"no barrier", []string{begun, named, wrote}, "no answer to barrier_in"},
		{"no value", []string{begun, named, wrote, open, "cmd=get_result rc=-1 msg=not_found\n"}, "endpoint of rank 0: get failed: rc=-1 not_found"},
		{"no end", []string{begun, named, wrote, open, "cmd=get_result rc=0 value=h:1\n", "cmd=get_result rc=0 value=-\n"}, "no answer to finalize"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Process{Rank: 0, Size: 2}.exchangePMI(t.Context(), script(t, tt.lines...), "h:1")
			if err == nil || !strings.Contains(err.Error(), "(PMI_FD)") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// Promise: [G7] no launcher's message panics a process, or makes it allocate more than its bound
// Also: FuzzReceiveMessage, TestStrangers
func FuzzParsePMI(f *testing.F) {
	f.Add("cmd=get_result rc=0 msg=success value=10.0.0.1:61001")
	f.Add("cmd=init pmi_version=1 pmi_subversion=1\n")
	f.Add("cmd= =x cmd=cmd=")
	f.Fuzz(func(t *testing.T, line string) {
		values, err := parsePMI(line)
		if err != nil {
			return
		}
		words := 0
		for key, value := range values {
			if !slices.Contains(strings.Fields(line), key+"="+value) {
				t.Fatalf("%q=%q is not in line %q", key, value, line)
			}
			words++
		}
		if words != len(strings.Fields(line)) || values["cmd"] == "" {
			t.Fatalf("line %q gives %v", line, values)
		}
	})
}
