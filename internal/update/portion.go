package update

import (
	"slices"

	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// portion is a range of an embedding's ids in an update. The workers of a round wait for the update together, so that
// cores are idle: its rows are cut into portions, several of which are folded and applied at a time.
type portion struct {
	embedding int
	param     int
	dim       int
	members   []gradient.Rows // the range's rows in each push
	folder    gradient.Folder
	rows      gradient.Rows // the members folded
	dropped   int
	refused   []uint64

	scaled      []float32 // gradients that were clipped
	show, click []float32
}

// portionRows is about the number of a member's rows that are worth a goroutine.
const portionRows = 1024

// assign makes the portion the k-th of n ranges of ids; of the longest member, whose ids are given, each range has
// about as many rows.
func (p *portion) assign(round []*Push, ids []uint64, k, n int) {
	p.members = p.members[:0]
	for _, push := range round {
		rows := push.Rows[p.embedding]
		from, to := 0, len(rows.IDs)
		if k > 0 {
			from, _ = slices.BinarySearch(rows.IDs, ids[len(ids)*k/n])
		}
		if k < n-1 {
			to, _ = slices.BinarySearch(rows.IDs, ids[len(ids)*(k+1)/n])
		}
		p.members = append(p.members, rows.Slice(from, to, p.dim))
	}
}

// fold sums the members' rows; a single member's rows are used as they are.
func (p *portion) fold(of *optimizer.Param, factors []float32, w strategy.Weighting) {
	p.rows = p.members[0]
	if len(p.members) > 1 {
		p.rows = p.folder.Fold(of, p.members, factors, w)
	}
}

// apply applies the gradients and counts the rows that the table's policies dropped.
func (p *portion) apply(t *Tables, u *Update) (err error) {
	p.dropped, p.refused = 0, nil
	if len(p.rows.IDs) == 0 {
		return nil
	}
	clicks := table.Clicks{Pushes: p.rows.Pushes}
	clicks.Show, clicks.Click = p.rows.AppendClicks(p.show[:0], p.click[:0])
	if clicks.Show != nil {
		p.show, p.click = clicks.Show, clicks.Click
	}
	var r table.Result
	if watches := u.Pushes[0].Watches; watches != nil {
		r, err = watches[p.embedding].Push(p.rows.IDs, p.rows.G, clicks, u.Step)
	} else {
		r, err = t.store.Tables[p.embedding].PushClicks(p.rows.IDs, p.rows.G, clicks, u.Step)
	}
	if p.dropped = r.Waiting + r.Full; r.Refused != nil {
		p.refused = *r.Refused
	}
	return err
}
