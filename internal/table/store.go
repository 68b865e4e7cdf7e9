package table

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/gofleet/gofleet/optimizer"
)

// Block is a dense block with its place in the variable.
type Block struct {
	Param  *optimizer.Param
	Name   string // the block's own: the param's, with a suffix if the variable is split
	Offset int    // of the first weight in the variable, row-major
	Values *Dense
}

// Store holds the parameters of one process: blocks of dense variables and sparse tables, in the order they were added.
// Blocks and tables are added before others use the store.
type Store struct {
	Blocks []Block
	Tables []*Sparse

	blocks map[string]int
	tables map[string]int
	steps  progress

	imaging sync.Mutex // held while there is an image
	chain   atomic.Pointer[Chain]
}

// AddBlock adds a dense block. Its name must be new.
func (s *Store) AddBlock(b Block) error {
	if _, ok := s.blocks[b.Name]; ok {
		return fmt.Errorf("table: two dense blocks are named %q", b.Name)
	}
	if b.Offset < 0 || b.Offset+b.Values.Len() > b.Param.Size() {
		return fmt.Errorf("table: block %q: weights %d to %d of %q, which has %d", b.Name, b.Offset,
			b.Offset+b.Values.Len(),
			b.Param.Name, b.Param.Size())
	}
	if s.blocks == nil {
		s.blocks = map[string]int{}
	}
	s.blocks[b.Name] = len(s.Blocks)
	b.Values.steps = &s.steps
	s.Blocks = append(s.Blocks, b)
	return nil
}

// AddTable adds a sparse table. The name of its param must be new.
func (s *Store) AddTable(t *Sparse) error {
	if _, ok := s.tables[t.param.Name]; ok {
		return fmt.Errorf("table: two sparse tables are named %q", t.param.Name)
	}
	if s.tables == nil {
		s.tables = map[string]int{}
	}
	s.tables[t.param.Name] = len(s.Tables)
	s.Tables = append(s.Tables, t)
	t.steps = &s.steps
	return nil
}

// Block finds a dense block by its name.
func (s *Store) Block(name string) (Block, bool) {
	i, ok := s.blocks[name]
	if !ok {
		return Block{}, false
	}
	return s.Blocks[i], true
}

// Table finds a sparse table by the name of its param.
func (s *Store) Table(name string) (*Sparse, bool) {
	i, ok := s.tables[name]
	if !ok {
		return nil, false
	}
	return s.Tables[i], true
}

// Step is the last update that is finished, with all before it; reads bring rows of a rule that sweeps up to it. The
// caller defines what an update is.
func (s *Store) Step() int64 { return s.steps.finished.Load() }

// Applied is the number of finished updates; while several are open, it may be larger than Step.
func (s *Store) Applied() int64 { return s.steps.applied() }

// Advance begins the next update and returns its number. [Store.Finish] ends it; other updates may begin, and end,
// meanwhile.
func (s *Store) Advance() int64 { return s.steps.next() }

// Finish notes that an update has been applied to every block and table.
func (s *Store) Finish(step int64) { s.steps.finish(step) }

// Last is the last update that was begun.
func (s *Store) Last() int64 { return s.steps.newestStep() }

// AdvanceTo begins all updates up to one that is replayed; SetStep then ends earlier ones that were never finished.
func (s *Store) AdvanceTo(step int64) {
	for s.Last() < step {
		s.Advance()
	}
}

// SetStep sets the number of finished updates, after a load. The factor on learning rates stays.
func (s *Store) SetStep(step int64) { s.steps.set(step) }
