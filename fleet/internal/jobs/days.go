package jobs

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/twin"
	"github.com/gofleet/gofleet/fleet/train"
)

// numbered are lines with numbers of samples of a program that is played in a directory.
type numbered struct{ Dir string }

// models are those of programs by directory.
var models sync.Map

func (n numbered) row() ([]dataset.Column, func(row dataset.Row, i int)) {
	p, _ := models.Load(n.Dir)
	return p.(twin.Program).Row()
}

// named has numbered have a name, by which models are saved with it.
var named = sync.OnceValue(func() error { return dataset.RegisterFormat[numbered]("numbers of samples") })

// Columns implements [dataset.Format].
func (n numbered) Columns() ([]dataset.Column, error) {
	columns, _ := n.row()
	return columns, nil
}

// NewParser implements [dataset.Format].
func (n numbered) NewParser() (dataset.Parser, error) {
	_, fill := n.row()
	return parser(fill), nil
}

type parser func(row dataset.Row, i int)

// ParseLine implements [dataset.Parser].
func (p parser) ParseLine(line []byte, row dataset.Row) error {
	i, err := strconv.Atoi(string(line))
	if err == nil {
		p(row, i)
	}
	return err
}

// dayName names the day of an epoch.
func dayName(epoch int) string { return fmt.Sprintf("d%03d", epoch) }

// writeDays writes the files of all days: each has every sample.
func (s *stage) writeDays() error {
	if err := named(); err != nil {
		return err
	}
	models.Store(s.dir, s.p.Model)
	for day := range s.p.Epochs {
		dir := filepath.Join(s.dir, "logs", dayName(day))
		if err := os.MkdirAll(dir, 0o777); err != nil || s.p.Days == 0 {
			return err
		}
		files := make([]strings.Builder, s.p.Days)
		for i := range s.p.Model.Samples {
			fmt.Fprintln(&files[i%s.p.Days], i)
		}
		for i := range files {
			name := filepath.Join(dir, fmt.Sprintf("part-%02d", i))
			if err := os.WriteFile(name, []byte(files[i].String()), 0o666); err != nil {
				return err
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "_SUCCESS"), nil, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// ofDays has a job take its rows from days.
func (a *actor) ofDays(j *train.Job) {
	p, l := a.p, a.p.Lives[a.life]
	j.Data, j.Epochs, j.Sharded = nil, 0, false
	j.Files.Format = numbered{a.dir}
	j.Days = &train.Days{Dir: filepath.Join(a.dir, "logs"), Last: dayName(p.epochs(l) - 1),
		Shrink: fleet.ShrinkOptions{Unseen: p.Unseen}}
	if p.Publishes {
		j.Days.Publish = train.Publish{Dir: a.published(), Deltas: 3}
		if p.rates() { // every row is served
			j.Days.Publish.Save = fleet.SaveOptions{BaseThreshold: -1, DeltaThreshold: -1, DeltaKeepDays: -1}
		}
	}
}
