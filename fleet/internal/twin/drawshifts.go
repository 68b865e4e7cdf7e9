package twin

import (
	"fmt"
	"math/rand/v2"
)

// drawShift may have a leg go on, under a rule with state, from blocks of the hidden layer's weights of which one is as
// large as one of its own and lies elsewhere: a size does not say there what belongs to which element. It draws servers
// and blocks of two legs, and more inputs where no servers cut the layer so.
func (p *Program) drawShift(r *rand.Rand) {
	for leg := range p.Legs {
		if !often(r, 3) || !p.goesOn(leg) {
			continue
		}
		inputs, servers := p.Net.shift()
		if servers[0] == 0 {
			return
		}
		p.Net.Inputs = inputs
		k := r.IntN(2)
		for i, l := range []*Leg{&p.Legs[leg-1], &p.Legs[leg]} {
			l.Servers = servers[(k+i)%2]
			l.Strategy.SmallBlocks, l.Strategy.MinBlockSize, l.Strategy.NoSlice = true, 1, false
		}
		return
	}
}

// goesOn says whether a leg has from the end of the one before what its rule keeps of the hidden layer, both on
// servers.
func (p Program) goesOn(leg int) bool {
	l := p.Legs[leg]
	return leg > 0 && l.From.Dir == end(leg-1) && !l.From.WeightsOnly && l.Rules.Of(hidden).Kind != "sgd" &&
		l.Servers > 0 && p.Legs[leg-1].Servers > 0
}

// shifted says whether a leg goes on from blocks as drawShift draws them.
func (p Program) shifted(leg int) bool {
	if !p.goesOn(leg) {
		return false
	}
	was, now := p.Legs[leg-1], p.Legs[leg]
	return was.Strategy.MinBlockSize == 1 && now.Strategy.MinBlockSize == 1 &&
		shifts(p.Net.width(), min(was.Servers, now.Servers), max(was.Servers, now.Servers))
}

// shift returns two numbers of servers between which the hidden layer's blocks shift, and the inputs that it has then;
// none where a few inputs more don't do.
func (n Net) shift() (inputs int, servers [2]int) {
	for rows := n.width(); rows < n.width()+4; rows++ {
		for _, s := range [][2]int{{2, 3}, {3, 5}, {2, 5}} {
			if shifts(rows, s[0], s[1]) {
				return n.Inputs + rows - n.width(), s
			}
		}
	}
	return n.Inputs, servers
}

// shifts says whether the last block of rows on few servers is as large as each but the last on more servers, and
// begins within one of these.
func shifts(rows, few, more int) bool {
	size := func(servers int) int { return (rows + servers - 1) / servers }
	return rows%size(few) == size(more) && rows%size(more) != 0
}

// end is the directory into which a leg saves at its end.
func end(leg int) string { return fmt.Sprintf("end-%d", leg) }
