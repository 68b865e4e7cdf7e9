package main

import (
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/certs"
	"github.com/gofleet/gofleet/internal/porttest"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/transport"
	"github.com/gofleet/gofleet/transport/codec"
)

// examined is what doctor says with a command line, in the environment of a worker of some servers.
func examined(t *testing.T, args string, servers ...string) *doctor {
	t.Helper()
	d, err := parseDoctor(strings.Fields(args))
	if err == nil {
		err = d.admit([]string{"TRAINING_ROLE=TRAINER", "PADDLE_TRAINER_ID=0", "PADDLE_TRAINERS_NUM=1", "PADDLE_PSERVERS_IP_PORT_LIST=" + strings.Join(servers, ",")})
	}
	if err != nil {
		t.Fatal(err)
	}
	d.examine(t.Context())
	return d
}

// value is what a line of a section says.
func (d *doctor) value(section, name string) (all string) {
	for _, s := range d.Sections {
		for _, l := range s.Lines {
			if s.Title == section && l.Name == name {
				all += l.Value
			}
		}
	}
	return all
}

// serves starts a server that refuses whoever has not said hello, as servers do, and returns its endpoint and what it was asked.
func serves(t *testing.T, server *transport.FastHTTP) (endpoint string, asked *[]wire.Op) {
	t.Helper()
	plain, err := codec.ByName("none")
	if err != nil {
		t.Fatal(err)
	}
	server.Logger = slog.New(slog.DiscardHandler)
	l, err := transport.Compressed(server, plain, 0).Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	asked = new([]wire.Op)
	ended := make(chan error)
	go func() {
		ended <- l.Serve(func(req []byte, reply *transport.Reply) {
			var f wire.Frame
			if err := f.Parse(req); err != nil {
				t.Error(err)
			}
			*asked = append(*asked, f.Op)
			var b wire.Builder
			b.Reset(wire.Header{Op: f.Op, Status: wire.StatusNotReady})
			b.Blob([]byte("worker 0 has not said hello to server 3"))
			reply.Parts = b.Parts()
		})
	}()
	t.Cleanup(func() {
		if err := l.Close(t.Context()); err != nil {
			t.Log(err)
		}
		<-ended
	})
	return l.Endpoint(), asked
}

// TestDoctorAsksPeers: a server is asked for a sign of life alone; who is no gofleet server, or of another cluster, or has another token
// is missing; who isn't there yet is noted.
//
// Promise: [G12] `fleetrun doctor` joins no job: a server is asked for a sign of life, which it refuses; and it shows
// no secret
// Also: TestScripts
func TestDoctorAsksPeers(t *testing.T) {
	// Serial: it sets variables of the environment.
	endpoint, asked := serves(t, &transport.FastHTTP{Token: "sesame", Cluster: "blue"})
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	stranger := web.Listener.Addr().String()
	nobody := porttest.Free(t, 1)[0]

	t.Setenv("FLEET_TOKEN", "sesame")
	t.Setenv("FLEET_CLUSTER", "blue")
	d := examined(t, "--timeout=5s", endpoint, stranger, nobody)
	if got := d.value("peers", "server 0"); !strings.Contains(got, ": a gofleet server (worker 0 has not said hello to server 3)") {
		t.Errorf("server 0: %s", got)
	}
	if !slices.Equal(*asked, []wire.Op{wire.OpHeartbeat}) {
		t.Errorf("it was asked for %v", *asked)
	}
	if len(d.Missing) != 1 || !strings.HasPrefix(d.Missing[0], "server 1, "+stranger+": refused: not a gofleet server") {
		t.Errorf("missing: %q", d.Missing)
	}
	if len(d.Notes) != 1 || !strings.HasPrefix(d.Notes[0], "server 2, "+nobody+": nobody listens there: start it") {
		t.Errorf("notes: %q", d.Notes)
	}

	t.Setenv("FLEET_TOKEN", "")
	if d := examined(t, "", endpoint); len(d.Missing) != 1 || !strings.Contains(d.Missing[0], "wrong token; set the same FLEET_TOKEN") {
		t.Errorf("with no token: %q", d.Missing)
	}
	t.Setenv("FLEET_TOKEN", "sesame")
	t.Setenv("FLEET_CLUSTER", "green")
	if d := examined(t, "", endpoint); len(d.Missing) != 1 || !strings.Contains(d.Missing[0], `belongs to cluster "blue", the client to "green"`) {
		t.Errorf("with another cluster: %q", d.Missing)
	}
	if len(*asked) != 1 {
		t.Errorf("strangers have come as far as %v", *asked)
	}
}

