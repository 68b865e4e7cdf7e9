package rolemaker_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/rolemaker"
)

func openMPI(rank, size int) vars {
	return vars{"OMPI_COMM_WORLD_RANK": fmt.Sprint(rank), "OMPI_COMM_WORLD_SIZE": fmt.Sprint(size),
		"OMPI_COMM_WORLD_LOCAL_SIZE": fmt.Sprint(size), "PMIX_RANK": fmt.Sprint(rank), "PMIX_NAMESPACE": "2890465281"}
}

func slurm(rank, size int) vars {
	return vars{"SLURM_PROCID": fmt.Sprint(rank), "SLURM_NTASKS": fmt.Sprint(size), "SLURM_JOB_ID": "77", "SLURM_STEP_ID": "0",
		"SLURM_NNODES": "2"}
}

func torchrun(rank, size int) vars {
	return vars{"RANK": fmt.Sprint(rank), "WORLD_SIZE": fmt.Sprint(size), "MASTER_ADDR": "h", "MASTER_PORT": "29500"}
}

func TestFromEnvironment(t *testing.T) {
	tests := []struct {
		name string
		env  vars
		want string
	}{
		{"nothing", vars{}, "worker 0 of 1, alone"},
		{"a pod without a job", vars{"POD_IP": "10.0.0.1", "PADDLE_PORT": "6000", "PATH": "/bin"}, "worker 0 of 1, alone"},
		{"worker", byHandWorker(), "worker 1 of 2, servers " + twoServers},
		{"server", byHandServer(), "server 1 of 2 at 10.89.176.12:36000, 2 workers"},
		{"under mpirun, but told more", openMPI(0, 4).with("PADDLE_PSERVERS_IP_PORT_LIST", "a:1", "TRAINING_ROLE", "TRAINER",
			"PADDLE_TRAINERS_NUM", "9", "PADDLE_TRAINER_ID", "8"), "worker 8 of 9, servers a:1"},
		{"Open MPI", openMPI(3, 8), "worker 1 of 4, servers ,,,"},
		{"Open MPI beside servers", openMPI(0, 3).with("FLEET_SERVERS", "a:1,b:1", "FLEET_WORKERS", "3"), "worker 0 of 3, servers a:1,b:1"},
		{"torchrun beside servers", torchrun(1, 4).with("FLEET_SERVERS", "a:1,b:1", "FLEET_WORKERS", "4"), "worker 1 of 4, servers a:1,b:1"},
		{"torchrun, the first ranks are the servers", torchrun(3, 4).with("FLEET_SERVERS", "a:1,b:1", "FLEET_WORKERS", "2"), "worker 1 of 2, servers a:1,b:1"},
		{"Horovod beside servers", vars{"HOROVOD_RANK": "1", "HOROVOD_SIZE": "2", "FLEET_SERVERS": "a:1", "FLEET_WORKERS": "2"}, "worker 1 of 2, servers a:1"},
		{"a server that ranks don't speak of", torchrun(0, 4).with("FLEET_SERVERS", "a:1,b:1", "FLEET_WORKERS", "3", "FLEET_ROLE", "server", "FLEET_INDEX", "1"),
			"server 1 of 2 at b:1, 3 workers"},
		{"the number of workers that ranks make", torchrun(0, 4).with("FLEET_WORKERS", "2", "FLEET_SERVERS", "2"), "server 0 of 2 at , 2 workers"},
		{"Open MPI, one rank", openMPI(0, 1), "worker 0 of 1, alone"},
		{"MVAPICH2", vars{"MV2_COMM_WORLD_RANK": "2", "MV2_COMM_WORLD_SIZE": "4"}, "server 1 of 2 at , 2 workers"},
		{"MPICH", vars{"PMI_RANK": "0", "PMI_SIZE": "2", "PMI_FD": "7"}, "server 0 of 1 at , 1 workers"},
		{"Slurm", slurm(5, 6), "worker 2 of 3, servers ,,"},
		{"a step smaller than its job", slurm(1, 6).with("SLURM_STEP_NUM_TASKS", "2"), "worker 0 of 1, servers "},
		{"a batch script", slurm(0, 6).with("SLURM_STEP_ID", ""), "worker 0 of 1, alone"},
		{"srun with pmix", slurm(1, 2).with("PMIX_RANK", "1"), "worker 0 of 1, servers "},
		{"srun with pmi2", slurm(1, 2).with("PMI_RANK", "1", "PMI_SIZE", "2"), "worker 0 of 1, servers "},
		{"mpirun in a Slurm job", slurm(0, 2).with("OMPI_COMM_WORLD_RANK", "5", "OMPI_COMM_WORLD_SIZE", "8"), "worker 2 of 4, servers ,,,"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			id, err := rolemaker.FromEnvironment(tt.env.get).Identity()
			if err != nil || id.String() != tt.want {
				t.Errorf("%v, error %v, want %q", id, err, tt.want)
			}
		})
	}
}

