package wire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/internal/progress"
)

func join(parts [][]byte) []byte { return bytes.Join(parts, nil) }

// TestGoldenFrame pins the bytes of a frame: a change here is a new version of the protocol.
func TestGoldenFrame(t *testing.T) {
	var b Builder
	b.Reset(Header{Op: OpStep, Status: 2, Job: 0x1122334455667788, Worker: 3, Life: 1, Seq: 7, Round: 1<<32 | 5,
		Acked: 6, Version: 9, Samples: 512})
	b.Dense([]float32{1, -2}, []float32{0.5})
	b.Rows(4, []uint64{0, 1, 300}, []float32{1, 2, 3})
	b.Bare(4, []float32{8})
	b.IDs(5, []uint64{math.MaxUint64})
	b.Blob([]byte("hi"))
	b.Piece(Piece{1, 3})
	b.Span(4, 6)
	b.Changed(5)
	b.Clicks(4, []float32{2, 1})
	b.Positions([]progress.Position{
		{Thread: 1, Threads: 3, Epoch: 2, Samples: 512, Steps: 9}, {Thread: 2, Threads: 3, Epoch: 2, Samples: 1 << 40}})
	want := "67666c31" + "06" + "04" + "0200" + "8877665544332211" + "03000000" + "01000000" +
		"0700000000000000" + "0500000001000000" + "0600000000000000" + "0900000000000000" + "00020000" + "486a4a59" +
		"0100000000000000" + "0c00000000000000" + "0000803f000000c00000003f" + "00000000" +
		"0300000004000000" + "1c00000000000000" + "0300000004000000" + "0000aa0200000000" + "0000803f0000004000004040" +
		"00000000" +
		"0301000004000000" + "0400000000000000" + "00000041" + "00000000" +
		"0200000005000000" + "1800000000000000" + "010000000a000000" + "ffffffffffffffffff01" + "000000000000" +
		"0400000000000000" + "0200000000000000" + "6869000000000000" +
		"0500000000000000" + "0800000000000000" + "0100000003000000" +
		"0600000000000000" + "1000000000000000" + "04000000000000000600000000000000" +
		"0700000005000000" + "0000000000000000" +
		"0800000004000000" + "0800000000000000" + "000000400000803f" +
		"0900000000000000" + "3000000000000000" + "0100030002000000" + "0002000000000000" + "0900000000000000" +
		"0200030002000000" + "0000000000010000" + "0000000000000000"
	if got := hex.EncodeToString(join(b.Parts())); got != want {
		t.Errorf("frame:\n got %s\nwant %s", got, want)
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := Header{Op: OpStep, Worker: rapid.Uint32().Draw(t, "worker"), Seq: rapid.Uint64().Draw(t, "step"),
			Version: rapid.Uint64().Draw(t, "version")}
		ids := rapid.SliceOfDistinct(rapid.Uint64(), func(id uint64) uint64 { return id }).Draw(t, "ids")
		sortIDs(ids)
		rows := make([]float32, 3*len(ids))
		for i := range rows {
			rows[i] = float32(i)
		}
		dense := rapid.SliceOf(rapid.Float32()).Draw(t, "dense")
		blob := rapid.SliceOf(rapid.Byte()).Draw(t, "blob")
		positions := rapid.SliceOfN(rapid.Custom(drawPosition), 0, 9).Draw(t, "positions")
		var b Builder
		b.Reset(h)
		b.Dense(dense)
		b.Rows(1, ids, rows)
		b.IDs(2, ids)
		b.Blob(blob)
		b.Clicks(1, rows[:2*len(ids)])
		b.Positions(positions)
		var f Frame
		law.Check(t, f.Parse(join(b.Parts())))
		if f.Header != h {
			t.Fatalf("header %+v, want %+v", f.Header, h)
		}
		gotDense, err := f.Sections[0].Dense()
		equal(t, dense, gotDense, err)
		gotIDs, err := f.Sections[1].IDs(nil)
		equal(t, ids, gotIDs, err)
		gotRows, err := f.Sections[1].Rows()
		equal(t, rows, gotRows, err)
		gotIDs, err = f.Sections[2].IDs(nil)
		equal(t, ids, gotIDs, err)
		if !bytes.Equal(f.Sections[3].Blob(), blob) {
			t.Fatal("blob changed")
		}
		gotClicks, err := f.Sections[4].Clicks()
		equal(t, rows[:2*len(ids)], gotClicks, err)
		gotPositions, err := f.Positions(nil)
		equal(t, positions, gotPositions, err)
	})
}

