package kernels

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// narrowing is a format of 16 bits: its loops, and a dumb definition of what a number's bits are worth.
type narrowing struct {
	to    func(dst []byte, x []float32)
	from  func(dst []float32, src []byte)
	worth func(bits uint16) float64
}

var narrowings = map[string]narrowing{
	"Float16":  {Float16, FromFloat16, func(bits uint16) float64 { return field(bits, 5, 10) }},
	"BFloat16": {BFloat16, FromBFloat16, func(bits uint16) float64 { return field(bits, 8, 7) }},
}

// field reads a binary floating-point number with that many bits of exponent and fraction.
func field(bits uint16, exponent, fraction int) float64 {
	bias := 1<<(exponent-1) - 1
	e, f := int(bits>>fraction)&(1<<exponent-1), float64(bits&(1<<fraction-1))
	v := math.Ldexp(f, 1-bias-fraction)
	switch {
	case e == 1<<exponent-1 && f != 0:
		return math.NaN()
	case e == 1<<exponent-1:
		v = math.Inf(1)
	case e > 0:
		v = math.Ldexp(float64(int(1)<<fraction)+f, e-bias-fraction)
	}
	return math.Copysign(v, 0.5-float64(bits>>15))
}

// TestNarrowKnowsEveryNumber reads all 65,536 numbers of a format, and writes those that are finite.
func TestNarrowKnowsEveryNumber(t *testing.T) {
	for name, n := range narrowings {
		t.Run(name, func(t *testing.T) {
			eachPath(t, func(t *testing.T) {
				src := make([]byte, 2<<16)
				for i := range 1 << 16 {
					binary.LittleEndian.PutUint16(src[2*i:], uint16(i))
				}
				x := make([]float32, 1<<16)
				n.from(x, src)
				for i, v := range x {
					want := n.worth(uint16(i))
					if float64(v) != want && !(math.IsNaN(want) && v != v) || math.Signbit(float64(v)) != math.Signbit(want) && v == v {
						t.Fatalf("%04x is read as %v, want %v", i, v, want)
					}
					if v-v != 0 {
						x[i], src[2*i], src[2*i+1] = 0, 0, 0
					}
				}
				back := make([]byte, len(src))
				n.to(back, x)
				if !bytes.Equal(back, src) {
					t.Error("a number changed when it was written again")
				}
				for i, v := range x {
					if v != 0 {
						t.Fatalf("of number %04x, which is exact, %v is left", i, v)
					}
				}
			})
		})
	}
}

// TestNarrowRoundsToNearest writes numbers at, beside and between the numbers of a format: none is nearer than the one
// chosen, of two the even one is taken, and what is left is the difference.
func TestNarrowRoundsToNearest(t *testing.T) {
	for name, n := range narrowings {
		t.Run(name, func(t *testing.T) {
			eachPath(t, func(t *testing.T) {
				for bits := uint16(0); ; bits++ {
					low, high := n.worth(bits), n.worth(bits+1)
					if math.IsInf(high, 0) {
						break
					}
					middle := float32((low + high) / 2)
					x := []float32{middle, math.Nextafter32(middle, 0), math.Nextafter32(middle, math.MaxFloat32), -middle}
					if float64(middle) == low { // float32 has nothing between them
						continue
					}
					even := bits + bits&1
					want := []uint16{even, bits, bits + 1, even | 0x8000}
					left := append([]float32(nil), x...)
					got := make([]byte, 2*len(x))
					n.to(got, left)
					for i, w := range want {
						g := binary.LittleEndian.Uint16(got[2*i:])
						if g != w || float64(left[i]) != float64(x[i])-n.worth(g) {
							t.Fatalf("%v becomes %04x and %v, want %04x", x[i], g, left[i], w)
						}
					}
				}
			})
		})
	}
}

// TestNarrowSaturates writes what a format has no number for.
func TestNarrowSaturates(t *testing.T) {
	for name, largest := range map[string]float32{"Float16": 65504, "BFloat16": bfloatMax} {
		t.Run(name, func(t *testing.T) {
			eachPath(t, func(t *testing.T) {
				x := []float32{math.MaxFloat32, -math.MaxFloat32}
				b, back := make([]byte, 4), make([]float32, 2)
				narrowings[name].to(b, x)
				narrowings[name].from(back, b)
				sameBits(t, "numbers", back, []float32{largest, -largest})
				sameBits(t, "what is left", x, []float32{math.MaxFloat32 - largest, largest - math.MaxFloat32})
			})
		})
	}
}

// TestInt8 holds the scale, the rounding and what is left to their definition, for all short lengths and sizes of numbers.
func TestInt8(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(31, 32))
		for n := 1; n < 100; n++ {
			for _, size := range []float32{1, 1e-30, 1e30, 0x1p-118, math.MaxFloat32} {
				x := random(r, n)
				Scale(size, x)
				x[r.IntN(n)] = size
				checkInt8(t, x)
			}
		}
	})
}