// What looks like part of a job is never taken for a process alone.
func TestFromEnvironmentRefuses(t *testing.T) {
	tests := []struct {
		name string
		env  vars
		want []string
	}{
		{"role alone", vars{"TRAINING_ROLE": "TRAINER"}, []string{"PADDLE_PSERVERS_IP_PORT_LIST is not set", "found in the environment: TRAINING_ROLE"}},
		{"list alone", vars{"PADDLE_PSERVERS_IP_PORT_LIST": "a:1"}, []string{"TRAINING_ROLE is not set", "found in the environment: PADDLE_PSERVERS_IP_PORT_LIST"}},
		{"collective", vars{"PADDLE_TRAINER_ENDPOINTS": "a:1", "PADDLE_TRAINER_ID": "0"},
			[]string{"found in the environment: PADDLE_TRAINER_ID, PADDLE_TRAINER_ENDPOINTS"}},
		{"a master to ask", vars{"PADDLE_MASTER": "a:1", "PADDLE_TRAINER_NUM": "1"},
			[]string{"PADDLE_NNODES is not set", "found in the environment: PADDLE_MASTER, PADDLE_TRAINER_NUM"}},
		{"fewer workers than ranks make", openMPI(0, 8).with("FLEET_WORKERS", "6"), []string{"FLEET_WORKERS is 6, but OMPI_COMM_WORLD_SIZE is 8, and 4 of these train"}},
		{"one worker of eight ranks", openMPI(0, 8).with("FLEET_WORKERS", "1"), []string{"FLEET_WORKERS is 1, but OMPI_COMM_WORLD_SIZE is 8"}},
		{"workers and servers that are more than ranks", openMPI(0, 8).with("FLEET_WORKERS", "8", "FLEET_SERVERS", "2"), []string{"FLEET_WORKERS is 8", "and 6 of these train"}},
		{"fewer workers than torchrun starts", torchrun(1, 4).with("FLEET_WORKERS", "2"), []string{"FLEET_WORKERS is 2, but WORLD_SIZE is 4, and 4 of these train"}},
		{"fewer workers than torchrun starts beside servers", torchrun(1, 4).with("FLEET_WORKERS", "3", "FLEET_SERVERS", "a:1,b:1"),
			[]string{`FLEET_SERVERS is "a:1,b:1" and FLEET_WORKERS is 3, but WORLD_SIZE is 4: set FLEET_WORKERS to that on all`}},
		{"servers that may be ranks or not", torchrun(3, 4).with("FLEET_SERVERS", "a:1,b:1"), []string{"FLEET_WORKERS is 0, but WORLD_SIZE is 4: set FLEET_WORKERS"}},
		{"odd size", openMPI(0, 3), []string{"OMPI_COMM_WORLD_SIZE is 3, which is odd"}},
		{"odd size in Slurm", slurm(0, 3), []string{"SLURM_NTASKS is 3, which is odd"}},
		{"two ranks", openMPI(0, 4).with("PMI_RANK", "1", "PMI_SIZE", "4"),
			[]string{"OMPI_COMM_WORLD_RANK is 0", "PMI_RANK is 1", "unset"}},
		{"two sizes", openMPI(0, 4).with("PMI_RANK", "0", "PMI_SIZE", "2"), []string{"OMPI_COMM_WORLD_SIZE is 4", "PMI_SIZE is 2"}},
		{"another rank of pmix", openMPI(0, 4).with("PMIX_RANK", "2"), []string{"PMIX_RANK is 2, but OMPI_COMM_WORLD_RANK is 0"}},
		{"rank of pmix alone", vars{"PMIX_RANK": "2"}, []string{"PMIX_RANK is 2, but no variable has the number of ranks"}},
		{"no size", vars{"PMI_RANK": "1"}, []string{"PMI_RANK is 1, but PMI_SIZE is not set"}},
		{"rank too large", openMPI(4, 4), []string{"OMPI_COMM_WORLD_RANK is 4 and OMPI_COMM_WORLD_SIZE is 4"}},
		{"negative rank", openMPI(-1, 4), []string{"OMPI_COMM_WORLD_RANK is -1"}},
		{"rank of letters", vars{"PMI_RANK": "x", "PMI_SIZE": "2"}, []string{`PMI_RANK is "x"; it must be a number`}},
		{"size of letters", vars{"PMI_RANK": "0", "PMI_SIZE": "x"}, []string{`PMI_SIZE is "x"; it must be a number`}},
		{"no Slurm size", vars{"SLURM_STEP_ID": "0", "SLURM_PROCID": "0"}, []string{"SLURM_PROCID is 0, but SLURM_NTASKS is not set"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			id, err := rolemaker.FromEnvironment(tt.env.get).Identity()
			if err == nil {
				t.Fatalf("taken for %v", id)
			}
			for _, want := range append(tt.want, "rolemaker: ") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
}

// resolver is a role maker whose processes must meet.
type resolver interface {
	Resolve(ctx context.Context) (rolemaker.Identity, error)
}

func TestFromEnvironmentOfRanksIsAResolver(t *testing.T) {
	if _, ok := rolemaker.FromEnvironment(openMPI(0, 2).get).(resolver); !ok {
		t.Error("ranks of MPI can't meet")
	}
}

func TestMPISymmetricNeedsALauncher(t *testing.T) {
	for _, env := range []vars{{}, {"SLURM_PROCID": "0", "SLURM_NTASKS": "4"}} {
		_, err := rolemaker.Resolve(t.Context(), rolemaker.MPISymmetric{Getenv: env.get})
		if err == nil || !strings.Contains(err.Error(), "start the program with mpirun, mpiexec or srun") {
			t.Errorf("environment %v: error %v", env, err)
		}
	}
}
