package rolemaker

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestMeetingPlaces(t *testing.T) {
	one, several := world{oneMachine: true, job: "1"}, world{job: "1"}
	dir := filepath.ToSlash(t.TempDir())
	tests := []struct {
		where string
		w     world
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
		_, err := meetingPlace(tt.where, "", tt.w)
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%q: %v", tt.where, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%q: error %v, want %q", tt.where, err, tt.want)
		}
	}
}

func TestSeveralMachinesNeedARendezvous(t *testing.T) {
	for r := range 2 {
		_, err := MPISymmetric{Getenv: ranks(r, 2, "OMPI_COMM_WORLD_LOCAL_SIZE", "1")}.Resolve(t.Context())
		if !errors.Is(err, errNoRendezvous) {
			t.Errorf("rank %d: error %v", r, err)
		}
	}
}

func TestMissingDirectory(t *testing.T) {
	where := "file://" + filepath.ToSlash(filepath.Join(t.TempDir(), "none"))
	_, err := MPISymmetric{Getenv: ranks(0, 2), Rendezvous: where}.Resolve(t.Context())
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "rank 0 can't write for the rendezvous") {
		t.Errorf("error %v", err)
	}
}

// A directory in which others can write could hold anybody's address.
func TestDirectoryOfOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permissions are of another kind")
	}
	t.Setenv("TMPDIR", t.TempDir())
	dir := privatePlace(world{}).(filePlace).dir
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for r, o := range resolveAll(t.Context(), job(2)) {
		if o.err == nil || !strings.Contains(o.err.Error(), "is not a directory of this user's alone") {
			t.Errorf("rank %d: %v, error %v", r, o.id, o.err)
		}
	}
}

// Ranks that a launcher starts by way of shells have no parent in common, and must be told where to meet.
func TestRankOfAnotherParent(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	p := privatePlace(world{}).(filePlace)
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := p.address(); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "set FLEET_RENDEZVOUS") {
		t.Errorf("error %v", err)
	}
}

func TestAddressOfRubbish(t *testing.T) {
	p := filePlace{dir: t.TempDir(), name: "x"}
	for _, text := range []string{"", "nonsense", "127.0.0.1", strings.Repeat("x", 5000)} {
		if err := os.WriteFile(p.String(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if a, err := p.address(); err == nil {
			t.Errorf("a file with %.20q gives the address %q", text, a)
		}
	}
}

func TestHoldPort(t *testing.T) {
	a, err := holdPort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
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

func TestJob(t *testing.T) {
	tests := []struct {
		vars map[string]string
		want string
	}{
		{map[string]string{}, ""},
		{map[string]string{"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "2"}, "slurm.7.2"},
		{map[string]string{"SLURM_JOB_ID": "7", "PMIX_NAMESPACE": "n"}, "n"},
		{map[string]string{"OMPI_MCA_ess_base_jobid": "9"}, "9"},
	}
	for _, tt := range tests {
		if got := env(func(n string) string { return tt.vars[n] }).job(); got != tt.want {
			t.Errorf("%v is job %q, want %q", tt.vars, got, tt.want)
		}
	}
}

func TestOneMachine(t *testing.T) {
	slurm := func(nodes string) map[string]string {
		return map[string]string{"SLURM_STEP_ID": "0", "SLURM_PROCID": "0", "SLURM_NTASKS": "2", "SLURM_NNODES": nodes}
	}
	tests := []struct {
		vars map[string]string
		want bool
	}{
		{map[string]string{"PMI_RANK": "0", "PMI_SIZE": "4", "MPI_LOCALNRANKS": "4"}, true},
		{map[string]string{"PMI_RANK": "0", "PMI_SIZE": "4", "MPI_LOCALNRANKS": "2"}, false},
		{map[string]string{"PMI_RANK": "0", "PMI_SIZE": "4"}, false},
		{map[string]string{"MV2_COMM_WORLD_RANK": "0", "MV2_COMM_WORLD_SIZE": "2", "MV2_COMM_WORLD_LOCAL_SIZE": "2"}, true},
		{slurm("1"), true},
		{slurm("2"), false},
		{slurm(""), false},
	}
	for _, tt := range tests {
		w, err := env(func(n string) string { return tt.vars[n] }).world()
		if err != nil || w.oneMachine != tt.want {
			t.Errorf("%v: one machine %v, error %v", tt.vars, w.oneMachine, err)
		}
	}
}

// Whatever arrives: no panic, no memory for what is only claimed, and what is understood can be said again.
func FuzzReceiveMessage(f *testing.F) {
	var b bytes.Buffer
	send(&b, hello{meetingVersion, "job", 1, 2, "127.0.0.1", 0})
	f.Add(b.Bytes())
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{0, 0, 0, 9, '{'})
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var first, again hello
		if receiveMessage(bytes.NewReader(data), &first) != nil {
			return
		}
		var b bytes.Buffer
		if err := send(&b, first); err != nil {
			t.Fatal(err)
		}
		if err := receiveMessage(&b, &again); err != nil || again != first {
			t.Fatalf("%+v came back as %+v, error %v", first, again, err)
		}
	})
}

func TestReceiveMessageRefuses(t *testing.T) {
	for _, data := range []string{"", "\x00\x00", "\x00\x00\x00\x05{}", "\x00\x40\x00\x01", "\x00\x00\x00\x01{", "\xff\xff\xff\xff{}"} {
		var h hello
		if err := receiveMessage(strings.NewReader(data), &h); err == nil {
			t.Errorf("%q is taken for %+v", data, h)
		}
	}
	large, err := json.Marshal(strings.Repeat("x", maxMessage))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	send(&b, json.RawMessage(large))
	if err := receiveMessage(&b, new(string)); err == nil || !strings.Contains(err.Error(), "is no message of the rendezvous") {
		t.Errorf("a message over the bound: error %v", err)
	}
}