// TestDoctorAsksNobodyInPlaintext: what would leave the machine unguarded is said before it is sent.
func TestDoctorAsksNobodyInPlaintext(t *testing.T) {
	t.Parallel()
	d := examined(t, "--timeout=1s", "192.0.2.1:36000", "no.such.host.invalid:36000")
	missing := strings.Join(d.Missing, "\n")
	if len(d.Missing) != 2 || !strings.Contains(missing, "plaintext may not leave this machine; set FLEET_TLS_DIR") || !strings.Contains(missing, "server 1, no.such.host.invalid:36000: its name does not resolve") {
		t.Errorf("missing: %s", missing)
	}
}

// TestDoctorsTimeout: who accepts a connection and says nothing is given up.
func TestDoctorsTimeout(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if d := examined(t, "--timeout=50ms", l.Addr().String()); len(d.Missing) != 1 || !strings.Contains(d.Missing[0], "no answer within 50ms") {
		t.Errorf("missing: %q", d.Missing)
	}
}

// TestDoctorReadsCertificates: those that are valid, for other hosts, no longer valid, and not there.
func TestDoctorReadsCertificates(t *testing.T) {
	// Serial: it sets variables of the environment.
	server := "--servers=127.0.0.5:36007 --workers=127.0.0.5"
	for _, c := range []struct {
		lifetime      time.Duration
		hosts         []string
		said, missing string
	}{
		{time.Hour, []string{"127.0.0.5", "node-a"}, "for localhost node-a 127.0.0.1 ::1 127.0.0.5", ""},
		{time.Hour, []string{"127.0.0.6"}, "127.0.0.6", "server 0 is called at 127.0.0.5:36007, and its certificate is for others: "},
		{-time.Minute, []string{"127.0.0.5"}, "until", "has expired"},
	} {
		authority, err := certs.New(c.lifetime)
		dir := filepath.Join(t.TempDir(), "tls")
		if err == nil {
			err = authority.WriteDir(dir, c.hosts...)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("FLEET_TLS_DIR", dir)
		d := examined(t, server)
		if got := d.value("security", "certificate"); !strings.Contains(got, c.said) {
			t.Errorf("%v: it says %s", c.hosts, got)
		}
		if missing := strings.Join(d.Missing, "\n"); !strings.Contains(missing, c.missing) || (missing == "") != (c.missing == "") {
			t.Errorf("%v: missing %s", c.hosts, missing)
		}
	}
	t.Setenv("FLEET_TLS_DIR", t.TempDir())
	if d := examined(t, ""); !strings.Contains(strings.Join(d.Missing, "\n"), "TLS directory") {
		t.Errorf("missing: %q", d.Missing)
	}
}

// TestDoctorListensWhereItIsTold: behind NAT the endpoint is not what a server listens at.
func TestDoctorListensWhereItIsTold(t *testing.T) {
	// Serial: it sets variables of the environment.
	port := strings.TrimPrefix(porttest.Free(t, 1)[0], "127.0.0.1")
	t.Setenv("FLEET_LISTEN", "127.0.0.1"+port)
	t.Setenv("POD_IP", "192.0.2.7")
	t.Setenv("FLEET_INSECURE", "1")
	d := examined(t, "--servers=192.0.2.7"+port+" --workers=192.0.2.7")
	if got := d.value("peers", "server 0 here"); got != "192.0.2.7"+port+": free to listen at, where FLEET_LISTEN says: 127.0.0.1"+port {
		t.Errorf("%s, missing %q", got, d.Missing)
	}
}

// TestDoctorsDirectories: what is written is taken away again.
func TestDoctorsDirectories(t *testing.T) {
	t.Parallel()
	there := t.TempDir()
	d := examined(t, "--checkpoint="+there+" --journal=s3://bucket/journal")
	if got := d.value("directories", "checkpoint"); !strings.Contains(got, there+": writable, ") || !strings.Contains(got, "a file is on the disk in ") {
		t.Errorf("checkpoint: %s", got)
	}
	if !strings.Contains(strings.Join(d.Missing, "\n"), `--journal=s3://bucket/journal: "s3://bucket/journal" is not a path on this machine`) {
		t.Errorf("missing: %q", d.Missing)
	}
	if left, err := filepath.Glob(filepath.Join(there, "*")); err != nil || len(left) > 0 {
		t.Errorf("%q is left, %v", left, err)
	}
	if left, err := filepath.Glob(filepath.Join(there, ".*")); err != nil || len(left) > 0 {
		t.Errorf("%q is left, %v", left, err)
	}
}

// TestDoctorLeavesStores: what lies in a store is the program's to know, and nothing that is missing.
func TestDoctorLeavesStores(t *testing.T) {
	t.Parallel()
	d := examined(t, "--checkpoint=s3://bucket/job prog -out=s3://bucket/out -load=s3://bucket/job/ckpt-000001")
	for flag, url := range map[string]string{"checkpoint": "s3://bucket/job", "out": "s3://bucket/out", "load": "s3://bucket/job/ckpt-000001"} {
		if got := d.value("directories", flag); !strings.HasPrefix(got, url+": in a store") {
			t.Errorf("%s: %q", flag, got)
		}
	}
	if said := strings.Join(append(d.Missing, d.Notes...), "\n"); strings.Contains(said, "s3://") {
		t.Errorf("told: %s", said)
	}
}

// TestDoctorAsJSON: a program reads the same.
func TestDoctorAsJSON(t *testing.T) {
	t.Parallel()
	var f findings
	if err := json.Unmarshal([]byte(does(t, 0, "doctor --json")), &f); err != nil {
		t.Fatal(err)
	}
	if len(f.Sections) < 5 || f.Sections[0].Title != "role" || f.Missing == nil || len(f.Missing) > 0 {
		t.Errorf("it is %+v", f)
	}
}

// TestDoctorFindsNoPeersOfRanks: ranks of MPI learn the servers when they meet, which doctor doesn't bring about.
func TestDoctorFindsNoPeersOfRanks(t *testing.T) {
	t.Parallel()
	d, err := parseDoctor(nil)
	if err == nil {
		err = d.admit([]string{"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=4"})
	}
	if err != nil {
		t.Fatal(err)
	}
	d.examine(t.Context())
	if got := d.value("role", "role maker"); !strings.HasPrefix(got, "rolemaker.MPISymmetric, found in the environment: OMPI") ||
		d.value("role", "this process") != "worker 0, of 2 workers and 2 servers, whose endpoints are known when the ranks have met" || len(d.Missing) > 0 || d.Sections[1].Title != "clock" {
		t.Errorf("%s, missing %q, sections %v", got, d.Missing, d.Sections)
	}
}

// TestDoctorReadsAProgramsFlags: the last of a flag, with one dash or two, and the value beside it or behind it.
func TestDoctorReadsAProgramsFlags(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"": "", "-checkpoint=a": "a", "--checkpoint=a": "a", "-epochs 3 -checkpoint a": "a", "-checkpoint -out=b": "", "-checkpoints=a": "",
		"checkpoint=a": "", "-checkpoint=a -checkpoint b": "b", "-checkpoint=": "", "-x -- -checkpoint=a": "", "-checkpoint": "",
	} {
		if got := flagOf(strings.Fields(line), "checkpoint"); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// TestDoctorJudgesFileSystems: what does not suit what a directory is for is noted.
func TestDoctorJudgesFileSystems(t *testing.T) {
	// Serial: it sets variables of the environment.
	t.Setenv("FLEET_INSECURE", "1")
	ext4, nfs, memory := system{"ext4", ownSystem}, system{"nfs", sharedSystem}, system{"tmpfs", ownSystem}
	far, near := []string{"127.0.0.1:1", "192.0.2.1:1"}, []string{"127.0.0.1:1", "127.0.0.2:1", "localhost:1"}
	for _, c := range []struct {
		flag    string
		on      system
		servers []string
		want    string
	}{
		{"checkpoint", ext4, far, "is on a file system of this machine's own (ext4), and the job has roles on others"},
		{"checkpoint", nfs, far, ""}, {"checkpoint", ext4, near, ""}, {"checkpoint", system{}, far, ""}, {"out", ext4, far, ""},
		{"checkpoint", memory, near, "is in memory (tmpfs)"}, {"journal", memory, near, "is in memory (tmpfs)"}, {"out", memory, near, ""},
		{"journal", nfs, near, "is on a file system of the network (nfs)"}, {"journal", ext4, far, ""},
	} {
		d := examined(t, "--timeout=1ms", c.servers...)
		d.Notes, d.Missing = nil, nil
		d.judge(folder{c.flag, t.TempDir()}, c.on)
		if got := strings.Join(append(d.Notes, d.Missing...), "\n"); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s on %v: %q does not say %q", c.flag, c.on, got, c.want)
		}
	}
}

// TestDoctorLooksAtCheckpoints: what a job would go on from is shown, and a directory that it would not go on from is missing.
func TestDoctorLooksAtCheckpoints(t *testing.T) {
	t.Parallel()
	dir := saved(t)
	alone := porttest.Free(t, 1)[0]
	d := examined(t, "--checkpoint="+dir, alone)
	if got := d.value("directories", "goes on from"); got != filepath.Join(dir, "ckpt-000002")+", of update 41" || len(d.Missing) > 0 {
		t.Errorf("it goes on from %q, missing %q", got, d.Missing)
	}
	itself := filepath.Join(dir, "ckpt-000001")
	if d = examined(t, "./prog -checkpoint="+itself, alone); !strings.Contains(strings.Join(d.Missing, "\n"), "ckpt-000001 is a checkpoint itself") {
		t.Errorf("missing %q", d.Missing)
	}
	d = examined(t, "./prog -checkpoint "+itself+" -load "+itself, alone)
	if got := d.value("directories", "load"); got != itself+": there" || strings.Contains(strings.Join(d.Missing, "\n"), "itself") {
		t.Errorf("load is %q, missing %q", got, d.Missing)
	}
	d = examined(t, "./prog -load="+dir, alone)
	if notes := strings.Join(d.Notes, "\n"); !strings.Contains(notes, "it holds no checkpoint itself: did you mean "+dir) {
		t.Errorf("notes %q", notes)
	}
}

// TestDoctorInAPod: where a pod looks for names is shown, names are waited for, and what announces them is said.
func TestDoctorInAPod(t *testing.T) {
	// Serial: it sets variables of the environment.
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
	t.Setenv("FLEET_INSECURE", "1")
	d, err := parseDoctor([]string{"--timeout=100ms"})
	if err == nil {
		err = d.admit([]string{"FLEET_SERVERS=ps-{0..1}.no.such.host.invalid", "FLEET_WORKERS=1", "HOSTNAME=ps-1"})
	}
	if err != nil {
		t.Fatal(err)
	}
	d.examine(t.Context())
	missing := strings.Join(d.Missing, "\n")
	if d.value("role", "this process") != "server 1 of 2 at ps-1.no.such.host.invalid:36000, 1 workers" || d.value("pod", "search domains") == "" ||
		d.value("pod", "own name") != "ps-1.no.such.host.invalid:36000 does not resolve" ||
		!strings.Contains(missing, "its own name does not resolve") || !strings.Contains(missing, "publishNotReadyAddresses: true") {
		t.Errorf("missing: %s\n%+v", missing, d.Sections)
	}
	if got := searched("nameserver 10.96.0.10\nsearch ns.svc.cluster.local svc.cluster.local\noptions ndots:5\n"); got != "ns.svc.cluster.local svc.cluster.local" {
		t.Errorf("search domains: %s", got)
	}
}

// TestDoctorInWordsOfRoleMakers: notes, what processes that meet know before, and a refused mixture.
func TestDoctorInWordsOfRoleMakers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ env, said, note, missing string }{
		{"JOB_COMPLETION_INDEX=1 HOSTNAME=wd-1", "worker 0 of 1, alone", "pod wd-1 has JOB_COMPLETION_INDEX=1 and trains alone", ""},
		{"PADDLE_MASTER=m:1 PADDLE_NNODES=4 PADDLE_SERVER_NUM=1 HOSTNAME=pd-master-0", "this is server 0: 4 processes meet at m:1 to find out", "", ""},
		{"FLEET_ROLE=worker FLEET_INDEX=0 RANK=1 WORLD_SIZE=2 FLEET_WORKERS=2", "can't tell who it is", "", "says nowhere how to find the others: set FLEET_RENDEZVOUS"},
		{"TRAINING_ROLE=TRAINER PADDLE_TRAINER_ID=0 PADDLE_TRAINERS_NUM=1 PADDLE_PSERVERS_IP_PORT_LIST=127.0.0.1:1 VC_PS_HOSTS=a,b HOSTNAME=a",
			"can't tell who it is", "", "PaddleCloud says worker 0 of 1, 1 servers (TRAINING_ROLE is TRAINER"},
	} {
		d, err := parseDoctor([]string{"--timeout=100ms"})
		if err == nil {
			err = d.admit(strings.Fields(c.env))
		}
		if err != nil {
			t.Fatal(err)
		}
		d.examine(t.Context())
		missing, notes := strings.Join(d.Missing, "\n"), strings.Join(d.Notes, "\n")
		if !strings.Contains(d.value("role", "this process"), c.said) || !strings.Contains(missing, c.missing) || (missing == "") != (c.missing == "") ||
			!strings.Contains(notes, c.note) {
			t.Errorf("%s: %s, missing %s, notes %s", c.env, d.value("role", "this process"), missing, notes)
		}
	}
}
