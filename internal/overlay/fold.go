package overlay

import "slices"

const (
	// Few is how many layers cost who reads next to nothing.
	Few = 3
	// most layers are kept by a table that nobody folds.
	most = 32
	// share of the rows is what one layer of several may become: so much memory a piece of folding may take.
	share = 8
)

// crowded says that layers take too long to read, or too much memory, to be left for later.
func (t *Table) crowded() bool {
	k := t.now.Load()
	rows, changes := k.count()
	return len(k.layers) > most || changes > max(rows/2, pageRows)
}

// Fold does a piece of what makes layers few, and says whether there was something to do: the oldest layers become one
// as long as that is small beside the pages, or else the oldest becomes part of a page. It takes the memory of a page
// or of an eighth of the table, and what it replaces is garbage when nobody reads it any more: at once, but where an
// older table has it too. A table that With makes meanwhile has what was folded until then.
func (t *Table) Fold(few int) bool {
	k := t.now.Load()
	if len(k.layers) <= few && k.folded == 0 || len(k.layers) == 0 {
		return false
	}
	if n := k.small(); n > 1 && k.folded == 0 {
		t.now.CompareAndSwap(k, k.joined(n, t.dim)) // it is another where somebody else folds
		return true
	}
	t.now.CompareAndSwap(k, k.foldedOn(t.dim))
	return true
}

// small is how many of the oldest layers have together no more ids than one layer may have.
func (k *kept) small() int {
	rows, _ := k.count()
	n := 0
	for i, l := range k.layers {
		if n += l.size(); n > rows/share {
			return i
		}
	}
	return len(k.layers)
}

// joined has so many of the oldest layers as one.
func (k *kept) joined(n, dim int) *kept {
	one := k.layers[0]
	for _, l := range k.layers[1:n] {
		one = l.over(one, dim)
	}
	next := *k
	next.layers = slices.Concat([]*layer{one}, k.layers[n:])
	return &next
}

// foldedOn has the oldest layer in one more page, and lets go of it when it is in all of them.
func (k *kept) foldedOn(dim int) *kept {
	next, oldest := *k, k.layers[0]
	for next.folded < len(k.pages) {
		i := next.folded
		p := k.changed(k.pages[i], oldest, i, dim)
		if same(p, k.pages[i]) {
			next.folded++
			continue
		}
		next.replace(i, p, dim)
		break
	}
	if next.folded == len(next.pages) {
		next.folded, next.layers = 0, slices.Clone(k.layers[1:])
		_, n := next.count()
		next.learn(n + n/2)
	}
	return &next
}

func same(a, b page) bool {
	return len(a.ids) == len(b.ids) && (len(a.ids) == 0 || &a.ids[0] == &b.ids[0])
}

// replace puts rows in a page's place: none if there are none, unless it is the only one; two or more if there are too
// many for one.
func (k *kept) replace(i int, p page, dim int) {
	n := len(p.ids)
	parts := (n + pageRows - 1) / pageRows
	var pages []page
	var firsts []uint64
	for at := range parts {
		some := p.part(n*at/parts, n*(at+1)/parts, dim)
		if parts > 1 { // each is let go alone
			some = page{slices.Clone(some.ids), slices.Clone(some.rows)}
		}
		pages, firsts = append(pages, some), append(firsts, some.ids[0])
	}
	if parts == 0 && len(k.pages) == 1 {
		pages, firsts = []page{{}}, []uint64{0}
	}
	k.pages = slices.Replace(slices.Clone(k.pages), i, i+1, pages...)
	k.firsts = slices.Replace(slices.Clone(k.firsts), i, i+1, firsts...)
	k.firsts[0] = 0
	k.folded += len(pages)
}
