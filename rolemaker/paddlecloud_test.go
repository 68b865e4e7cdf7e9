package rolemaker_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/rolemaker"
	"github.com/google/go-cmp/cmp"
)

type vars map[string]string

func (v vars) get(name string) string { return v[name] }

// with is v changed by pairs of name and value; an empty value unsets.
func (v vars) with(pairs ...string) vars {
	c := maps.Clone(v)
	for i := 0; i < len(pairs); i += 2 {
		c[pairs[i]] = pairs[i+1]
	}
	return c
}

const twoServers = "10.89.176.11:36000,10.89.176.12:36000"

func servers() []string { return strings.Split(twoServers, ",") }

// The environments of a cluster set up by hand on two machines.
func byHandServer() vars {
	return vars{"PADDLE_PSERVERS_IP_PORT_LIST": twoServers, "TRAINING_ROLE": "PSERVER", "POD_IP": "10.89.176.12",
		"PADDLE_PORT": "36000", "PADDLE_TRAINERS_NUM": "2"}
}

func byHandWorker() vars {
	return vars{"PADDLE_PSERVERS_IP_PORT_LIST": twoServers, "TRAINING_ROLE": "TRAINER", "PADDLE_TRAINERS_NUM": "2",
		"PADDLE_TRAINER_ID": "1"}
}

// What the launcher sets in every process, with all that has no meaning here.
func launched() vars {
	return vars{"PADDLE_TRAINERS_NUM": "2", "PADDLE_GLOO_RENDEZVOUS": "3", "PADDLE_PSERVERS_IP_PORT_LIST": "127.0.0.1:34008",
		"PADDLE_WITH_GLOO": "0", "PADDLE_TRAINER_ENDPOINTS": "127.0.0.1:18913,127.0.0.1:10025",
		"PADDLE_GLOO_HTTP_ENDPOINT": "127.0.0.1:23053", "PADDLE_GLOO_FS_PATH": "/tmp/tmp8vqb8arq",
		"PADDLE_HETER_TRAINER_IP_PORT_LIST": ""}
}

