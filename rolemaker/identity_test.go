package rolemaker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/rolemaker"
)

func pair(role rolemaker.Role, index int) rolemaker.Identity {
	return rolemaker.Identity{
		Role:    role,
		Index:   index,
		Workers: 3,
		Servers: []string{"10.0.0.1:6001", "10.0.0.2:6001"},
	}
}

func TestIdentity(t *testing.T) {
	withWorkers := pair(rolemaker.Worker, 1)
	withWorkers.WorkerEndpoints = []string{"10.0.0.3:1", "10.0.0.3:2", "10.0.0.3:3"}
	alone := rolemaker.Identity{Role: rolemaker.Worker, Workers: 1}
	tests := []struct {
		id                           rolemaker.Identity
		local, worker, server, first bool
		endpoint, text               string
	}{
		{pair(rolemaker.Server, 1), false, false, true, false, "10.0.0.2:6001", "server 1 of 2 at 10.0.0.2:6001, 3 workers"},
		{pair(rolemaker.Server, 0), false, false, true, false, "10.0.0.1:6001", "server 0 of 2 at 10.0.0.1:6001, 3 workers"},
		{pair(rolemaker.Worker, 0), false, true, false, true, "", "worker 0 of 3, servers 10.0.0.1:6001,10.0.0.2:6001"},
		{withWorkers, false, true, false, false, "10.0.0.3:2", "worker 1 of 3, servers 10.0.0.1:6001,10.0.0.2:6001"},
		{alone, true, true, false, true, "", "worker 0 of 1, alone"},
	}
	for _, tt := range tests {
		id := tt.id
		if err := id.Validate(); err != nil {
			t.Errorf("%v: %v", id, err)
		}
		if id.Local() != tt.local || id.IsWorker() != tt.worker || id.IsServer() != tt.server || id.IsFirstWorker() != tt.first {
			t.Errorf("%v: local %v, worker %v, server %v, first worker %v", id, id.Local(), id.IsWorker(), id.IsServer(), id.IsFirstWorker())
		}
		if id.Endpoint() != tt.endpoint || id.String() != tt.text {
			t.Errorf("endpoint %q and text %q, want %q and %q", id.Endpoint(), id, tt.endpoint, tt.text)
		}
	}
}

