package nn

import "fmt"

// lookup is an op that looks up the ids of its first input in its second, a table.
type lookup interface {
	op
	// padding is the id that is not looked up, nil for none.
	padding() *int64
}

// padded has the methods that lookups share.
type padded struct {
	PaddingIdx *int64 `json:"padding_idx,omitempty"`
}

func (p padded) padding() *int64 { return p.PaddingIdx }

func (p padded) limits(n *Node) []limit {
	table := n.in[1]
	why := fmt.Sprintf("the height of embedding %q%s", table.name, table.made)
	return []limit{{below: int64(table.shape[0]), why: why, except: p.PaddingIdx}}
}

// add adds the ids of one lookup to the table's.
func (s *idSet) add(ids []int64, padding *int64) {
	for _, id := range ids {
		if padding == nil || id != *padding {
			s.ids = append(s.ids, uint64(id))
		}
	}
}

// rowsOf returns a lookup's part of the inverse; lookups must come in the order in which their ids were added. Padding
// has row −1.
func (s *idSet) rowsOf(c *cell, ids []int64, padding *int64) []int32 {
	if padding == nil {
		s.taken += len(ids)
		return s.inverse[s.taken-len(ids) : s.taken]
	}
	index := c.scratchInts(len(ids))
	for i, id := range ids {
		if id == *padding {
			index[i] = -1
			continue
		}
		index[i] = s.inverse[s.taken]
		s.taken++
	}
	return index
}
