package cut

import (
	"slices"

	"github.com/gofleet/gofleet/internal/wire"
)

// Options say whose cuts a machine sees.
type Options struct {
	// First is for server 0, which takes one save at a time and commits.
	First   bool
	Workers int
	Servers int
	// Values is the number of frozen dense values that the saving worker brings to this server, for a checkpoint.
	Values int
}

// Machine is what a server knows of the saves that workers make. Its methods are called one at a time.
type Machine struct {
	o     Options
	saves map[string]*save // the last ones, by id
	order []*save          // the same, oldest first
	// holder is the save whose cut holds pushes; nil lets them pass.
	holder *save
	// writer is the save whose part is being written of what was taken aside.
	writer *save
	// open is, on server 0, the save under way from its freeze until it is committed or given up.
	open *save
	// committing is the save whose manifest is being written.
	committing *save
	// period is the last committed save that ended a period of the tables, of which there were ended.
	period *save
	ended  int
}

// state is how far a save is, as the package's drawing has it.
type state uint8

const (
	freezing state = iota
	reaching
	writing
	reading
	marking // while it is read: the tables take note of what a model for serving has
	taken
	written
	committed
	givenUp
)

// save is one of a worker's, which an id names.
type save struct {
	id     string
	worker int
	dir    string
	params []string
	// progress is what a checkpoint of the job's own says beside the weights; nil for others.
	progress *wire.Progress
	read     bool
	shrink   *wire.Shrink // nil for a save that drops no rows
	period   string       // the name of what shrink ends
	state    state
	// upTo are the last steps of each worker that the cut holds; nil until they are known.
	upTo []uint64
	// values are the first so many of the saving worker's frozen dense values, which come in pieces.
	values []float32
	// rows are, while the cut is read, the ids of the tables that were asked for, and aside what the tables may become.
	rows  map[uint32][]uint64
	aside any
	// answer is what this server says of its part when it is written, and err why there is none.
	answer any
	err    error
	// discarded: the part's file is not wanted, and is removed even if it is being written now.
	discarded bool
	// step is the update that a committed save was of, freed what ending a period dropped, and told the workers who
	// know that.
	step  int64
	freed wire.Freed
	told  []int
}

// remembered is how many saves are known. Those that are over are needed as long as their messages may come late.
const remembered = 64

// New is the machine of a server that has seen no save.
func New(o Options) *Machine { return &Machine{o: o, saves: map[string]*save{}} }

// add takes up a save that is not known yet, in place of the oldest that is over.
func (m *Machine) add(msg *wire.Save, worker int, st state) *save {
	if len(m.order) >= remembered {
		i := slices.IndexFunc(m.order, func(s *save) bool {
			return s != m.holder && s != m.writer && s != m.open && s != m.committing
		})
		delete(m.saves, m.order[i].id)
		m.order = slices.Delete(m.order, i, i+1)
	}
	s := &save{id: msg.ID, worker: worker, dir: msg.Dir, params: msg.Params, progress: msg.Progress,
		read: msg.Read, shrink: msg.Shrink, period: msg.Period, state: st}
	m.saves[s.id], m.order = s, append(m.order, s)
	return s
}

// Holder is the id of the save that holds pushes, "" for none.
func (m *Machine) Holder() string { return m.holder.name() }

// Open is, on server 0, the id of the save under way, "" for none.
func (m *Machine) Open() string { return m.open.name() }

// Committing is the id of the save whose manifest is being written, "" for none.
func (m *Machine) Committing() string { return m.committing.name() }

func (s *save) name() string {
	if s == nil {
		return ""
	}
	return s.id
}

// Holds says whether a worker's step must wait for the cut.
func (m *Machine) Holds(worker int, step uint64) bool {
	return m.holder != nil && (m.holder.upTo == nil || step > m.holder.upTo[worker])
}

// UpTo is the last step of a worker that the cut of a save holds, when these are known.
func (m *Machine) UpTo(worker int) uint64 { return m.holder.upTo[worker] }

// release ends the hold of a save, and lets go of what was kept with it.
func (m *Machine) release(s *save) {
	s.upTo, s.values, s.rows, s.aside = nil, nil, nil, nil
	if m.holder == s {
		m.holder = nil
	}
	if m.writer == s {
		m.writer = nil
	}
}

// GiveUp takes note that a worker gives up its save; one that was not known can't begin any more. torn says that the
// tables are others since it began, and perhaps on this server alone.
func (m *Machine) GiveUp(msg *wire.Save, worker int) (torn bool) {
	s := m.saves[msg.ID]
	if s == nil {
		s = m.add(msg, worker, givenUp)
	}
	return s.worker == worker && m.drop(s)
}

// Leave takes note that a worker has gone, or that another process is in its place: nobody goes on with what it has
// begun. torn is as of [Machine.GiveUp].
func (m *Machine) Leave(worker int) (torn bool) {
	for _, s := range []*save{m.holder, m.open} {
		if s != nil && s.worker == worker {
			torn = m.drop(s) || torn
		}
	}
	return torn
}

// drop gives a save up, unless it is committed. What is being done to the tables for it is finished first.
func (m *Machine) drop(s *save) (torn bool) {
	if s.state == committed {
		return false
	}
	torn = s.state == taken
	busy := s.state == reaching || s.state == writing || s.state == marking || s.state == givenUp
	if s.state = givenUp; !busy {
		m.release(s)
	}
	if m.open == s {
		m.open = nil
	}
	return torn
}

// Discard says that the file of a save that was given up is not wanted, and returns the answer that names it, nil if
// there is none to remove. One that is still being written is removed then. It is for a save that server 0 can commit
// no more.
func (m *Machine) Discard(msg *wire.Save) (answer any) {
	s := m.saves[msg.ID]
	if s == nil {
		s = m.add(msg, -1, givenUp)
	}
	if s.state == committed || s.discarded {
		return nil
	}
	m.drop(s)
	s.discarded = true
	return s.answer
}

// refusals

func (s *save) gaveUp() error {
	return wire.Refuse(wire.StatusStale, "checkpoint %s was given up: save again", s.id)
}

func notTaken(id string) error {
	return wire.Refuse(wire.StatusStale, "checkpoint %s is not being taken here (its worker may have been silent for "+
		"too long): save again", id)
}
