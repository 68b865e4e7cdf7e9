package client

import (
	"errors"
	"slices"
	"testing"
)

// streamsOf are streams of pages of ids, whose rows are one number, the id's last three bits.
func streamsOf(all [][][]uint64) []*stream {
	streams := make([]*stream, len(all))
	for s, pages := range all {
		streams[s] = &stream{pages: make(chan *page, len(pages))}
		for _, ids := range pages {
			p := &page{ids: ids}
			for _, id := range ids {
				p.w = append(p.w, float32(id%8))
			}
			streams[s].pages <- p
		}
		close(streams[s].pages)
	}
	return streams
}

// TestMerge: rows come by ascending id whatever the servers and pages they lie in.
func TestMerge(t *testing.T) {
	last := ^uint64(0)
	for _, all := range [][][][]uint64{
		{}, {{}}, {{{}}, {{}}}, {{{1, 2, 3}}}, {{{1, 3}, {5, last}}, {{2}, {}, {4, 6}}}, {{{last}}, {{0, last - 1}}}, {{{0, 1}, {2}}, {}, {{3, 9}}},
	} {
		var want, got []uint64
		for _, pages := range all {
			want = append(want, slices.Concat(pages...)...)
		}
		slices.Sort(want)
		err := merge(streamsOf(all), 1, func(ids []uint64, w []float32) error {
			for i, id := range ids {
				if w[i] != float32(id%8) {
					t.Errorf("row %d is %v", id, w[i])
				}
			}
			got = append(got, ids...)
			return nil
		})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("got %v, error %v, want %v", got, err, want)
		}
	}
	torn, full := errors.New("torn"), errors.New("full")
	streams := streamsOf([][][]uint64{{{1}}, {{2}}})
	streams[1].err = torn
	if err := merge(streams, 1, func([]uint64, []float32) error { return nil }); err != torn {
		t.Errorf("got %v, want %v", err, torn)
	}
	if err := merge(streamsOf([][][]uint64{{{1}}}), 1, func([]uint64, []float32) error { return full }); err != full {
		t.Errorf("got %v, want %v", err, full)
	}
}