func drawPosition(t *rapid.T) progress.Position {
	threads := rapid.Uint16Range(1, math.MaxUint16).Draw(t, "threads")
	return progress.Position{Thread: rapid.Uint16Range(0, threads-1).Draw(t, "thread"), Threads: threads,
		Epoch: rapid.Uint32().Draw(t, "epoch"), Samples: rapid.Uint64().Draw(t, "samples"),
		Steps: rapid.Uint64().Draw(t, "steps"), Frozen: progress.Packed(rapid.StringN(0, 5, 9).Draw(t, "frozen"))}
}

func equal[T comparable](t *rapid.T, want, got []T, err error) {
	t.Helper()
	law.Check(t, err)
	if len(want) == 0 && len(got) == 0 {
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("changed on the wire (-want +got):\n%s", diff)
	}
}

func sortIDs(ids []uint64) {
	for i := range ids {
		for j := i; j > 0 && ids[j] < ids[j-1]; j-- {
			ids[j], ids[j-1] = ids[j-1], ids[j]
		}
	}
}

// sealed is a frame with the checksum that it should have.
func sealed(body []byte) []byte {
	Seal(body)
	return body
}

func TestDamagedFramesAreRefused(t *testing.T) {
	var b Builder
	b.Reset(Header{Op: OpStep})
	b.Rows(1, []uint64{1, 2, 3}, []float32{1, 2, 3})
	good := join(b.Parts())
	change := func(at int, v byte) []byte {
		c := bytes.Clone(good)
		c[at] = v
		return c
	}
	for _, c := range []struct {
		name string
		body []byte
		want error
		text string
	}{
		{"empty", nil, ErrFrame, "0 bytes"},
		{"magic", change(0, 'x'), ErrFrame, "magic"},
		{"version", change(4, 3), ErrVersion, "a frame of version 3 of the protocol (an earlier gofleet) came to " +
			"a process of version 6 (gofleet " + Build() + "): upgrade gofleet in the process that sent it,"},
		{"version of later", change(4, 9), ErrVersion, "version 9 of the protocol (a later gofleet) came to " +
			"a process of version 6 (gofleet " + Build() + "): upgrade gofleet in the process that has got it,"},
		{"op", sealed(change(5, 200)), ErrFrame, "unknown op 200"},
		{"checksum", change(63, good[63]^1), ErrDamaged, "the checksum of header and 1 sections is"},
		{"another's push", change(24, 9), ErrDamaged, "should be"},
		{"another table", change(68, 2), ErrDamaged, "should be"},
		{"a section less", good[:64], ErrDamaged, "header and 0 sections"},
		{"section kind", sealed(change(64, 40)), ErrUnknown, "section 1: kind 40: of a later build"},
		{"section kind of a name", sealed(change(64, 10)), ErrUnknown, "section 1: kind 10 (rows of two widths)"},
		{"section kind, damaged", change(64, 10), ErrDamaged, "the checksum"},
		{"unknown flags", sealed(change(65, 16)), ErrUnknown, "flags 0x10 of kind 3 (rows)"},
		{"rows to peek at", sealed(change(65, 8)), ErrUnknown, "flags 0x8 of kind 3 (rows)"},
		{"bare rows in another encoding", sealed(change(65, 3)), ErrUnknown, "flags 0x3 of kind 3"},
		{"a head of more", sealed(change(67, 1)), ErrUnknown, "bytes 2 and 3 of the head of kind 3"},
		{"parts cut off", change(7, 200), ErrDamaged, "parts of the head of 1600 bytes"},
		{"payload too long", change(79, 1), ErrDamaged, "payload of"},
		{"cut", good[:len(good)-8], ErrDamaged, "payload of"},
		{"trailing", append(bytes.Clone(good), 0), ErrDamaged, "section 2: head cut off"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := new(Frame).Parse(c.body)
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got error %v, want %v with %q", err, c.want, c.text)
			}
		})
	}
}

