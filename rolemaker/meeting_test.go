package rolemaker

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/porttest"
)

// together resolves the role maker of each environment at once.
func together(ctx context.Context, all []map[string]string) []outcome {
	outcomes := make([]outcome, len(all))
	var meeting sync.WaitGroup
	for i, vars := range all {
		meeting.Go(func() {
			id, err := Resolve(ctx, FromEnvironment(func(name string) string { return vars[name] }))
			outcomes[i] = outcome{id, err}
		})
	}
	meeting.Wait()
	return outcomes
}

// with is an environment with more variables.
func with(vars map[string]string, more ...string) map[string]string {
	vars = maps.Clone(vars)
	for i := 0; i < len(more); i += 2 {
		vars[more[i]] = more[i+1]
	}
	return vars
}

func minute(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// TestRanksOfEveryLauncherMeet: without servers all train among themselves; with a number of servers the first serve.
func TestRanksOfEveryLauncherMeet(t *testing.T) {
	for name, l := range map[string]struct{ rank, size, address, port string }{
		"torchrun":        {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"},
		"JAX":             {"PROCESS_ID", "NUM_PROCESSES", "COORDINATOR_ADDRESS", "COORDINATOR_PORT"},
		"LeaderWorkerSet": {"LWS_WORKER_INDEX", "LWS_GROUP_SIZE", "LWS_LEADER_ADDRESS", "FLEET_PORT"},
		"Open MPI":        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "", ""},
	} {
		for servers := range 3 {
			t.Run(fmt.Sprint(name, ", servers ", servers), func(t *testing.T) {
				place := porttest.Free(t, 1)[0]
				host, port, _ := net.SplitHostPort(place)
				var all []map[string]string
				for r := range 5 {
					vars := map[string]string{l.rank: fmt.Sprint(r), l.size: "5", "FLEET_SERVERS": fmt.Sprint(servers)}
					if l.address == "" {
						vars[envRendezvous] = place
					} else {
						vars = with(vars, l.address, host, l.port, port)
					}
					all = append(all, vars)
				}
				outcomes := together(minute(t), all)
				for r, o := range outcomes {
					if o.err != nil {
						t.Fatalf("rank %d: %v", r, o.err)
					}
					want := Identity{Role: Worker, Index: r - servers, Workers: 5 - servers, Collective: servers == 0}
					if r < servers {
						want.Role, want.Index = Server, r
					}
					if o.id.Role != want.Role || o.id.Index != want.Index || o.id.Workers != want.Workers || o.id.Collective != want.Collective ||
						len(o.id.Servers) != servers || !slices.Equal(o.id.Servers, outcomes[0].id.Servers) ||
						!slices.Equal(o.id.WorkerEndpoints, outcomes[0].id.WorkerEndpoints) {
						t.Errorf("rank %d is %v, rank 0 is %v", r, o.id, outcomes[0].id)
					}
				}
			})
		}
	}
}

// paddleJob are the pods of a PaddleJob of Kubeflow's, as they were seen.
func paddleJob(t *testing.T, masters, workers int) (all []map[string]string) {
	place := porttest.Free(t, 1)[0]
	pod := func(name string, i int, count string) map[string]string {
		return map[string]string{"PADDLE_JOB_ID": "pd", "PADDLE_NNODES": fmt.Sprint(masters + workers), "PADDLE_MASTER": place,
			"HOSTNAME": fmt.Sprintf("pd-%s-%d", name, i), count: "1"}
	}
	for i := range masters {
		all = append(all, pod("master", i, "PADDLE_SERVER_NUM"))
	}
	for i := range workers {
		count := "PADDLE_TRAINER_NUM"
		if masters == 0 {
			count = "POD_COUNT"
		}
		all = append(all, pod("worker", i, count))
	}
	return all
}

// TestPaddleJobMeets: pods that know neither a list nor how many are servers find both out at PADDLE_MASTER.
func TestPaddleJobMeets(t *testing.T) {
	for _, c := range []struct{ masters, workers int }{{2, 2}, {1, 3}, {0, 3}} {
		outcomes := together(minute(t), paddleJob(t, c.masters, c.workers))
		for i, o := range outcomes {
			role, index := Server, i
			if i >= c.masters {
				role, index = Worker, i-c.masters
			}
			if o.err != nil || o.id.Role != role || o.id.Index != index || o.id.Workers != c.workers || len(o.id.Servers) != c.masters ||
				o.id.Collective != (c.masters == 0) || !slices.Equal(o.id.Servers, outcomes[0].id.Servers) {
				t.Errorf("%d masters, %d workers: pod %d is %v, error %v", c.masters, c.workers, i, o.id, o.err)
			}
		}
	}
}

// TestNumbersWinInAMeeting: FLEET_INDEX numbers pods whose names have no number.
func TestNumbersWinInAMeeting(t *testing.T) {
	all := paddleJob(t, 1, 2)
	for i, n := range []string{"0", "1", "0"} {
		all[i] = with(all[i], "HOSTNAME", "machine", "FLEET_INDEX", n)
	}
	for i, o := range together(minute(t), all) {
		if o.err != nil || fmt.Sprint(o.id.Index) != all[i]["FLEET_INDEX"] {
			t.Errorf("pod %d is %v, error %v", i, o.id, o.err)
		}
	}
}

// TestMeetingsThatDisagree: processes that were told different numbers of servers find no job.
func TestMeetingsThatDisagree(t *testing.T) {
	host, port, _ := net.SplitHostPort(porttest.Free(t, 1)[0])
	rank := func(r, servers int) map[string]string {
		return map[string]string{"RANK": fmt.Sprint(r), "WORLD_SIZE": "3", "MASTER_ADDR": host, "MASTER_PORT": port, "FLEET_SERVERS": fmt.Sprint(servers)}
	}
	for r, o := range together(minute(t), []map[string]string{rank(0, 1), rank(1, 1), rank(2, 0)}) {
		if o.err == nil || !strings.Contains(o.err.Error(), "2 processes say that they") {
			t.Errorf("rank %d is %v, error %v", r, o.id, o.err)
		}
	}
}

// TestMeetingsCountWorkers: a FLEET_WORKERS that is not what the processes make is refused.
func TestMeetingsCountWorkers(t *testing.T) {
	all := paddleJob(t, 1, 2)
	for i := range all {
		all[i] = with(all[i], "FLEET_WORKERS", "3")
	}
	for i, o := range together(minute(t), all) {
		if o.err == nil || !strings.Contains(o.err.Error(), "of 3 workers, but of 3 processes 2 train") {
			t.Errorf("pod %d is %v, error %v", i, o.id, o.err)
		}
	}
	for i := range all {
		all[i] = with(all[i], "FLEET_WORKERS", "2", "PADDLE_MASTER", porttest.Free(t, 1)[0])
		all[i]["PADDLE_MASTER"] = all[0]["PADDLE_MASTER"]
	}
	for i, o := range together(minute(t), all) {
		if o.err != nil || o.id.Workers != 2 {
			t.Errorf("pod %d is %v, error %v", i, o.id, o.err)
		}
	}
}

// TestAdvertise: others are told the address and the port that are said to be a process's, or the port at which it is told to listen.
func TestAdvertise(t *testing.T) {
	for _, c := range []struct{ advertise, listen, want string }{
		{"192.0.2.7:7000", "0.0.0.0:36000", "192.0.2.7:7000"},
		{"192.0.2.7", "0.0.0.0:36000", "192.0.2.7:36000"},
		{"fd00::7", "[::]:36000", "[fd00::7]:36000"},
		{"[fd00::7]:7000", "", "[fd00::7]:7000"},
		{"", ":36000", "127.0.0.1:36000"},
		{"ps.example", "", "ps.example:6"}, // and a port that was chosen
	} {
		place := porttest.Free(t, 1)[0]
		vars := map[string]string{"OMPI_COMM_WORLD_SIZE": "2", envRendezvous: place, envAdvertise: c.advertise, envListen: c.listen}
		for r, o := range together(minute(t), []map[string]string{with(vars, "OMPI_COMM_WORLD_RANK", "0"), with(vars, "OMPI_COMM_WORLD_RANK", "1")}) {
			if o.err != nil || !strings.HasPrefix(o.id.Servers[0], c.want) || strings.HasPrefix(c.advertise, "192") && o.id.Servers[0] != c.want {
				t.Errorf("%+v, rank %d: %v, error %v", c, r, o.id, o.err)
			}
		}
	}
	for _, wrong := range []string{"host:x", "host:65536"} {
		vars := map[string]string{"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0", envAdvertise: wrong}
		if o := together(minute(t), []map[string]string{vars})[0]; o.err == nil || !strings.Contains(o.err.Error(), `FLEET_ADVERTISE is "`+wrong) {
			t.Errorf("%s: error %v", wrong, o.err)
		}
	}
}

// TestTorchrunsPort: torchrun's agent has the port that it tells its processes.
func TestTorchrunsPort(t *testing.T) {
	e := env(lookup("MASTER_ADDR", "m", "MASTER_PORT", "29500", "TORCHELASTIC_USE_AGENT_STORE", "True"))
	if got := e.master(numbered()[0]); got != "m:29501" {
		t.Errorf("they meet at %s", got)
	}
	e = env(lookup("COORDINATOR_ADDRESS", "c:1234", "COORDINATOR_PORT", "tcp://10.0.0.1:5"))
	if got := e.master(numbered()[2]); got != "c:1234" {
		t.Errorf("they meet at %s", got)
	}
}
