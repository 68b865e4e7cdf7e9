package nn

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminalPair returns the two ends of a pseudo-terminal: what is written to the inner one is seen on the outer.
func terminalPair(t *testing.T) (outer, inner *os.File) {
	t.Helper()
	outer, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo-terminals here:", err)
	}
	n, err := unix.IoctlGetInt(int(outer.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(outer.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		inner, err = os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		outer.Close()
		t.Skip("no pseudo-terminals here:", err)
	}
	return outer, inner
}

// TestProgressOfRanks: a terminal that a launcher of ranks made gets plain lines, of the rank that is worker 0; a person's gets a line that moves.
func TestProgressOfRanks(t *testing.T) {
	const lines, moves, nothing = "lines", "moves", "nothing"
	names := []string{"OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "FLEET_PROGRESS"}
	for name, c := range map[string]struct {
		env  map[string]string
		want string
	}{
		"a person's":                 {nil, moves},
		"Open MPI, rank 0":           {map[string]string{"OMPI_COMM_WORLD_RANK": "0"}, lines},
		"Open MPI, rank 1":           {map[string]string{"OMPI_COMM_WORLD_RANK": "1"}, lines},
		"Open MPI, rank 3":           {map[string]string{"OMPI_COMM_WORLD_RANK": "3"}, nothing},
		"Open MPI, rank 3, plain":    {map[string]string{"OMPI_COMM_WORLD_RANK": "3", "FLEET_PROGRESS": "plain"}, lines},
		"Open MPI, rank 0, live":     {map[string]string{"OMPI_COMM_WORLD_RANK": "0", "FLEET_PROGRESS": "live"}, moves},
		"Open MPI, rank 0, mistyped": {map[string]string{"OMPI_COMM_WORLD_RANK": "0", "FLEET_PROGRESS": "Live"}, lines},
		"MVAPICH2":                   {map[string]string{"MV2_COMM_WORLD_RANK": "1"}, lines},
		"PMI":                        {map[string]string{"PMI_RANK": "5"}, nothing},
		"srun --pty":                 {map[string]string{"SLURM_PROCID": "0", "SLURM_STEP_ID": "0", "SLURM_NTASKS": "4"}, lines},
		"srun --pty of a shell":      {map[string]string{"SLURM_PROCID": "0", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "1", "SLURM_NTASKS": "4"}, moves},
		"a shell under salloc":       {map[string]string{"SLURM_PROCID": "0", "SLURM_NTASKS": "4"}, moves},
	} {
		t.Run(name, func(t *testing.T) {
			for _, n := range names {
				t.Setenv(n, c.env[n])
			}
			outer, inner := terminalPair(t)
			defer outer.Close()
			screen := make(chan string, 1)
			go func() {
				all, _ := io.ReadAll(outer) // ends with an error when the inner end is closed
				screen <- string(all)
			}()
			n := newToy(1)
			n.loss.Bind(still{})
			_, err := NewExecutor(n.g).TrainFrom(t.Context(), recycled(n.batches(50)), TrainOptions{Progress: &Progress{Out: inner, Every: time.Nanosecond}})
			inner.Close()
			out := <-screen
			if err != nil {
				t.Fatal(err)
			}
			got := lines
			if out == "" {
				got = nothing
			} else if strings.Contains(out, "\x1b") {
				got = moves
			}
			if got != c.want {
				t.Errorf("%s, want %s: %.200q", got, c.want, out)
			}
		})
	}
}