func TestPaddleCloud(t *testing.T) {
	older := vars{"PADDLE_TRAINING_ROLE": "PSERVER", "PADDLE_PSERVERS": "10.0.0.1,10.0.0.2", "PADDLE_CURRENT_IP": "10.0.0.2"}
	tests := []struct {
		name string
		env  vars
		want rolemaker.Identity
	}{
		{"server by hand", byHandServer(), rolemaker.Identity{Role: rolemaker.Server, Index: 1, Workers: 2, Servers: servers()}},
		{"worker by hand", byHandWorker(), rolemaker.Identity{Role: rolemaker.Worker, Index: 1, Workers: 2, Servers: servers()}},
		{"launched server",
			launched().with("TRAINING_ROLE", "PSERVER", "POD_IP", "127.0.0.1", "PADDLE_PORT", "34008"),
			rolemaker.Identity{Role: rolemaker.Server, Workers: 2, Servers: []string{"127.0.0.1:34008"},
				WorkerEndpoints: []string{"127.0.0.1:18913", "127.0.0.1:10025"}}},
		{"launched worker",
			launched().with("TRAINING_ROLE", "TRAINER", "PADDLE_TRAINER_ID", "0", "FLAGS_selected_gpus", "0", "CUDA_VISIBLE_DEVICES", "0"),
			rolemaker.Identity{Role: rolemaker.Worker, Workers: 2, Servers: []string{"127.0.0.1:34008"},
				WorkerEndpoints: []string{"127.0.0.1:18913", "127.0.0.1:10025"}}},
		{"pod of an operator", byHandServer().with("PADDLE_TRAINING_ROLE", "PSERVER", "PADDLE_TRAINER_ID", "1", "PADDLE_PSERVERS_NUM", "2"),
			rolemaker.Identity{Role: rolemaker.Server, Index: 1, Workers: 2, Servers: servers()}},
		{"host names", vars{"PADDLE_PSERVERS_IP_PORT_LIST": " ps-0.ps:6000, ps-1.ps:6000 ", "TRAINING_ROLE": "PSERVER",
			"POD_IP": "ps-1.ps", "PADDLE_PORT": "6000", "PADDLE_TRAINERS_NUM": "1"},
			rolemaker.Identity{Role: rolemaker.Server, Index: 1, Workers: 1, Servers: []string{"ps-0.ps:6000", "ps-1.ps:6000"}}},
		{"IPv6", vars{"PADDLE_PSERVERS_IP_PORT_LIST": "[fd00::1]:6000", "TRAINING_ROLE": "PSERVER", "POD_IP": "fd00::1",
			"PADDLE_PORT": "6000", "PADDLE_TRAINERS_NUM": "1"},
			rolemaker.Identity{Role: rolemaker.Server, Workers: 1, Servers: []string{"[fd00::1]:6000"}}},
		{"two servers on one machine", byHandServer().with("PADDLE_PSERVERS_IP_PORT_LIST", "10.89.176.12:36000,10.89.176.12:36001", "PADDLE_PORT", "36001"),
			rolemaker.Identity{Role: rolemaker.Server, Index: 1, Workers: 2, Servers: []string{"10.89.176.12:36000", "10.89.176.12:36001"}}},
		{"server by number", byHandServer().with("POD_IP", "", "PADDLE_PSERVER_ID", "1"),
			rolemaker.Identity{Role: rolemaker.Server, Index: 1, Workers: 2, Servers: servers()}},
		{"number and endpoint agree", byHandServer().with("PADDLE_PSERVER_ID", "1"),
			rolemaker.Identity{Role: rolemaker.Server, Index: 1, Workers: 2, Servers: servers()}},
		{"names, and a pod that knows its address and number", vars{"PADDLE_PSERVERS_IP_PORT_LIST": "ps-0.ps:6000,ps-1.ps:6000", "TRAINING_ROLE": "PSERVER",
			"POD_IP": "10.0.0.7", "PADDLE_PORT": "6000", "PADDLE_PSERVER_ID": "1", "PADDLE_TRAINERS_NUM": "1"},
			rolemaker.Identity{Role: rolemaker.Server, Index: 1, Workers: 1, Servers: []string{"ps-0.ps:6000", "ps-1.ps:6000"}}},
		{"a number, and a port that is not set", byHandServer().with("PADDLE_PSERVER_ID", "1", "PADDLE_PORT", ""),
			rolemaker.Identity{Role: rolemaker.Server, Index: 1, Workers: 2, Servers: servers()}},
		{"IPv6 in brackets", vars{"PADDLE_PSERVERS_IP_PORT_LIST": "[::1]:7102,[::1]:7103", "TRAINING_ROLE": "PSERVER", "POD_IP": "[::1]",
			"PADDLE_PORT": "7103", "PADDLE_TRAINERS_NUM": "1"},
			rolemaker.Identity{Role: rolemaker.Server, Index: 1, Workers: 1, Servers: []string{"[::1]:7102", "[::1]:7103"}}},
		{"IPv6 written otherwise", vars{"PADDLE_PSERVERS_IP_PORT_LIST": "[fd00:0:0::1]:6000", "TRAINING_ROLE": "PSERVER", "POD_IP": "FD00::1",
			"PADDLE_PORT": "6000", "PADDLE_TRAINERS_NUM": "1"},
			rolemaker.Identity{Role: rolemaker.Server, Workers: 1, Servers: []string{"[fd00:0:0::1]:6000"}}},
		{"older server, IPv6 in brackets", vars{"PADDLE_PSERVERS": "[::1],[::2]", "PADDLE_TRAINING_ROLE": "PSERVER", "PADDLE_CURRENT_IP": "[::2]"},
			rolemaker.Identity{Role: rolemaker.Server, Index: 1, Workers: 1, Servers: []string{"[::1]:6174", "[::2]:6174"}}},
		{"workers counted by their endpoints", byHandWorker().with("PADDLE_TRAINERS_NUM", "", "PADDLE_TRAINER_ENDPOINTS", "a:1,b:1,c:1"),
			rolemaker.Identity{Role: rolemaker.Worker, Index: 1, Workers: 3, Servers: servers(), WorkerEndpoints: []string{"a:1", "b:1", "c:1"}}},

		{"older server, default port", older,
			rolemaker.Identity{Role: rolemaker.Server, Index: 1, Workers: 1, Servers: []string{"10.0.0.1:6174", "10.0.0.2:6174"}}},
		{"older server, one port", older.with("PADDLE_PORT", "7000", "PADDLE_TRAINERS_NUM", "4"),
			rolemaker.Identity{Role: rolemaker.Server, Index: 1, Workers: 4, Servers: []string{"10.0.0.1:7000", "10.0.0.2:7000"}}},
		{"older server, a port each", older.with("PADDLE_PORT", "7000,7001"),
			rolemaker.Identity{Role: rolemaker.Server, Index: 1, Workers: 1, Servers: []string{"10.0.0.1:7000", "10.0.0.2:7001"}}},
		{"older worker", older.with("PADDLE_TRAINING_ROLE", "TRAINER", "PADDLE_TRAINER_ID", "2", "PADDLE_TRAINERS_NUM", "3", "PADDLE_CURRENT_IP", ""),
			rolemaker.Identity{Role: rolemaker.Worker, Index: 2, Workers: 3, Servers: []string{"10.0.0.1:6174", "10.0.0.2:6174"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := rolemaker.Resolve(t.Context(), rolemaker.PaddleCloud{Getenv: tt.env.get})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Without a variable of its own, PaddleCloud is a process alone, so that a program written for a cluster runs without one.
func TestPaddleCloudAlone(t *testing.T) {
	tests := map[string]vars{
		"nothing":             {},
		"blank":               {"TRAINING_ROLE": " ", "PADDLE_PSERVERS_IP_PORT_LIST": ""},
		"a pod without a job": {"POD_IP": "10.0.0.1", "PADDLE_PORT": "6000"},
		"one rank":            openMPI(0, 1),
		"a batch script":      slurm(0, 6).with("SLURM_STEP_ID", ""),
	}
	for name, env := range tests {
		t.Run(name, func(t *testing.T) {
			id, err := rolemaker.Resolve(t.Context(), rolemaker.PaddleCloud{Getenv: env.get})
			if err != nil || id.String() != "worker 0 of 1, alone" {
				t.Errorf("%v, error %v", id, err)
			}
		})
	}
}

func TestPaddleCloudRefuses(t *testing.T) {
	tests := []struct {
		name string
		env  vars
		want string
	}{
		{"role alone", vars{"TRAINING_ROLE": "TRAINER"}, "PADDLE_PSERVERS_IP_PORT_LIST is not set"},
		{"id alone", vars{"PADDLE_TRAINER_ID": "0"}, "TRAINING_ROLE is not set; it is PSERVER on a server and TRAINER on a worker"},
		{"number of workers alone", vars{"PADDLE_TRAINERS_NUM": "1"}, "TRAINING_ROLE is not set"},
		{"list alone", vars{"PADDLE_PSERVERS_IP_PORT_LIST": "a:1"}, "TRAINING_ROLE is not set"},
		{"ranks", openMPI(1, 4), "OMPI_COMM_WORLD_SIZE is 4, PMIX_RANK is 1: that is not for this role maker, but for rolemaker.FromEnvironment(nil)"},
		{"tasks of Slurm", slurm(0, 2), "SLURM_NTASKS is 2, SLURM_STEP_ID is 0: that is not for this role maker"},
		{"half a rank", vars{"PMI_RANK": "1"}, "PMI_RANK is 1, but PMI_SIZE is not set"},
		{"a master to meet at", vars{"PADDLE_MASTER": "job-master-0:36543", "PADDLE_SERVER_NUM": "1"},
			`TRAINING_ROLE is not set; it is PSERVER on a server and TRAINER on a worker (PADDLE_MASTER is "job-master-0:36543": where Kubeflow's PaddleJob has set it, rolemaker.FromEnvironment meets the others there`},
		{"no role", byHandWorker().with("TRAINING_ROLE", ""), "TRAINING_ROLE is not set"},
		{"bad role", byHandWorker().with("TRAINING_ROLE", "WORKER"), `TRAINING_ROLE is "WORKER"; it can be PSERVER or TRAINER`},
		{"other role", byHandWorker().with("TRAINING_ROLE", "HETER_TRAINER"), `TRAINING_ROLE is "HETER_TRAINER"`},
		{"bad older role", vars{"PADDLE_TRAINING_ROLE": "X"}, `PADDLE_TRAINING_ROLE is "X"`},
		{"two roles", byHandWorker().with("PADDLE_TRAINING_ROLE", "PSERVER"),
			`TRAINING_ROLE is "TRAINER" but PADDLE_TRAINING_ROLE is "PSERVER"`},

		{"worker without servers", byHandWorker().with("PADDLE_PSERVERS_IP_PORT_LIST", ""), "PADDLE_PSERVERS_IP_PORT_LIST is not set"},
		{"blank list", byHandWorker().with("PADDLE_PSERVERS_IP_PORT_LIST", "  "), "PADDLE_PSERVERS_IP_PORT_LIST is not set"},
		{"server without servers", byHandServer().with("PADDLE_PSERVERS_IP_PORT_LIST", ""), "PADDLE_PSERVERS_IP_PORT_LIST is not set"},
		{"no port", byHandWorker().with("PADDLE_PSERVERS_IP_PORT_LIST", "10.0.0.1,10.0.0.2:1"),
			`PADDLE_PSERVERS_IP_PORT_LIST is "10.0.0.1,10.0.0.2:1": endpoint "10.0.0.1" is not "host:port"`},
		{"comma at the end", byHandWorker().with("PADDLE_PSERVERS_IP_PORT_LIST", "10.0.0.1:1,"), `endpoint "" is not`},
		{"server twice", byHandWorker().with("PADDLE_PSERVERS_IP_PORT_LIST", "a:1,a:1"), `endpoint "a:1" is there twice`},
		{"number of servers", byHandWorker().with("PADDLE_PSERVERS_NUM", "3"), "PADDLE_PSERVERS_NUM is 3, but the list has 2 server endpoints"},
		{"odd number of servers", byHandWorker().with("PADDLE_PSERVERS_NUM", "two"), `PADDLE_PSERVERS_NUM is "two"; it must be a number`},

		{"no number of workers", byHandWorker().with("PADDLE_TRAINERS_NUM", ""), "PADDLE_TRAINERS_NUM is not set"},
		{"no workers", byHandWorker().with("PADDLE_TRAINERS_NUM", "0"), "PADDLE_TRAINERS_NUM is 0"},
		{"many workers", byHandWorker().with("PADDLE_TRAINERS_NUM", "2x"), `PADDLE_TRAINERS_NUM is "2x"; it must be a number`},
		{"worker endpoints", byHandWorker().with("PADDLE_TRAINER_ENDPOINTS", "a:1,b:1,c:1"),
			`PADDLE_TRAINERS_NUM is 2, but PADDLE_TRAINER_ENDPOINTS has 3: "a:1,b:1,c:1"`},
		{"bad worker endpoint", byHandWorker().with("PADDLE_TRAINER_ENDPOINTS", "a:1,b"), `PADDLE_TRAINER_ENDPOINTS is "a:1,b": endpoint "b"`},
		{"no id", byHandWorker().with("PADDLE_TRAINER_ID", ""), "PADDLE_TRAINER_ID is not set; it is this worker's number, 0 to 1"},
		{"bad id", byHandWorker().with("PADDLE_TRAINER_ID", "one"), `PADDLE_TRAINER_ID is "one"; it must be a number`},
		{"large id", byHandWorker().with("PADDLE_TRAINER_ID", "2"), "PADDLE_TRAINER_ID is 2, but the workers are 0 to 1"},
		{"negative id", byHandWorker().with("PADDLE_TRAINER_ID", "-1"), "PADDLE_TRAINER_ID is -1"},

		{"no ip", byHandServer().with("POD_IP", ""), "POD_IP is not set; with PADDLE_PORT it makes this server's endpoint"},
		{"no own port", byHandServer().with("PADDLE_PORT", ""), "PADDLE_PORT is not set; with POD_IP"},
		{"another machine", byHandServer().with("POD_IP", "10.89.176.13"),
			`POD_IP is "10.89.176.13" and PADDLE_PORT is "36000", but 10.89.176.13:36000 is not one of the servers 10.89.176.11:36000,10.89.176.12:36000; where these are names, PADDLE_PSERVER_ID says which`},
		{"another port", byHandServer().with("PADDLE_PORT", "36001"), "10.89.176.12:36001 is not one of the servers"},
		{"two ips", byHandServer().with("PADDLE_CURRENT_IP", "10.89.176.11"), `POD_IP is "10.89.176.12" but PADDLE_CURRENT_IP is "10.89.176.11"`},
		{"number of another", byHandServer().with("PADDLE_PSERVER_ID", "0"), "PADDLE_PSERVER_ID is 0, but endpoint 10.89.176.12:36000 is number 1"},
		{"large number", byHandServer().with("POD_IP", "", "PADDLE_PSERVER_ID", "2"), "PADDLE_PSERVER_ID is 2, but the servers are 0 to 1"},
		{"bad number", byHandServer().with("PADDLE_PSERVER_ID", "x"), `PADDLE_PSERVER_ID is "x"`},

		{"older ports", vars{"PADDLE_TRAINING_ROLE": "TRAINER", "PADDLE_PSERVERS": "a,b,c", "PADDLE_PORT": "1,2"},
			`PADDLE_PSERVERS is "a,b,c" and PADDLE_PORT is "1,2"; give one port for all or one for each`},
		{"older bad port", vars{"PADDLE_TRAINING_ROLE": "TRAINER", "PADDLE_PSERVERS": "a", "PADDLE_PORT": "x"},
			`PADDLE_PSERVERS is "a" and PADDLE_PORT is "x": endpoint "a:x" has port "x"`},
		{"which of two ports", vars{"PADDLE_TRAINING_ROLE": "PSERVER", "PADDLE_PSERVERS": "a,a", "PADDLE_PORT": "1,2", "POD_IP": "a"},
			`POD_IP is "a" and PADDLE_PORT is "1,2", which are several servers' ([0 1]); give PADDLE_PORT one port`},
		{"older id", vars{"PADDLE_TRAINING_ROLE": "TRAINER", "PADDLE_PSERVERS": "a", "PADDLE_TRAINER_ID": "1"},
			"PADDLE_TRAINER_ID is 1, but the workers are 0 to 0 (PADDLE_TRAINERS_NUM)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			id, err := rolemaker.PaddleCloud{Getenv: tt.env.get}.Identity()
			if err == nil || !strings.HasPrefix(err.Error(), "rolemaker: PaddleCloud: ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("identity %v, error %v, want %q", id, err, tt.want)
			}
		})
	}
}

func TestPaddleCloudReadsTheProcess(t *testing.T) {
	for name, value := range byHandWorker() {
		t.Setenv(name, value)
	}
	id, err := rolemaker.PaddleCloud{}.Identity()
	if err != nil || id.Index != 1 || !id.IsWorker() {
		t.Errorf("identity %v, error %v", id, err)
	}
}
