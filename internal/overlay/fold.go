package overlay

import "slices"

const (
	// Few is a number of layers that makes reads hardly slower.
	Few = 3
	// most is how many layers a table without folding keeps.
	most = 32
	// 1/share of the rows is the most ids of a layer that joins several, which bounds the memory of one Fold.
	share = 8
)

// crowded reports whether layers slow down reads, or take memory, too much to be folded later.
func (t *Table) crowded() bool {
	k := t.now.Load()
	rows, changes := k.count()
	return len(k.layers) > most || changes > max(rows/2, pageRows)
}

// Fold does a piece of the work that reduces layers to few, and reports whether there was any. It joins the oldest
// layers as long as the result is small beside the pages; else it merges the oldest layer into a page. It takes the
// memory of a page or of an eighth of the table. Its sources become garbage when no reader uses them: at once, unless
// an older table shares them. A table that With makes meanwhile has what was folded before.
func (t *Table) Fold(few int) bool {
	k := t.now.Load()
	if len(k.layers) <= few && k.folded == 0 || len(k.layers) == 0 {
		return false
	}
	if n := k.small(); n > 1 && k.folded == 0 {
		t.now.CompareAndSwap(k, k.joined(n, t.shape)) // fails if another goroutine has folded
		return true
	}
	t.now.CompareAndSwap(k, k.foldedOn(t.shape))
	return true
}

// small returns how many of the oldest layers together have no more ids than one layer may have.
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

// joined returns k with its n oldest layers joined.
func (k *kept) joined(n int, s shape) *kept {
	one := k.layers[0]
	for _, l := range k.layers[1:n] {
		one = l.over(one, s)
	}
	next := *k
	next.layers = slices.Concat([]*layer{one}, k.layers[n:])
	return &next
}

// foldedOn returns k with the oldest layer merged into one more page. It drops the layer when all pages have it.
func (k *kept) foldedOn(s shape) *kept {
	next, oldest := *k, k.layers[0]
	for next.folded < len(k.pages) {
		i := next.folded
		p := k.changed(k.pages[i], oldest, i, s)
		if same(p, k.pages[i]) {
			next.folded++
			continue
		}
		next.replace(i, p)
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

// replace replaces a page by one of the rows of p; by none if p is empty, unless it is the only page; by several if p
// has more rows than a page.
func (k *kept) replace(i int, p page) {
	n := len(p.ids)
	parts := (n + pageRows - 1) / pageRows
	var pages []page
	var firsts []uint64
	for at := range parts {
		some := p.part(n*at/parts, n*(at+1)/parts)
		if parts > 1 { // so that each part can be freed alone
			some = page{slices.Clone(some.ids), some.rows.Clone()}
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
