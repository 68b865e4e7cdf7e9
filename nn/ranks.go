package nn

import (
	"cmp"
	"os"
	"strconv"
)

// launchedRank is this process's number among several that a launcher of ranks started, whose terminals are no
// person's: Open MPI gives each rank a pseudo-terminal and joins what they write, Slurm's --pty gives one to the first.
// A shell that srun started alone is a person's.
func launchedRank() (rank int, launched bool) {
	for _, name := range []string{"OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "PMI_RANK"} {
		if rank, err := strconv.Atoi(os.Getenv(name)); err == nil {
			return rank, true
		}
	}
	tasks := cmp.Or(os.Getenv("SLURM_STEP_NUM_TASKS"), os.Getenv("SLURM_NTASKS"))
	rank, err := strconv.Atoi(os.Getenv("SLURM_PROCID"))
	return rank, err == nil && os.Getenv("SLURM_STEP_ID") != "" && tasks != "" && tasks != "1"
}

// lastShown is the highest rank that shows its progress on such a terminal: of servers and workers in turn, worker 0 is
// rank 1 and rank 0 trains nothing; of workers alone it is rank 0.
const lastShown = 1
