package rolemaker

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/porttest"
)

// TestEveryFieldActs holds each field of each role maker to a difference that it makes. A new field has none, and fails.
func TestEveryFieldActs(t *testing.T) {
	three := []string{"a:1", "b:1", "c:1"}
	user := func(change func(*UserDefined)) string {
		u := UserDefined{WorkerNum: 3, ServerEndpoints: []string{"s:1", "t:1"}}
		change(&u)
		return who(u.Identity())
	}
	peer := func(change func(*UserDefinedCollective)) string {
		u := UserDefinedCollective{WorkerEndpoints: three}
		change(&u)
		return who(u.Identity())
	}
	effects := map[string]struct{ got, want string }{
		"UserDefined.CurrentID":       {user(func(u *UserDefined) { u.CurrentID = 2 }), "worker 2 of 3, servers [s:1 t:1], workers []"},
		"UserDefined.Role":            {user(func(u *UserDefined) { u.Role = Server }), "server 0 of 2, servers [s:1 t:1], workers []"},
		"UserDefined.WorkerNum":       {user(func(u *UserDefined) { u.WorkerNum = 5 }), "worker 0 of 5, servers [s:1 t:1], workers []"},
		"UserDefined.ServerEndpoints": {user(func(u *UserDefined) { u.ServerEndpoints = []string{"z:9"} }), "worker 0 of 3, servers [z:9], workers []"},
		"UserDefined.WorkerEndpoints": {user(func(u *UserDefined) { u.WorkerEndpoints = three }), "worker 0 of 3, servers [s:1 t:1], workers [a:1 b:1 c:1]"},

		"UserDefinedCollective.CurrentID":       {peer(func(u *UserDefinedCollective) { u.CurrentID = 2 }), "worker 2 of 3, servers [], workers [a:1 b:1 c:1]"},
		"UserDefinedCollective.WorkerEndpoints": {peer(func(u *UserDefinedCollective) { u.WorkerEndpoints = three[:2] }), "worker 0 of 2, servers [], workers [a:1 b:1]"},

		"PaddleCloud.Getenv": {who(PaddleCloud{Getenv: lookup(envServers, "s:1,t:1", envRole, roleServerValue, envWorkerNum, "3", envServerID, "1")}.Identity()),
			"server 1 of 2, servers [s:1 t:1], workers []"},
		"Collective.Getenv": {who(Collective{Getenv: lookup(envWorkers, "a:1,b:1,c:1", envWorkerID, "2")}.Identity()),
			"worker 2 of 3, servers [], workers [a:1 b:1 c:1]"},
		"TFConfig.Getenv": {who(TFConfig{Getenv: lookup(envTFConfig, `{"cluster":{"ps":["s:1"],"worker":["a:1"]},"task":{"type":"ps"}}`)}.Identity()),
			"server 0 of 1, servers [s:1], workers [a:1]"},
		"Volcano.Getenv": {who(Volcano{Getenv: lookup("VC_PS_HOSTS", "s.j", "VC_WORKER_HOSTS", "a.j,b.j", envHostname, "b")}.Identity()),
			"worker 1 of 2, servers [s.j:36000], workers [a.j:36000 b.j:36000]"},
		"MPISymmetric.Getenv":     {who(MPISymmetric{Getenv: ranks(3, 4)}.Identity()), "worker 1 of 2, servers [ ], workers []"},
		"MPISymmetric.Host":       {hosts(t, func(m *MPISymmetric) { m.Host = "node-a" }), "node-a"},
		"MPISymmetric.Rendezvous": {hosts(t, func(m *MPISymmetric) { m.Rendezvous = "nonsense" }), `FLEET_RENDEZVOUS is "nonsense"`},
		"MPISymmetric.Timeout":    {patience(t, time.Millisecond) + " " + patience(t, time.Hour), "the ranks' time was over, the context was"},
	}
	for _, rm := range []RoleMaker{Local{}, UserDefined{}, UserDefinedCollective{}, PaddleCloud{}, Collective{}, TFConfig{}, Volcano{}, MPISymmetric{}} {
		for f := range reflect.TypeOf(rm).Fields() {
			name := reflect.TypeOf(rm).Name() + "." + f.Name
			e, ok := effects[name]
			delete(effects, name)
			if !ok || !strings.Contains(e.got, e.want) {
				t.Errorf("%s: %q, want %q", name, e.got, e.want)
			}
		}
	}
	for name := range effects {
		t.Errorf("no role maker has %s", name)
	}
}

// who is an identity in words.
func who(id Identity, err error) string {
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%v %d of %d, servers %v, workers %v", id.Role, id.Index, id.peers(), id.Servers, id.WorkerEndpoints)
}

func lookup(pairs ...string) env {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

// hosts lets a server and a worker meet and returns what the worker is told of the server.
func hosts(t *testing.T, change func(*MPISymmetric)) string {
	t.Helper()
	makers := job(2, envRendezvous, porttest.Free(t, 1)[0])
	change(&makers[0])
	if makers[0].Rendezvous != "" {
		return who(makers[0].Resolve(t.Context())) // nobody meets there
	}
	return who(resolveAll(t.Context(), makers)[1].id, nil)
}

// patience says whose time was over when rank 0 had met nobody.
func patience(t *testing.T, timeout time.Duration) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	m := job(2, envRendezvous, porttest.Free(t, 1)[0])[0]
	m.Timeout = timeout
	_, err := m.Resolve(ctx)
	switch {
	case err == nil:
		return "nobody's"
	case ctx.Err() == nil:
		return "the ranks' time was over,"
	}
	return "the context was"
}