// later is a frame of a later build: parts of the head, each a kind and flags, and sections of rows and of the kind,
// with their flags.
func later(parts [][2]byte, kind, flags byte) []byte {
	var b Builder
	b.Reset(Header{Op: OpStep, Job: 7})
	b.Blob([]byte("before"))
	b.startSection(Kind(kind), flags, 3, 5)
	b.scratch = append(b.scratch, 1, 2, 3, 4, 5)
	b.end(5)
	b.Span(1, 2)
	body := join(b.Parts())
	head := bytes.Clone(body[:headerSize])
	for _, p := range parts {
		head = append(head, p[0], p[1], 25, 0)
		head = append(head, make([]byte, 28)...)
	}
	head[7] = byte((len(head) - headerSize) / partUnit)
	return sealed(append(head, body[headerSize:]...))
}

// TestLivesOfServers: the life of a server is a part of the head that may be skipped, and is there where it is not 0.
//
// Promise: [G6] answers of a server's first process do not count once another has its place, and it ends; what it
// answers before others know sends all back
func TestLivesOfServers(t *testing.T) {
	for life, size := range map[uint32]int{0: headerSize, 1: headerSize + partUnit, 1<<32 - 1: headerSize + partUnit} {
		var b Builder
		b.Reset(Header{Op: OpHeartbeat, Job: 7, ServerLife: life})
		body := join(b.Parts())
		var f Frame
		if err := f.Parse(body); err != nil || f.ServerLife != life || f.Job != 7 || len(body) != size {
			t.Errorf("life %d is %d in %d bytes: %v", life, f.ServerLife, len(body), err)
		}
		for i := headerSize; i < len(body); i++ {
			damaged := bytes.Clone(body)
			damaged[i] ^= 4
			if f.Parse(damaged) == nil {
				t.Errorf("byte %d is damaged unseen", i)
			}
		}
		if life > 0 && body[headerSize+1] != flagSkip {
			t.Errorf("it may not be skipped: flags %d", body[headerSize+1])
		}
	}
}

// TestWhatALaterBuildSends is skipped where it may be, and else refused by its name.
//
// Promise: [G12] what a later build of this version adds to a frame is skipped where it may be, and else refused by
// its name
// Also: TestEveryFlippedBitOfAHead, TestFlippedBits (internal/server)
func TestWhatALaterBuildSends(t *testing.T) {
	for _, c := range []struct {
		name        string
		parts       [][2]byte
		kind, flags byte
		says        string // empty: it is read
	}{
		{"a section", nil, 57, 0, "section 2: kind 57: of a later build"},
		{"a section to skip", nil, 57, flagSkip, ""},
		{"flags to skip", nil, byte(KindDense), flagSkip | 1<<6, ""},
		{"dense weights by change", nil, 11, 0, "kind 11 (dense weights by change)"},
		{"a trace", [][2]byte{{1, flagSkip}}, 57, flagSkip, ""},
		{"a proof", [][2]byte{{1, flagSkip}, {2, 0}}, 57, flagSkip, "part 2 (a reader's proof) of the head"},
		{"many parts", [][2]byte{{1, flagSkip}, {200, flagSkip}, {3, flagSkip}}, 57, flagSkip, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var f Frame
			body := later(c.parts, c.kind, c.flags)
			err := f.Parse(body)
			if c.says != "" {
				if !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), c.says) {
					t.Errorf("error %v, want %q", err, c.says)
				}
			} else if from, to, e := f.Span(9); err != nil || e != nil || from != 1 || to != 2 ||
				len(f.Sections) != 2 || f.Job != 7 {
				t.Errorf("%d sections, span %d to %d, %v, %v", len(f.Sections), from, to, e, err)
			}
			for i := headerSize; i < headerSize+32*len(c.parts); i++ {
				damaged := bytes.Clone(body)
				damaged[i] ^= 4
				if f.Parse(damaged) == nil {
					t.Errorf("byte %d of the parts is damaged unseen", i)
				}
			}
			for n := range body {
				if f.Parse(body[:n]) == nil {
					t.Errorf("its first %d bytes are a frame", n)
				}
			}
		})
	}
}

