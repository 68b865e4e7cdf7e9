package rolemaker

import "testing"

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
