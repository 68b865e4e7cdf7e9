package rolemaker

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// launcher has the variables by which one family of launchers gives a process its place.
type launcher struct {
	name, rank, size string
	// local is the number of ranks on this machine, "" if the family does not set it.
	local string
	// address and port are where rank 0 can be called, "" if the family does not set them.
	address, port string
}

// launchers are the families that start ranks. Slurm is handled separately: it also sets its variables for processes
// that are no ranks.
func launchers() []launcher {
	return []launcher{
		{name: "Open MPI", rank: "OMPI_COMM_WORLD_RANK", size: "OMPI_COMM_WORLD_SIZE",
			local: "OMPI_COMM_WORLD_LOCAL_SIZE"},
		{name: "MVAPICH2", rank: "MV2_COMM_WORLD_RANK", size: "MV2_COMM_WORLD_SIZE",
			local: "MV2_COMM_WORLD_LOCAL_SIZE"},
		{name: "PMI", rank: "PMI_RANK", size: "PMI_SIZE", local: "MPI_LOCALNRANKS"},
	}
}

// rankNames are the variables of all launchers of ranks.
func rankNames() (names []string) {
	for _, l := range launchers() {
		names = append(names, l.rank, l.size)
	}
	return append(names, "PMIX_RANK", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_STEP_ID")
}

// world is a process's place among the ranks of its job.
type world struct {
	launcher   launcher
	rank, size int
	// oneMachine reports that all ranks are known to be on this machine.
	oneMachine bool
	// job distinguishes jobs, "" if nothing does.
	job string
}

// same reports whether two launchers gave this process the same place.
func (w world) same(o world) bool { return w.rank == o.rank && w.size == o.size }

// errNoRank means that no launcher of ranks started this process.
var errNoRank = errors.New("no launcher has set a rank: neither OMPI_COMM_WORLD_RANK, MV2_COMM_WORLD_RANK nor " +
	"PMI_RANK, " +
	"nor SLURM_PROCID with SLURM_STEP_ID; start the program with mpirun, mpiexec or srun")

// world is the place in the environment. MPI's launchers take precedence over Slurm, under which they often run: then
// Slurm's variables describe the launcher's own processes.
func (e env) world() (world, error) {
	var found []world
	for _, l := range launchers() {
		w, ok, err := e.place(l)
		if err != nil {
			return world{}, err
		}
		if ok {
			found = append(found, w)
		}
	}
	if len(found) == 0 {
		return e.slurm()
	}
	for _, w := range found[1:] {
		if !w.same(found[0]) {
			return world{}, contradiction(found[0], w)
		}
	}
	return found[0], e.checkPMIx(found[0])
}

// place is the place from one family; ok is false if it sets none.
func (e env) place(l launcher) (w world, ok bool, err error) {
	rank, set, err := e.integer(l.rank)
	if err != nil || !set {
		return world{}, false, err
	}
	size, set, err := e.integer(l.size)
	switch {
	case err != nil:
		return world{}, false, err
	case !set:
		return world{}, false, fmt.Errorf("%s is %d, but %s is not set", l.rank, rank, l.size)
	case size < 1 || rank < 0 || rank >= size:
		return world{}, false, fmt.Errorf("%s is %d and %s is %d; ranks are 0 to size-1", l.rank, rank, l.size, size)
	}
	local, _, err := e.integer(l.local)
	return world{launcher: l, rank: rank, size: size, oneMachine: local == size, job: e.job()}, err == nil, err
}

// slurm is a task of a job step. A batch script, and a shell under salloc, have SLURM_PROCID but no step.
func (e env) slurm() (world, error) {
	if e("SLURM_STEP_ID") == "" {
		return world{}, e.noRank()
	}
	l := launcher{name: "Slurm", rank: "SLURM_PROCID", size: "SLURM_STEP_NUM_TASKS"}
	if e(l.size) == "" {
		l.size = "SLURM_NTASKS"
	}
	w, ok, err := e.place(l)
	if err == nil && !ok {
		err = e.noRank()
	}
	if err != nil {
		return world{}, err
	}
	w.oneMachine = cmp.Or(e("SLURM_STEP_NUM_NODES"), e("SLURM_NNODES")) == "1"
	return w, e.checkPMIx(w)
}

// noRank is the error for no rank, or for one without a size.
func (e env) noRank() error {
	if rank := e("PMIX_RANK"); rank != "" {
		return fmt.Errorf("PMIX_RANK is %s, but no variable has the number of ranks; "+
			"set OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE, or start with mpirun or srun", rank)
	}
	return errNoRank
}

// checkPMIx compares PMIX_RANK, which comes without a size, with the rank found.
func (e env) checkPMIx(w world) error {
	rank, set, err := e.integer("PMIX_RANK")
	if err == nil && set && rank != w.rank {
		err = fmt.Errorf("PMIX_RANK is %d, but %s is %d; unset the one that is left over from another launcher",
			rank, w.launcher.rank, w.rank)
	}
	return err
}

// job is what distinguishes this job from others, the same on all its ranks.
func (e env) job() string {
	if id := cmp.Or(e("PMIX_NAMESPACE"), e("OMPI_MCA_ess_base_jobid")); id != "" {
		return id
	}
	if id := e("SLURM_JOB_ID"); id != "" {
		return strings.Join([]string{"slurm", id, e("SLURM_STEP_ID")}, ".")
	}
	return ""
}

func contradiction(a, b world) error {
	return fmt.Errorf("%s is %d and %s is %d, but %s is %d and %s is %d; unset those left over from another launcher",
		a.launcher.rank, a.rank, a.launcher.size, a.size, b.launcher.rank, b.rank, b.launcher.size, b.size)
}