// TestEveryFlippedBitOfAHead: no bit of a frame's header, nor of a section's head, can be turned over unseen.
func TestEveryFlippedBitOfAHead(t *testing.T) {
	var b Builder
	b.Reset(Header{Op: OpStep, Job: 77, Worker: 1, Life: 2, Seq: 3, Round: 4, Acked: 2, Version: 5, Samples: 6})
	b.Dense([]float32{1, 2, 3})
	b.Rows(1, []uint64{1, 200}, []float32{1, 2})
	b.RowsAs(Int8, 2, []uint64{5}, []float32{1, 2, 3, 4, 5, 6, 7})
	b.Blob(nil)
	good := join(b.Parts())
	var f Frame
	law.Check(t, f.Parse(good))
	heads := map[int]bool{}
	for i := range headerSize {
		heads[i] = true
	}
	for at, s := headerSize, 0; at < len(good); s++ {
		for i := range sectionSize {
			heads[at+i] = true
		}
		at += sectionSize + pad(len(f.Sections[s].data))
	}
	for i := range heads {
		for bit := range 8 {
			flipped := bytes.Clone(good)
			flipped[i] ^= 1 << bit
			if f.Parse(flipped) == nil {
				t.Errorf("bit %d of byte %d is turned over unseen", bit, i)
			}
		}
	}
}

func TestDamagedSectionsAreRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		data []byte
		text string
	}{
		{"no room for counts", []byte{1, 2, 3}, "has no ids"},
		{"more ids than bytes", []byte{9, 0, 0, 0, 1, 0, 0, 0, 5}, "9 ids in 1 bytes"},
		{"ids longer than payload", []byte{1, 0, 0, 0, 200, 0, 0, 0, 5}, "1 ids in 200 bytes"},
		{"id cut off", []byte{1, 0, 0, 0, 1, 0, 0, 0, 0x80}, "cut off"},
		{"overflow", []byte{2, 0, 0, 0, 11, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0},
			"beyond 64 bits"},
		{"bytes after ids", []byte{1, 0, 0, 0, 2, 0, 0, 0, 1, 1}, "after the last id"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Section{Kind: KindIDs, data: c.data}.IDs(nil)
			if !errors.Is(err, ErrFrame) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got error %v, want %q", err, c.text)
			}
		})
	}
	if _, err := (Section{Kind: KindDense, data: make([]byte, 6)}).Dense(); !errors.Is(err, ErrFrame) {
		t.Errorf("6 bytes as floats: %v", err)
	}
	if _, err := (Section{Kind: KindClicks, data: make([]byte, 12)}).Clicks(); !errors.Is(err, ErrFrame) {
		t.Errorf("12 bytes as pairs of counts: %v", err)
	}
}

// TestPositions: no frame has more of them than it may, or of threads that there can't be.
func TestPositions(t *testing.T) {
	for i, data := range [][]byte{
		make([]byte, 16),
		make([]byte, positionSize*(MaxPositions+1)),
		append([]byte{2, 0, 2, 0}, make([]byte, 20)...),
		make([]byte, positionSize+frozenSize-1),
		append([]byte{0, 0, 1, 0}, append(make([]byte, 20), 3, 0, 0, 0, 1, 2)...),
		make([]byte, (positionSize+frozenSize)*(MaxPositions+1)),
	} {
		f := Frame{Sections: []Section{{Kind: KindPosition, Param: uint32(i / 3), data: data}}}
		if got, err := f.Positions(nil); !errors.Is(err, ErrFrame) {
			t.Errorf("%d bytes are positions %v, error %v", len(data), got, err)
		}
	}
}

func TestPiecesAndSpans(t *testing.T) {
	parsed := func(build func(*Builder)) *Frame {
		var b Builder
		b.Reset(Header{Op: OpPiece})
		build(&b)
		f := new(Frame)
		law.Check(t, f.Parse(join(b.Parts())))
		return f
	}
	whole := parsed(func(*Builder) {})
	if p, err := whole.Piece(); err != nil || p != (Piece{0, 1}) {
		t.Errorf("a whole message is piece %+v, %v", p, err)
	}
	if from, to, err := whole.Span(7); err != nil || from != 0 || to != 7 {
		t.Errorf("a whole message spans %d to %d, %v", from, to, err)
	}
	for _, p := range []Piece{{0, 0}, {3, 3}, {0, maxPieces + 1}} {
		if got, err := parsed(func(b *Builder) { b.Piece(p) }).Piece(); !errors.Is(err, ErrFrame) {
			t.Errorf("piece %+v is %+v, %v", p, got, err)
		}
	}
	for _, s := range [][2]int{{3, 2}, {0, 8}, {-1, 3}} {
		if from, to, err := parsed(func(b *Builder) { b.Span(s[0], s[1]) }).Span(7); !errors.Is(err, ErrFrame) {
			t.Errorf("span %v is %d to %d, %v", s, from, to, err)
		}
	}
}