func TestIdentityValidate(t *testing.T) {
	tests := []struct {
		name   string
		change func(*rolemaker.Identity)
		want   string
	}{
		{"no role", func(id *rolemaker.Identity) { id.Role = 0 }, "role is Role(0)"},
		{"no workers", func(id *rolemaker.Identity) { id.Workers = 0 }, "the number of workers is 0"},
		{"no servers", func(id *rolemaker.Identity) { id.Servers = nil }, "a job of 3 workers has no servers"},
		{"server alone", func(id *rolemaker.Identity) { *id = rolemaker.Identity{Role: rolemaker.Server, Workers: 1} }, "has no servers"},
		{"negative index", func(id *rolemaker.Identity) { id.Index = -1 }, "index of this worker is -1"},
		{"large index", func(id *rolemaker.Identity) { id.Index = 3 }, "index of this worker is 3; want 0 to 2"},
		{"large index of a server", func(id *rolemaker.Identity) { id.Role, id.Index = rolemaker.Server, 2 }, "index of this server is 2; want 0 to 1"},
		{"worker endpoints", func(id *rolemaker.Identity) { id.WorkerEndpoints = []string{"a:1"} }, `1 worker endpoints for 3 workers: ["a:1"]`},
		{"no port", func(id *rolemaker.Identity) { id.Servers[1] = "10.0.0.2" }, `endpoint "10.0.0.2" is not "host:port"`},
		{"no host", func(id *rolemaker.Identity) { id.Servers[1] = ":6001" }, `endpoint ":6001" is not "host:port"`},
		{"unresolved", func(id *rolemaker.Identity) { id.Servers[1] = "" }, `endpoint "" is not`},
		{"port 0", func(id *rolemaker.Identity) { id.Servers[1] = "a:0" }, `has port "0"`},
		{"large port", func(id *rolemaker.Identity) { id.Servers[1] = "a:65536" }, `has port "65536"`},
		{"named port", func(id *rolemaker.Identity) { id.Servers[1] = "a:http" }, `has port "http"`},
		{"twice", func(id *rolemaker.Identity) { id.Servers[1] = id.Servers[0] }, `endpoint "10.0.0.1:6001" is there twice`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			id := pair(rolemaker.Worker, 0)
			tt.change(&id)
			err := id.Validate()
			if err == nil || !strings.HasPrefix(err.Error(), "rolemaker: ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestEndpointsOfEveryKind(t *testing.T) {
	id := pair(rolemaker.Worker, 0)
	id.Servers = []string{"[::1]:6001", "ps-0.ps.default.svc:6001", "unix:/tmp/s", "server-0:1"}
	if err := id.Validate(); err != nil {
		t.Error(err)
	}
}

func TestRole(t *testing.T) {
	for role, want := range map[rolemaker.Role]string{rolemaker.Worker: "worker", rolemaker.Server: "server", 7: "Role(7)"} {
		if got := fmt.Sprint(role); got != want {
			t.Errorf("role %d prints %q, want %q", int(role), got, want)
		}
	}
}

func TestUserDefined(t *testing.T) {
	servers := []string{"127.0.0.1:6001", "127.0.0.1:6002"}
	workers := []string{"127.0.0.1:7001", "127.0.0.1:7002"}
	good := []rolemaker.UserDefined{
		{WorkerNum: 3, ServerEndpoints: servers},
		{CurrentID: 2, Role: rolemaker.Worker, WorkerNum: 3, ServerEndpoints: servers},
		{CurrentID: 1, Role: rolemaker.Server, WorkerNum: 3, ServerEndpoints: servers},
		{CurrentID: 1, ServerEndpoints: servers, WorkerEndpoints: workers},
	}
	for _, u := range good {
		id, err := rolemaker.Resolve(t.Context(), u)
		if err != nil {
			t.Errorf("%+v: %v", u, err)
			continue
		}
		if id.Index != u.CurrentID || len(id.Servers) != 2 || id.Workers != max(u.WorkerNum, len(u.WorkerEndpoints)) ||
			id.IsServer() != (u.Role == rolemaker.Server) {
			t.Errorf("%+v is %v", u, id)
		}
	}
}

func TestUserDefinedRefuses(t *testing.T) {
	servers := []string{"127.0.0.1:6001", "127.0.0.1:6002"}
	tests := []struct {
		u    rolemaker.UserDefined
		want string
	}{
		{rolemaker.UserDefined{Role: 3, WorkerNum: 1, ServerEndpoints: servers}, "Role is Role(3)"},
		{rolemaker.UserDefined{WorkerNum: 1}, "ServerEndpoints is empty"},
		{rolemaker.UserDefined{ServerEndpoints: servers}, "WorkerNum is 0 and WorkerEndpoints is empty"},
		{rolemaker.UserDefined{WorkerNum: -2, ServerEndpoints: servers}, "WorkerNum is -2"},
		{rolemaker.UserDefined{WorkerNum: 2, ServerEndpoints: servers, WorkerEndpoints: []string{"a:1"}}, "WorkerEndpoints has 1 entries, WorkerNum is 2"},
		{rolemaker.UserDefined{CurrentID: -1, WorkerNum: 2, ServerEndpoints: servers}, "CurrentID is -1, but the workers are 0 to 1"},
		{rolemaker.UserDefined{CurrentID: 2, WorkerNum: 2, ServerEndpoints: servers}, "CurrentID is 2, but the workers are 0 to 1"},
		{rolemaker.UserDefined{CurrentID: 2, Role: rolemaker.Server, WorkerNum: 9, ServerEndpoints: servers}, "CurrentID is 2, but the servers are 0 to 1"},
		{rolemaker.UserDefined{WorkerNum: 1, ServerEndpoints: []string{"a:1", "a:1"}}, `ServerEndpoints: endpoint "a:1" is there twice`},
		{rolemaker.UserDefined{WorkerNum: 1, ServerEndpoints: []string{""}}, `ServerEndpoints: endpoint "" is not`},
		{rolemaker.UserDefined{WorkerNum: 1, ServerEndpoints: servers, WorkerEndpoints: []string{"a"}}, `WorkerEndpoints: endpoint "a" is not`},
	}
	for _, tt := range tests {
		id, err := tt.u.Identity()
		if err == nil || !strings.HasPrefix(err.Error(), "rolemaker: UserDefined: ") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v is %v, error %v, want %q", tt.u, id, err, tt.want)
		}
	}
}

func TestUserDefinedKeepsItsOwnLists(t *testing.T) {
	servers := []string{"a:1", "b:1"}
	id, err := rolemaker.UserDefined{WorkerNum: 1, ServerEndpoints: servers}.Identity()
	if err != nil {
		t.Fatal(err)
	}
	if servers[0] = "c:1"; id.Servers[0] != "a:1" {
		t.Errorf("changing the program's list changed the identity: %v", id)
	}
}

// maker is a role maker of a user's own.
type maker struct {
	id  rolemaker.Identity
	err error
}

func (m maker) Identity() (rolemaker.Identity, error) { return m.id, m.err }

// meeting is one that must be resolved.
type meeting struct{ maker }

func (meeting) Resolve(context.Context) (rolemaker.Identity, error) {
	return rolemaker.Local{}.Identity()
}

func TestResolve(t *testing.T) {
	broken := errors.New("broken")
	if _, err := rolemaker.Resolve(t.Context(), maker{err: broken}); !errors.Is(err, broken) {
		t.Errorf("error %v, want the role maker's", err)
	}
	if id, err := rolemaker.Resolve(t.Context(), maker{id: pair(rolemaker.Worker, 7)}); err == nil || id.Workers != 0 {
		t.Errorf("an impossible identity is returned as %v", id)
	}
	if id, err := rolemaker.Resolve(t.Context(), meeting{maker{err: broken}}); err != nil || !id.Local() {
		t.Errorf("a resolver was not asked to resolve: %v, error %v", id, err)
	}
	if _, err := rolemaker.Resolve(t.Context(), nil); err == nil {
		t.Error("no role maker gives an identity")
	}
}

func ExampleUserDefined() {
	id, err := rolemaker.UserDefined{
		CurrentID:       0,
		Role:            rolemaker.Worker,
		WorkerNum:       3,
		ServerEndpoints: []string{"127.0.0.1:6001", "127.0.0.1:6002"},
	}.Identity()
	fmt.Println(id, err)
	// Output: worker 0 of 3, servers 127.0.0.1:6001,127.0.0.1:6002 <nil>
}

func ExamplePaddleCloud() {
	environment := map[string]string{
		"PADDLE_PSERVERS_IP_PORT_LIST": "10.89.176.11:36000,10.89.176.12:36000",
		"TRAINING_ROLE":                "PSERVER",
		"POD_IP":                       "10.89.176.12",
		"PADDLE_PORT":                  "36000",
		"PADDLE_TRAINERS_NUM":          "2",
	}
	cloud := rolemaker.PaddleCloud{Getenv: func(name string) string { return environment[name] }}
	fmt.Println(cloud.Identity())
	// Output: server 1 of 2 at 10.89.176.12:36000, 2 workers <nil>
}
