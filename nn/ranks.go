package nn

import (
	"cmp"
	"os"
	"strconv"
)

// launchedRank returns this process's number among those that a launcher of ranks started, whose terminals no person
// reads: Open MPI gives each rank a pseudo-terminal and joins their output, Slurm's --pty gives one to the first. A
// shell that srun started alone has a person's terminal.
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

// lastShown is the highest rank that shows its progress on such a terminal: if servers and workers alternate, worker 0
// is rank 1 and rank 0 trains nothing; with workers alone worker 0 is rank 0.
const lastShown = 1