// TestUnalignedFloats reads floats that start at an odd address: they are copied, not refused.
func TestUnalignedFloats(t *testing.T) {
	var b Builder
	b.Reset(Header{Op: OpStep})
	b.Dense([]float32{1, 2, 3})
	body := append([]byte{0}, join(b.Parts())...)[1:]
	var f Frame
	law.Check(t, f.Parse(body))
	got, err := f.Sections[0].Dense()
	if err != nil || !cmp.Equal(got, []float32{1, 2, 3}) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestBuilderSteadyStateAllocatesNothing(t *testing.T) {
	var b Builder
	ids, rows, dense := []uint64{1, 5, 9}, make([]float32, 24), make([]float32, 100)
	var f Frame
	body := make([]byte, 0, 4096)
	scratch := make([]uint64, 0, 8)
	step := func() {
		b.Reset(Header{Op: OpStep})
		b.Dense(dense)
		b.Rows(1, ids, rows)
		body = body[:0]
		for _, p := range b.Parts() {
			body = append(body, p...)
		}
		law.Check(t, f.Parse(body))
		if _, err := f.Sections[1].IDs(scratch[:0]); err != nil {
			t.Fatal(err)
		}
	}
	step()
	if n := testing.AllocsPerRun(100, step); n > 0 {
		t.Errorf("%v allocations a frame", n)
	}
}

// Promise: [G7] no frame panics its reader, or makes it allocate more than its bound
// Also: TestDamagedFramesAreRefused, TestDamagedSectionsAreRefused
func FuzzParse(f *testing.F) {
	var b Builder
	b.Reset(Header{Op: OpStep})
	b.Dense([]float32{1})
	b.Rows(1, []uint64{3, 4}, []float32{1, 2})
	b.IDs(2, []uint64{7})
	b.Bare(2, []float32{1})
	b.Blob([]byte("x"))
	b.Piece(Piece{0, 2})
	b.Span(1, 2)
	b.Clicks(1, []float32{1, 0, 3, 2})
	b.Positions([]progress.Position{{Threads: 1, Epoch: 2, Samples: 3}})
	f.Add(join(b.Parts()))
	for _, e := range []Encoding{Float16, BFloat16, Int8} {
		b.Reset(Header{Op: OpStep})
		b.DenseAs(e, make([]float32, 300))
		b.RowsAs(e, 1, []uint64{3, 4}, []float32{1, 2, 3, 4, 5, 6})
		f.Add(join(b.Parts()))
	}
	f.Add(later([][2]byte{{1, flagSkip}, {9, flagSkip}}, 57, flagSkip))
	f.Add(later([][2]byte{{2, 0}}, 10, 0))
	f.Fuzz(func(t *testing.T, body []byte) {
		var fr Frame
		if fr.Parse(body) != nil {
			body = bytes.Clone(body)
			Seal(body) // so that what lies behind the checksum is fuzzed too
		}
		if fr.Parse(body) != nil {
			return
		}
		for _, s := range fr.Sections {
			ids, err := s.IDs(nil)
			for i := 1; err == nil && i < len(ids); i++ {
				if ids[i] <= ids[i-1] {
					t.Fatalf("ids not increasing: %v", ids)
				}
			}
			_, _ = s.Rows()
			_, _ = s.Dense()
			if x, err := s.Clicks(); err == nil && (len(x)%2 != 0 || 4*len(x) != len(s.data)) {
				t.Fatalf("%d counts in %d bytes", len(x), len(s.data))
			}
			for _, read := range []func(*[]float32) ([]float32, error){s.RowsIn, s.DenseIn} {
				if x, err := read(new([]float32)); err == nil && len(x) > len(s.data) {
					t.Fatalf("%d floats in %d bytes", len(x), len(s.data))
				}
			}
		}
		if p, err := fr.Piece(); err == nil && p.Number >= p.Of {
			t.Fatalf("piece %+v", p)
		}
		if from, to, err := fr.Span(10); err == nil && (from < 0 || from > to || to > 10) {
			t.Fatalf("span %d to %d", from, to)
		}
		if all, err := fr.Positions(nil); err == nil && positionSize*len(all) > len(body) {
			t.Fatalf("%d positions in %d bytes", len(all), len(body))
		}
	})
}
