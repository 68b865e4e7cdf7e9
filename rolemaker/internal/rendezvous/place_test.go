package rendezvous

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

func TestMeetingPlaces(t *testing.T) {
	one, several := Process{OneMachine: true, Job: "1"}, Process{Job: "1"}
	dir := filepath.ToSlash(t.TempDir())
	tests := []struct {
		where string
		p     Process
		want  string // of the error; "" if there is none
	}{
		{"node0:29500", several, ""},
		{"127.0.0.1:29500", one, ""},
		{"file://" + dir, several, ""},
		{"", one, ""},
		{"", several, "set FLEET_RENDEZVOUS on all of them to host:port of rank 0"},
		{"node0", several, `FLEET_RENDEZVOUS is "node0"; it must be host:port of rank 0 or file:///dir`},
		{"unix:/tmp/x", one, `FLEET_RENDEZVOUS is "unix:/tmp/x"`},
		{"node0:0", several, `FLEET_RENDEZVOUS is "node0:0"`},
		{"file://shared/dir", several, `FLEET_RENDEZVOUS is "file://shared/dir"; a directory is file:///dir`},
		{"file:dir", several, `FLEET_RENDEZVOUS is "file:dir"`},
		{"file:///%zz", several, `FLEET_RENDEZVOUS is "file:///%zz"`},
	}
	for _, tt := range tests {
		tt.p.Where = tt.where
		_, err := tt.p.meetingPlace()
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%q: %v", tt.where, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%q: error %v, want %q", tt.where, err, tt.want)
		}
	}
}

// Ranks that a launcher starts by way of shells have no parent in common, and must be told where to meet.
func TestRankOfAnotherParent(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	p := Process{}.privatePlace()
	law.Check(t, os.Mkdir(p.dir, 0o700))
	if _, err := p.address(); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "set FLEET_RENDEZVOUS") {
		t.Errorf("error %v", err)
	}
}

func TestAddressOfRubbish(t *testing.T) {
	p := filePlace{dir: t.TempDir(), name: "x"}
	for _, text := range []string{"", "nonsense", "127.0.0.1", strings.Repeat("x", 5000)} {
		law.Check(t, os.WriteFile(p.String(), []byte(text), 0o600))
		if a, err := p.address(); err == nil {
			t.Errorf("a file with %.20q gives the address %q", text, a)
		}
	}
}

func TestHoldPort(t *testing.T) {
	a, err := holdPort(t.Context())
	law.Check(t, err)
	defer a.Close()
	port := a.Addr().(*net.TCPAddr).Port
	if port < firstPort || port > lastPort {
		t.Logf("port %d is of the system's choice", port)
	}
	if l, err := net.Listen("tcp", endpoint("", port)); err == nil {
		l.Close()
		t.Errorf("port %d is held, but another could listen there", port)
	}
}

func TestOwnHost(t *testing.T) {
	if h := ownHost(true); h != "127.0.0.1" {
		t.Errorf("on one machine it is %s", h)
	}
	if h := ownHost(false); net.ParseIP(h) == nil {
		t.Errorf("among several it is %q, no address", h)
	}
}