func checkInt8(t *testing.T, x []float32) {
	t.Helper()
	left, q, back := guard(x), make([]byte, len(x)), guard(x)
	scale := Int8(q, left.data)
	FromInt8(back.data, q, scale)
	left.check(t)
	back.check(t)
	for i, v := range x {
		if back.data[i] != float32(int8(q[i]))*scale || left.data[i] != v-back.data[i] || left.data[i]-left.data[i] != 0 {
			t.Fatalf("%v becomes %d times %v, is read as %v and leaves %v", v, int8(q[i]), scale, back.data[i], left.data[i])
		}
		if off := math.Abs(float64(left.data[i])); off > 0.50001*float64(scale) {
			t.Fatalf("%v is off by %v, more than half of the scale %v", v, off, scale)
		}
	}
}

// TestInt8KeepsWhatIsTiny has numbers too small to have a scale.
func TestInt8KeepsWhatIsTiny(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		for _, tiny := range []float32{0, 1e-45, -1e-40, 0x1p-120} {
			for _, n := range []int{1, 8, 19} {
				x, q := make([]float32, n), bytes.Repeat([]byte{9}, n)
				fill(x, tiny)
				if scale := Int8(q, x); scale != 0 || !bytes.Equal(q, make([]byte, n)) || x[n-1] != tiny {
					t.Errorf("%v: scale %v, numbers %v, %v is left", tiny, scale, q, x[n-1])
				}
			}
		}
	})
}

// TestNarrowPathsAgree: all paths give the same bytes and leave the same bits, for all short lengths.
func TestNarrowPathsAgree(t *testing.T) {
	defer func(old *backend) { active = old }(active)
	for n := range 70 {
		var wantBytes []byte
		var wantLeft []float32
		for _, p := range paths() {
			active = p
			b, left := narrowAll(n)
			if wantBytes == nil {
				wantBytes, wantLeft = b, left
			}
			if !bytes.Equal(b, wantBytes) {
				t.Fatalf("path %s writes other bytes for %d numbers", p.name, n)
			}
			sameBits(t, p.name, left, wantLeft)
		}
	}
}

func narrowAll(n int) (all []byte, left []float32) {
	r := rand.New(rand.NewPCG(33, uint64(n)))
	for _, size := range []float32{1, 1e-6, 3e38} {
		x := random(r, n)
		Scale(size, x)
		b := make([]byte, 5*n)
		for _, to := range []func(){func() { Float16(b[:2*n], x) }, func() { BFloat16(b[2*n:4*n], x) }, func() { x = append(x, Int8(b[4*n:], x)) }} {
			to()
			left = append(left, x...)
		}
		all = append(all, b...)
	}
	return all, left
}

func TestNarrowChecksLengths(t *testing.T) {
	for name, call := range map[string]func(){
		"Float16": func() { Float16(make([]byte, 3), make([]float32, 2)) }, "FromFloat16": func() { FromFloat16(make([]float32, 2), make([]byte, 5)) },
		"BFloat16": func() { BFloat16(make([]byte, 3), make([]float32, 2)) }, "FromBFloat16": func() { FromBFloat16(make([]float32, 2), make([]byte, 5)) },
		"Int8": func() { Int8(make([]byte, 3), make([]float32, 2)) }, "FromInt8": func() { FromInt8(make([]float32, 2), make([]byte, 5), 1) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("slices of different lengths are taken")
				}
			}()
			call()
		})
	}
}

// BenchmarkNarrow measures each loop in bytes of float32 a second, a copy of what is narrowed included: over many numbers, and
// for Int8 over rows of 16 too.
func BenchmarkNarrow(b *testing.B) {
	const n = 1 << 14
	src, x, y, bytes := random(rand.New(rand.NewPCG(1, 2)), n), make([]float32, n), make([]float32, n), make([]byte, 2*n)
	rows := func(width int, row func(at int)) func() {
		return func() {
			for at := 0; at < n; at += width {
				row(at)
			}
		}
	}
	loops := []struct {
		name string
		run  func()
	}{
		{"Float16", func() { copy(x, src); Float16(bytes, x) }}, {"FromFloat16", func() { FromFloat16(y, bytes) }},
		{"BFloat16", func() { copy(x, src); BFloat16(bytes, x) }}, {"FromBFloat16", func() { FromBFloat16(y, bytes) }},
	}
	for _, w := range []int{16, 256} {
		loops = append(loops, struct {
			name string
			run  func()
		}{fmt.Sprintf("Int8-%d", w), func() { copy(x, src); rows(w, func(at int) { Int8(bytes[at:at+w], x[at:at+w]) })() }}, struct {
			name string
			run  func()
		}{fmt.Sprintf("FromInt8-%d", w), rows(w, func(at int) { FromInt8(y[at:at+w], bytes[at:at+w], 1e-3) })})
	}
	benchPaths(b, func(b *testing.B) {
		for _, l := range loops {
			b.Run(l.name, func(b *testing.B) {
				b.SetBytes(4 * n)
				for b.Loop() {
					l.run()
				}
			})
		}
	})
}
