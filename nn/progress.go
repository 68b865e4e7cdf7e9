package nn

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/term"
)

// Progress configures the progress report of a training loop: rate, loss, the fetches of one element, and the time left
// if the total is known. On a terminal it is one line that is updated in place, elsewhere a plain line at intervals.
// Ranks of MPI or Slurm write plain lines; if their launcher gives them terminals, as Open MPI does, only worker 0
// writes. The environment variable FLEET_PROGRESS overrides this: live, plain or off. A live line that does not go to a
// terminal is as wide as COLUMNS says.
type Progress struct {
	// Out is where lines go; nil means os.Stdout.
	Out io.Writer
	// Label begins every line, such as "epoch 1/2".
	Label string
	// Total is the number of examples to expect, 0 when it isn't known.
	Total int
	// Every is the time between plain lines, and between records for the Logger; 0 means 5 seconds.
	Every time.Duration
	// Steps is the number of steps after which to write a plain line in addition; 0 means none.
	Steps int
	// Logger gets the values of each plain line as a record; nil gets nothing.
	Logger *slog.Logger
}

// check returns an error for values below 0, which would otherwise count as 0.
func (p *Progress) check() error {
	if p == nil || p.Total >= 0 && p.Every >= 0 && p.Steps >= 0 {
		return nil
	}
	return fmt.Errorf("nn: Progress with Total %d, Every %v and Steps %d: none may be negative", p.Total, p.Every,
		p.Steps)
}

const (
	plainInterval = 5 * time.Second
	liveInterval  = 100 * time.Millisecond
	// unknownWidth is the width of a live line if neither the terminal nor COLUMNS gives one.
	unknownWidth = 79
)

// style is the form of the report.
type style int

const (
	off style = iota
	plain
	live
)

// style returns the style from the environment, or else one that suits the writer.
func (p *Progress) style(env string) style {
	switch env {
	case "live":
		return live
	case "plain":
		return plain
	case "off":
		return off
	}
	if env != "" {
		warnStyle.Do(func() {
			slog.Warn("nn: FLEET_PROGRESS can be live, plain or off; it is ignored", "FLEET_PROGRESS", env)
		})
	}
	rank, launched := launchedRank()
	switch _, shown := terminal(p.Out); {
	case shown && launched && rank > lastShown:
		return off
	case shown && !launched:
		return live
	}
	return plain
}

// warnStyle limits the warning about an invalid FLEET_PROGRESS to one.
var warnStyle sync.Once

// terminal returns the file descriptor of a writer that is a terminal.
func terminal(w io.Writer) (int, bool) {
	if w == nil {
		w = os.Stdout
	}
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	return int(f.Fd()), true
}

func lineWidth(w io.Writer) int {
	if fd, ok := terminal(w); ok {
		if width, _, err := term.GetSize(fd); err == nil && width > 1 {
			return width - 1
		}
	}
	if width, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && width > 1 {
		return width - 1
	}
	return unknownWidth
}

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
